"""hw.shell.interconnect against memories behind a port, with pauses on all sides."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from later import later

from hw.shell.interconnect import InterconnectConfig, ReadInterconnect, WriteInterconnect

#: Queues of three kinds of depth, and few bursts and tokens.
SMALL = dict(data_width=32, ports=3, depth=(32, 8, 70), burst_beats=8, bursts=6, tokens=3)
WIDE = dict(data_width=512, ports=2)
ONE = dict(data_width=64, ports=1, depth=7, burst_beats=2)
LEAST = dict(data_width=32, ports=2, depth=1, burst_beats=1, bursts=1, tokens=1)
FAST = dict(data_width=32, ports=3, depth=40, burst_beats=8, bursts=40, tokens=40)
FAIR = dict(data_width=32, ports=3, depth=56, burst_beats=8, bursts=6)
DEEP = dict(data_width=64, ports=2, depth=(100, 66), burst_beats=16, bursts=70, tokens=80)
#: The shallowest queues of which ``estimate`` says that writes keep pace.
TIGHT = dict(data_width=32, ports=2, depth=12, burst_beats=8, bursts=70, tokens=40)


def test_latency_of_each_port():
    """Survivor 36: the latency is that of the port's own queue."""
    shape = dict(data_width=64, ports=3, burst_beats=8, bursts=40)
    mixed = InterconnectConfig(depth=(32, 8, 70), **shape)
    found = []
    for port, depth in enumerate(mixed.depth):
        alike = InterconnectConfig(depth=depth, **shape)
        for beats in (1, 8):
            latencies = [
                ReadInterconnect.latency_of(config, beats=beats, memory_latency=20, port=port)
                for config in (mixed, alike)
            ]
            assert latencies[0] == latencies[1]
        found.append(latencies[0])
    assert len(set(found)) > 1, "queues of several kinds"


@pytest.mark.parametrize(
    "bad, message",
    [
        (dict(data_width=24), "data_width must be 32, 64, 128, 256 or 512, not 24"),
        (dict(ports=0), r"ports must be an integer in 1\.\.16, not 0"),
        (dict(ports=17), r"ports must be an integer in 1\.\.16, not 17"),
        (dict(depth=15), r"depth must be an integer in 16\.\.65536 to hold a burst, not 15"),
        (dict(depth=(16, 15)), r"depth must be an integer in 16\.\.65536 to hold a burst, not 15"),
        (dict(depth=(16,)), r"depth must be one number or 2, one a port, not \(16,\)"),
        (dict(burst_beats=65), r"burst_beats must be an integer in 1\.\.64 at 512 bits, not 65"),
        (dict(burst_beats=12), "burst_beats must be a power of two, not 12"),
        (dict(bursts=0), r"bursts must be an integer in 1\.\.1024, not 0"),
        (dict(tokens=0), r"tokens must be an integer in 1\.\.1024, not 0"),
        (dict(tokens=1025), r"tokens must be an integer in 1\.\.1024, not 1025"),
        (dict(style="mega"), "style must be one of auto, .*, not 'mega'"),
    ],
)
def test_config_rejects(bad, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        InterconnectConfig(**bad)


@given(st.integers(1, 16), st.data())
def test_config_from_json(ports, data):
    """Every depth, one or one a port, comes back equal and hashable."""
    depths = st.integers(16, 65536)
    depth = data.draw(depths | st.tuples(*[depths] * ports))
    config = InterconnectConfig(ports=ports, depth=depth)
    assert InterconnectConfig.from_json(config.to_json()) == config
    assert hash(config) == hash(InterconnectConfig.from_json(config.to_json()))
    every = [config.port(number).depth for number in range(ports)]
    assert every == (list(depth) if isinstance(depth, tuple) else [depth] * ports)


#: What a bench looks at, and a config that shows it.
CASES = [
    ("random limits", SMALL),
    later("random", WIDE),
    later("random", ONE),
    ("random", LEAST),
    ("pace", FAST),
    later("pace", DEEP),
    ("turns", FAIR),
]
IDS = ["small", "wide", "one", "least", "fast", "deep", "fair"]
#: Longest pauses of requests and data in, of memory, of data and tokens out.
PAUSES = [(0, 0, 0), (60, 0, 0), (0, 60, 0), (0, 0, 60), (3, 3, 3), (2, 40, 5)]


@pytest.mark.parametrize("kinds, config", CASES, ids=IDS)
def test_reads(simulate, kinds, config):
    """Every beat to the port that asked for it; who waits for whom; clocks."""
    simulate(
        ReadInterconnect(InterconnectConfig(**config)),
        "shell.read_interconnect_bench",
        kinds=kinds.split(),
        config=config,
        seed=1,
        pauses=PAUSES,
    )


@pytest.mark.parametrize("kinds, config", [*CASES, ("pace", TIGHT)], ids=[*IDS, "tight"])
def test_writes(simulate, kinds, config):
    """Every beat in memory, a token for each request to the port that made it."""
    simulate(
        WriteInterconnect(InterconnectConfig(**config)),
        "shell.write_interconnect_bench",
        kinds=kinds.split(),
        config=config,
        seed=1,
        pauses=PAUSES,
    )

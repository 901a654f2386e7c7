"""hw.shell.read_engine against the memory of cocotbext-axi, AXI rules on every clock."""

import pytest
from later import later
from pauses import SOLID, SOLID_TOO
from shell.engine_top import EngineTop

from hw.shell.axi import EngineConfig

NARROW = dict(data_width=128)
#: The same in a quarter of the beats.
SHORT = NARROW | dict(depth=64, burst_beats=16)
#: AXI's longest bursts, and no more places than one of them has beats.
LONGEST = dict(data_width=32, depth=256, burst_beats=256)
SMALL = dict(data_width=32, depth=9, burst_beats=4)
#: Requests, memory, data.
GAPS = [(0, 0, 0), (0.5, 0, 0), (0, 0.5, 0), (0, 0, 0.5), (0.3, 0.3, 0.3)]
GAPS.append((SOLID_TOO, (70, 90), SOLID))


@pytest.mark.parametrize(
    "bad, message",
    [
        (dict(data_width=24), "data_width must be 32, 64, 128, 256 or 512, not 24"),
        (dict(burst_beats=65), r"burst_beats must be an integer in 1\.\.64 at 512 bits, not 65"),
        (dict(burst_beats=48), "burst_beats must be a power of two, not 48"),
        (dict(depth=63), r"depth must be an integer in 64\.\.65536 to hold a burst, not 63"),
        (dict(bursts=0), r"bursts must be an integer in 1\.\.1024, not 0"),
        (dict(style="mega"), "style must be one of auto, .*, not 'mega'"),
    ],
)
def test_config_rejects(bad, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        EngineConfig(**bad)


@pytest.mark.parametrize(
    "config",
    [later({}), later(NARROW), SHORT, SMALL],
    ids=["512", "128", "128, short bursts", "small"],
)
def test_matches_memory(simulate, config):
    simulate(
        EngineTop(EngineConfig(**config), "read"),
        "shell.read_engine_bench",
        kind="random",
        config=config,
        seed=1,
        gaps=GAPS,
    )


#: The shallowest queue of which ``estimate`` says that it keeps pace at a latency of 64.
TIGHT = dict(data_width=128, depth=64 + 64 + 4)


@pytest.mark.parametrize(
    "config, long", [later({}, 4096), (NARROW, 600), (TIGHT, 600)], ids=["512", "128", "tight"]
)
def test_pace_and_errors(simulate, config, long):
    simulate(
        EngineTop(EngineConfig(**config), "read write"),
        "shell.read_engine_bench",
        kind="pace",
        config=config,
        single=600,
        long=long,
    )


def test_longest_bursts(simulate):
    simulate(
        EngineTop(EngineConfig(**LONGEST), "read"),
        "shell.read_engine_bench",
        kind="longest",
        config=LONGEST,
    )

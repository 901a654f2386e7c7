"""hw.shell.write_engine against the memory of cocotbext-axi, AXI rules on every clock."""

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
SMALL = dict(data_width=32, depth=9, burst_beats=4, bursts=3)
#: Requests, data, memory, tokens.
GAPS = [
    ((0, 0), 0, 0),
    ((0.8, 0), 0, 0),
    ((0, 0.5), 0, 0),
    ((0, 0), 0.5, 0),
    ((0, 0), 0, 0.8),
    ((0.3, 0.3), 0.3, 0.3),
    ((SOLID_TOO, (10, 30)), (70, 90), SOLID),
]


@pytest.mark.parametrize(
    "config",
    [later({}), later(NARROW), SHORT, SMALL],
    ids=["512", "128", "128, short bursts", "small"],
)
def test_matches_memory(simulate, config):
    simulate(
        EngineTop(EngineConfig(**config), "write"),
        "shell.write_engine_bench",
        kind="random",
        config=config,
        seed=1,
        gaps=GAPS,
    )


@pytest.mark.parametrize("config", [later({}), NARROW], ids=["512", "128"])
def test_pace_and_errors(simulate, config):
    simulate(
        EngineTop(EngineConfig(**config), "read write"),
        "shell.write_engine_bench",
        kind="pace",
        config=config,
        single=300,
        long=600,
        latency=40,
    )


def test_longest_bursts(simulate):
    simulate(
        EngineTop(EngineConfig(**LONGEST), "write"),
        "shell.write_engine_bench",
        kind="longest",
        config=LONGEST,
    )

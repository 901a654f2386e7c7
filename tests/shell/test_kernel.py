"""hw.shell.kernel: a reset on its way to the inside, and the control slave meanwhile."""

import boards
from host.kernels import configure
from hw.designs import DESIGNS
from hw.shell.reset import RESET_LATENCY

_SMALL = {"capacity": 64, "fanout": 4, "engine.depth": 64, "burst_beats": 4, "bursts": 4}


def test_reset(simulate):
    entry, board = DESIGNS["replay"], boards.get("zcu106")
    config = configure(entry, board, _SMALL)
    description = entry.describe(config)
    scalar = next(a for a in description.arguments if a.kind == "scalar")
    simulate(
        entry.kernel(config),
        "tests.shell.kernel_bench",
        name="replay",
        latency=RESET_LATENCY,
        offset=scalar.offset,
    )

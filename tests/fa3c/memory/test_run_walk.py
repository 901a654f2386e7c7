"""run_walk: lists of runs as requests of several ports, each at its own pace."""

import numpy as np

from hw.fa3c.memory.run_walk import RunWalk

PORTS, ROWS = 3, 5000
#: Addresses that carry beyond 32 bits, and to the last row of the space.
BASES = [0, 0xFFFF_FFC0, (1 << 64) - 64 * ROWS]


def test_requests(simulate):
    """One run, none of a port, all of them, the ends of the space; then any."""
    runs = [
        dict(row=0, step=0, beats=1, count=1, targets=0b001),
        dict(row=ROWS - 1, step=1, beats=1, count=1, targets=0b111),
        dict(row=0, step=ROWS - 1, beats=(1 << 24) - 1, count=2, targets=0b110),
        dict(row=7, step=7, beats=3, count=2, targets=0b000),
        dict(row=16, step=16, beats=9, count=20, targets=0b011),
    ]
    rng = np.random.default_rng(1)
    for _ in range(20):
        count = int(rng.integers(1, 12))
        step = int(rng.integers(ROWS // 12))
        runs.append(
            dict(
                row=int(rng.integers(ROWS - count * step)),
                step=step,
                beats=int(rng.integers(1, 3000)),
                count=count,
                targets=int(rng.integers(1 << PORTS)),
            )
        )
    case = dict(ports=PORTS, rows=ROWS, bases=BASES, runs=runs)
    simulate(RunWalk(PORTS, ROWS), "fa3c.memory.run_walk_bench", **case)

"""The configs of ``gae`` among which a search chooses: rows, and registers in a PE's loop.

A search times whole launches, CLEAR, PUSH, ESTIMATE and PULL. Transfers decide: of a full stack of
64 rows and 1024 steps the ESTIMATE is 1040 clocks of 46 000 with a master of 128 bits, 12 500 with
512 bits. Of a stack whose operands have p beats and whose results r, with the queue's latency Q ::

    PUSH   p + (read + Q) + 18
    PULL   r + min(r, burst) + write + 7

Memory moves a beat a clock, and answers as in ``hw.shell.memory_clocks``. Tests compare whole
launches with the simulation, to the clock; a PULL of less than a burst takes a clock less.
"""

from hw.gae.estimate import cycles
from hw.shell.memory_clocks import latencies, launch_clocks
from hw.space import Space
from hw.stream.queue import Queue

__all__ = ["SPACE"]

#: Powers of two, and one and a half times as many.
_ROWS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256)
#: Levels of logic in a PE with so many registers in its loop, words of 27 bits, as yosys maps it.
_LEVELS = {1: 14, 2: 11, 3: 9}
#: Clocks of states, and of registers between units: from two simulated kernels, the same in others.
#: Those of CLEAR are with the dispatch of all four commands.
_CLEAR, _PUSH, _PULL = 21, 18, 7


def _clocks(config, batch):
    """``rows`` trajectories a launch, each of a full stack."""
    engine, slots = config.engine, config.gae.depth + 1
    memory = latencies(engine)
    operands, results = (slots * sum(config.slot_beats[name]) for name in ("numbers", "results"))
    commands = [
        _CLEAR,
        operands + memory["read"] + Queue.latency_of(engine.depth) + _PUSH,
        cycles(config),
        results + min(results, engine.burst_beats) + memory["write"] + _PULL,
    ]
    launches = -(-batch // config.gae.rows)
    return launches * launch_clocks(engine, commands, memory["read"])


SPACE = Space(
    operation="launches with full stacks for {batch} trajectories",
    batch=lambda config: config.gae.rows,
    fields=lambda config: {"gae.rows": _ROWS, "gae.lookahead": (1, 2, 3)},
    clocks=_clocks,
    levels=lambda config: _LEVELS[config.gae.lookahead],
    axis="gae.rows",
    curve="gae.lookahead",
)

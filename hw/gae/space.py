"""The configs of ``gae`` among which a search chooses: rows, and registers in a PE's loop."""

from hw.gae.estimate import cycles
from hw.space import Space

__all__ = ["SPACE"]

#: Powers of two, and one and a half times as many.
_ROWS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256)
#: Levels of logic in a PE with so many registers in its loop, words of 27 bits, as yosys maps it.
_LEVELS = {1: 14, 2: 11, 3: 9}


def _clocks(config, batch):
    """``rows`` trajectories at a time, each of a full stack."""
    return -(-batch // config.gae.rows) * cycles(config)


SPACE = Space(
    operation="ESTIMATEs of full stacks for {batch} trajectories",
    batch=lambda config: config.gae.rows,
    fields=lambda config: {"gae.rows": _ROWS, "gae.lookahead": (1, 2, 3)},
    clocks=_clocks,
    levels=lambda config: _LEVELS[config.gae.lookahead],
    axis="gae.rows",
    curve="gae.lookahead",
)

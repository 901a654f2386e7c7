"""The configs of ``fixar`` among which a search chooses: cores, their arrays, the sum tree."""

from functools import lru_cache

from hw.fixar.pass_clocks import iteration_cycles
from hw.fixar.precision import Precision
from hw.replay.space import FANOUTS, draw_latency
from hw.space import Space

__all__ = ["SPACE"]


@lru_cache(maxsize=256)  # a learner is tried with several trees
def _iteration(learner, batch):
    """In full precision; half precision takes no longer."""
    return iteration_cycles(learner, batch, Precision())


SPACE = Space(
    operation="iteration of LEARN with {batch} samples in full precision",
    batch=lambda config: config.learner.batch,
    fields=lambda config: {
        "learner.cores": range(1, 8),
        "learner.side": (4, 8, 16),
        "learner.port_words": (1, 2, 4),
        "replay.fanout": FANOUTS,
    },
    clocks=lambda config, batch: _iteration(config.learner, batch),
    prepare=lambda config, batch: {"learner.batch": batch},
    latency=draw_latency,
    axis="learner.cores",
    curve="learner.side",
)

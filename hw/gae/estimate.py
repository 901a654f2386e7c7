"""Resources of the whole kernel ``gae``, and the largest kernel that fits a board."""

from hw.estimate import Estimate, total
from hw.gae.array.estimator import Estimator
from hw.gae.intake.intake import Intake
from hw.stream.ram import memory_blocks, style_of

__all__ = ["estimate"]


def estimate(config):
    """Clocks of an ESTIMATE of a full stack, and resources; None if unknown.

    Memory blocks: the stack, and the queues of the two engines.
    """
    rows, intake = Estimator.estimate(config.gae, config.gae.depth + 1), Intake.estimate(config)
    engine = config.engine
    queues = 2 * memory_blocks(engine.data_width, engine.depth, style_of(engine.depth))
    return Estimate(
        cycles=rows.cycles,
        interval=rows.interval,
        dsp=total(rows.dsp, intake.dsp),
        bram36=rows.bram36 + queues,
        uram=rows.uram,
    )

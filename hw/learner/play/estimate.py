"""Resources of a kernel's parts that play."""

from hw.area import area
from hw.environment.machine import Machine
from hw.estimate import together
from hw.learner.play.episodes import Episodes
from hw.learner.play.explore import Explore
from hw.learner.play.scaled import ScaledConfig, ScaledToFloat
from hw.learner.play.windows import Windows
from hw.learner.records import record_granules
from hw.replay.config import GRANULE_WIDTH
from hw.stream import estimate as stream
from hw.stream.ram import shallow_memory

__all__ = ["player"]


def player(config):
    """The ``Player`` of a LearnerKernelConfig, and around it what its core has more."""
    play, learner, width = config.play, config.learner, config.engine.data_width
    experiences = play.environments * play.longest * record_granules(learner)
    shown = play.environments << (learner.observation - 1).bit_length()
    return together(
        [
            area("learner.play.player", environments=play.environments, width=width),
            Machine.estimate(play.machine),
            Explore.estimate(play.explore(learner)),
            Windows.estimate(play.windows(learner)),
            Episodes.estimate(play.episodes),
            ScaledToFloat.estimate(ScaledConfig(width=32)),
            shallow_memory(32, shown),
            stream.queue(GRANULE_WIDTH, experiences),
        ]
    )

"""Bit-exact twin of the kernels ``dqn``, ``ddpg`` and ``td3``."""

from hw.learner.config import LearnerKernelConfig
from sim.model.learner.core import LearnerCore
from sim.model.learner.play.core import PlayingCore
from sim.model.program import ProgramTwin

__all__ = ["LearnerKernel"]


class LearnerKernel(ProgramTwin):
    """Twin of the whole kernels."""

    def make_core(self, description):
        config = LearnerKernelConfig.from_dict(description.config)
        return PlayingCore(config) if config.play else LearnerCore(config)

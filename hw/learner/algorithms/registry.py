"""Every algorithm that a learner can have, by name."""

from hw.learner.algorithms.ddpg import DDPG
from hw.learner.algorithms.dqn import DQN
from hw.learner.algorithms.td3 import TD3

__all__ = ["ALGORITHMS", "algorithm_of"]

ALGORITHMS = {algorithm.name: algorithm for algorithm in (DQN, DDPG, TD3)}


def algorithm_of(config):
    """The Algorithm of a LearnerConfig."""
    return ALGORITHMS[config.algorithm]

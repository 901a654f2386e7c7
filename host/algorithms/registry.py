"""All algorithms, by name: the one list that a new one is added to."""

from host.algorithms.a3c import A3C
from host.algorithms.dqn import DQN
from host.algorithms.fixar import FIXAR_DDPG
from host.algorithms.ppo import PPO
from host.algorithms.sac import SAC
from host.algorithms.td3 import TD3
from host.rules import check_choice

__all__ = ["ALGORITHMS", "find"]

ALGORITHMS = {algorithm.name: algorithm for algorithm in (DQN, FIXAR_DDPG, TD3, SAC, PPO, A3C)}


def find(name):
    """The Algorithm of that name; ValueError, with those there are, for another."""
    check_choice("algo", name, ALGORITHMS)
    return ALGORITHMS[name]

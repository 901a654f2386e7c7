"""Configs of training runs: a class for each kind of experience from which algorithms learn."""

from host.runs.replay_runs import OffPolicyConfig, Replay
from host.runs.rollout_runs import OnPolicyConfig, Rollouts
from host.runs.round_runs import Rounds, RoundsConfig

__all__ = ["CONFIGS", "family_of"]

#: ``Algorithm.learns_from`` -> config of its runs
CONFIGS = {kind.LEARNS_FROM: kind for kind in (OffPolicyConfig, OnPolicyConfig, RoundsConfig)}


#: ``Algorithm.learns_from`` -> Family
_FAMILIES = {"replay": Replay(), "rollouts": Rollouts(), "rounds": Rounds()}


def family_of(config):
    """The Family of a RunConfig."""
    return _FAMILIES[config.algorithm.learns_from]

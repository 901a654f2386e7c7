"""Families of runs, with a file for each kind of experience from which algorithms learn: a family
makes kernel, collector and learner of its runs. Read ``family`` first."""

from host.train.families.replay import Replay
from host.train.families.rollouts import Rollouts
from host.train.families.rounds import Rounds

__all__ = ["family_of"]

#: ``Algorithm.learns_from`` -> Family
_FAMILIES = {"replay": Replay(), "rollouts": Rollouts(), "rounds": Rounds()}


def family_of(config):
    """The Family of a RunConfig."""
    return _FAMILIES[config.algorithm.learns_from]

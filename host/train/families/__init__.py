"""How runs are put together, a file for each kind of experience that algorithms learn from. Read
``family`` first."""

from host.train.families.replay import Replay
from host.train.families.rollouts import Rollouts
from host.train.families.rounds import Rounds

__all__ = ["family_of"]

#: ``Algorithm.learns_from`` -> Family
_FAMILIES = {"replay": Replay(), "rollouts": Rollouts(), "rounds": Rounds()}


def family_of(config):
    """The Family of a RunConfig."""
    return _FAMILIES[config.algorithm.learns_from]

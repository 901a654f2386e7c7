"""The learner of a run with a replay memory, by the design of its kernel."""

from host.learners.card import CardLearner
from host.learners.fixar import FixarLearner
from host.learners.replay import ReplayLearner

__all__ = ["learner_of"]

_LEARNERS = {None: ReplayLearner, "replay": ReplayLearner, "fixar": FixarLearner}


def learner_of(design):
    """The subclass of MemoryLearner for a run on a kernel of ``design``, a design's name:
    ReplayLearner for replay and for None, which is no kernel, FixarLearner for fixar, and
    CardLearner for all others."""
    return _LEARNERS.get(design, CardLearner)

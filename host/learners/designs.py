"""The learner of a run with a replay memory, by the design of its kernel."""

from host.learners.card import CardLearner
from host.learners.fixar import FixarLearner
from host.learners.replay import ReplayLearner

__all__ = ["learner_of"]

_LEARNERS = {"replay": ReplayLearner, "fixar": FixarLearner}


def learner_of(design):
    """The subclass of MemoryLearner for runs on a kernel of ``design``: CardLearner unless the
    design has its own. The class knows which buffer the kernel has and which agents it trains."""
    return _LEARNERS.get(design, CardLearner)

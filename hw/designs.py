"""Every design that can be generated, by name; card, host, boards and command line find it here.

A kernel in this repository has a ``DESIGN`` in its package, a line in ``hw.summaries`` and an entry
here, which imports it when it is asked for. A kernel in another package has an entry point of group
``rlfabric.designs``.
"""

from functools import partial

from hw.extension import LazyEntry, Registry
from hw.summaries import SUMMARIES

__all__ = ["DESIGNS"]


def _design():
    from hw.shell.design import Design

    return Design


def _replay():
    from hw.replay.design import DESIGN

    return DESIGN


def _gae():
    from hw.gae.design import DESIGN

    return DESIGN


def _learner(name):
    from hw.learner.design import LEARNERS

    return LEARNERS[name]


def _fixar():
    from hw.fixar.design import DESIGN

    return DESIGN


def _a3c():
    from hw.fa3c.design import DESIGN

    return DESIGN


_LOADS = {
    "replay": _replay,
    "gae": _gae,
    "dqn": partial(_learner, "dqn"),
    "ddpg": partial(_learner, "ddpg"),
    "td3": partial(_learner, "td3"),
    "fixar": _fixar,
    "a3c": _a3c,
}
_OURS = {name: LazyEntry(load, summary=SUMMARIES[name]) for name, load in _LOADS.items()}
DESIGNS = Registry("rlfabric.designs", _design, _OURS)

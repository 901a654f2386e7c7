"""Every design that can be generated, by name; card, host, boards and command line find it here.

A new kernel's package has its ``DESIGN``, and adds its line; or, where it is no folder of ours, an
entry point of group ``rlfabric.designs``.
"""

from hw.extension import Registry
from hw.fa3c.design import DESIGN as A3C
from hw.fixar.design import DESIGN as FIXAR
from hw.gae.design import DESIGN as GAE
from hw.learner.design import DDPG, DQN
from hw.replay.design import DESIGN as REPLAY
from hw.shell.design import Design

__all__ = ["DESIGNS"]

_OURS = {design.name: design for design in (REPLAY, GAE, DQN, DDPG, FIXAR, A3C)}
DESIGNS = Registry("rlfabric.designs", Design, _OURS)

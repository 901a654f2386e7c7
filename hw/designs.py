"""Every design that can be generated, by name; card, host, boards and command line find it here.

A new kernel's package has its ``DESIGN``, and adds its line.
"""

from hw.fa3c.design import DESIGN as A3C
from hw.fixar.design import DESIGN as FIXAR
from hw.gae.design import DESIGN as GAE
from hw.learner.design import DDPG, DQN
from hw.replay.design import DESIGN as REPLAY

__all__ = ["DESIGNS"]

DESIGNS = {design.name: design for design in (REPLAY, GAE, DQN, DDPG, FIXAR, A3C)}

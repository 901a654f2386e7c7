"""Every design that can be generated, by name; card, host, boards and command line find it here.

A kernel in this repository has a ``DESIGN`` in its package, and a line here. A kernel in another
package has an entry point of group ``rlfabric.designs``.
"""

from hw.extension import Registry
from hw.fa3c.design import DESIGN as A3C
from hw.fixar.design import DESIGN as FIXAR
from hw.gae.design import DESIGN as GAE
from hw.learner.design import LEARNERS
from hw.replay.design import DESIGN as REPLAY
from hw.shell.design import Design

__all__ = ["DESIGNS"]

_OURS = {design.name: design for design in (REPLAY, GAE, *LEARNERS, FIXAR, A3C)}
DESIGNS = Registry("rlfabric.designs", Design, _OURS)

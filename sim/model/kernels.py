"""The twins of whole kernels, which card ``model`` runs in place of Verilog."""

from typing import Protocol

from hw.errors import UsageError
from hw.extension import Registry
from hw.learner.algorithms.registry import ALGORITHMS
from sim.model.fa3c.kernel import A3cKernel
from sim.model.fixar.kernel import FixarKernel
from sim.model.gae.kernel import GaeKernel
from sim.model.learner.kernel import LearnerKernel
from sim.model.replay.kernel import ReplayKernel

__all__ = ["KERNELS", "KernelTwin", "twin_of"]


class KernelTwin(Protocol):
    """What a kernel's twin must have. A twin keeps the kernel's state between launches, and writes
    the same bytes to memory as the hardware for every program; counts of clocks alone are 0."""

    def __init__(self, description):
        """``description``: the kernel's ``hw.shell.description.KernelDescription``."""

    def execute(self, arguments, memory):
        """Run one launch to its end: all its commands, and the write of the status block.

        arguments : dict of str to int
            Every argument of the description by name: a byte address for a pointer, or an unsigned
            32-bit scalar.
        memory : sim.card.memory.Memory
            ``memory.view(address, size)`` gives the writable bytes there. Outside the buffers of
            the launch it raises ``IndexError``.
        """


_OURS: dict[str, type[KernelTwin]] = {
    "replay": ReplayKernel,
    **dict.fromkeys(ALGORITHMS, LearnerKernel),
    "fixar": FixarKernel,
    "gae": GaeKernel,
    "a3c": A3cKernel,
}
#: Kernel name -> class. A new kernel adds its line above, or has an entry point elsewhere.
KERNELS = Registry("rlfabric.twins", type, _OURS)


def twin_of(description):
    """A new twin of the kernel that ``description``, a KernelDescription, names. Raises UsageError,
    a ValueError that names the known kernels, if there is no twin of this kernel."""
    if description.name not in KERNELS:
        known = ", ".join(sorted(KERNELS))
        raise UsageError(
            f"kernel must be one with a twin ({known}), not {description.name!r}: card model runs "
            "that in place of Verilog, and card sim needs none"
        )
    return KERNELS[description.name](description)

"""A kernel's twin behind the interface of ``VerilatedKernel``: a launch is over when it starts."""

from sim.card.memory import Memory
from sim.card.verilated import Outcome

__all__ = ["ModelledKernel"]


class ModelledKernel:
    """The twin of the described kernel, with the methods of ``VerilatedKernel``.

    ``start`` runs the twin to the end of the launch, and passes on exceptions of the twin. ``wait``
    returns DONE at once. There are no clocks: ``cycles`` is None.
    """

    cycles = None
    outcome = Outcome.DONE

    def __init__(self, description):
        from sim.model.kernels import twin_of  # and numba: other cards need neither

        self.twin = twin_of(description)
        self._buffers = self._memory = None

    def start(self, values, buffers):
        if buffers is not self._buffers:
            self._buffers, self._memory = buffers, Memory(buffers)
        self.twin.execute(values, self._memory)

    def wait(self, seconds=None):
        return self.outcome

    def report(self):
        return "the twin has ended"

    def close(self):
        pass

"""Launches of a kernel and transfers to and from its card, which card ``model`` makes in no time:
they are counted, and take what a machine file of ``host.compose`` says."""

import time
from dataclasses import dataclass
from unittest import mock

from host.compose.machine import transfer_us
from host.compose.machine_library import shipped

__all__ = ["Counted", "Overhead"]


@dataclass(frozen=True)
class Overhead:
    """Counts: ``launches``, the driver's ``transfers`` in both directions together, and the bytes
    ``moved``; floats, if they are means."""

    launches: float
    transfers: float
    moved: float

    def __sub__(self, other):
        return Overhead(
            self.launches - other.launches,
            self.transfers - other.transfers,
            self.moved - other.moved,
        )

    def __truediv__(self, count):
        return Overhead(self.launches / count, self.transfers / count, self.moved / count)

    def seconds(self, name):
        """Seconds that launches and transfers take, one after the other, on the shipped machine
        ``name``: ``launches * launch_us + transfers * latency + moved / bandwidth`` of its card and
        of the link between that and the cpu."""
        launch, latency, rate = _costs(name)
        launches = self.launches * launch
        return 1e-6 * (launches + transfer_us(self.transfers * latency, self.moved, rate))

    def source(self, name):
        """How ``seconds`` were obtained, as a row's source."""
        launch, latency, rate = _costs(name)
        return (
            f"launch {launch:g} us, link {latency:g} us and {rate:g} GB/s (assumed: machine {name})"
        )


def _costs(name):
    """``(us a launch, us a transfer, GB/s)`` of machine ``name``'s card and its link to the cpu."""
    machine = shipped(name)
    (link,) = machine.route(machine.cpu.name, machine.card.name)
    return machine.card.launch_us, link.known("latency_us"), link.known("gb_per_s")


class Counted:
    """A context manager that counts the launches of ``kernel`` and its driver's transfers.

    Attributes
    ----------
    seconds : float
        Seconds of all launches so far. On card ``model`` this is the twin's arithmetic.
    overhead : Overhead
        All launches and transfers so far.
    """

    def __init__(self, kernel):
        self.seconds, self.overhead = 0.0, Overhead(0, 0, 0)
        self._kernel, self._launch = kernel, kernel.launch
        bo = kernel.card.api.bo
        self._sync, self._patch = bo.sync, mock.patch.object(bo, "sync", self._counting())

    def __enter__(self):
        self._kernel.launch = self._timed
        self._patch.start()
        return self

    def __exit__(self, *_):
        self._patch.stop()
        self._kernel.launch = self._launch

    def _timed(self, *arguments, **options):
        began = time.perf_counter()
        try:
            return self._launch(*arguments, **options)
        finally:
            self.seconds += time.perf_counter() - began
            self._add(1, 0, 0)

    def _counting(self):
        def sync(bo, direction, size=None, offset=0):
            self._add(0, 1, bo.size() if size is None else size)
            return self._sync(bo, direction, size, offset)

        return sync

    def _add(self, launches, transfers, moved):
        own = self.overhead
        self.overhead = Overhead(
            own.launches + launches, own.transfers + transfers, own.moved + moved
        )

"""Fetches the HYPERPARAMETERS of a LEARN, each record while the iteration before is under way.

A record is here the memory's latency and a few clocks after ``fetch``.
"""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.learner.records import HYPERPARAMETERS
from hw.shell.ports import read_port

__all__ = ["HyperparameterReader"]


class HyperparameterReader(wiring.Component):
    """HYPERPARAMETERS k lies ``64 * k`` bytes behind the first.

    Parameters
    ----------
    data_width : int
        Bits of a beat.

    Members
    -------
    start : In(1), address : In(64)
        The first record lies at ``address``.
    fetch : In(1)
        Read the next; not while ``busy``.
    busy : Out(1)
        A read is under way.
    available, failed, take : Out(1), Out(1), In(1)
        The next record is here; memory failed a beat of it; it becomes ``hyperparameters``.
    following, hyperparameters : Out(HYPERPARAMETERS)
        The next record, while it is available; the last that was taken.
    read : Out(read_port)
    """

    def __init__(self, data_width):
        self.data_width = data_width
        super().__init__(
            {
                "start": In(1),
                "address": In(64),
                "fetch": In(1),
                "busy": Out(1),
                "available": Out(1),
                "failed": Out(1),
                "take": In(1),
                "following": Out(HYPERPARAMETERS.shape),
                "hyperparameters": Out(HYPERPARAMETERS.shape),
                "read": Out(read_port(data_width)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        beats = 8 * HYPERPARAMETERS.size // self.data_width
        address = Signal(64, reset_less=True)
        following = Signal(8 * HYPERPARAMETERS.size, reset_less=True)
        part = Signal(range(beats))
        asked = Signal()
        request, words = self.read.request, self.read.data
        m.d.comb += [
            request.p.address.eq(address),
            request.p.beats.eq(beats),
            request.valid.eq(self.busy & ~asked),
            words.ready.eq(self.busy),
            Value.cast(self.following).eq(following),
        ]
        with m.If(self.fetch):
            m.d.sync += [self.busy.eq(1), asked.eq(0), self.failed.eq(0)]
        with m.If(request.valid & request.ready):
            m.d.sync += [asked.eq(1), address.eq(address + HYPERPARAMETERS.size)]
        with m.If(words.valid & words.ready):
            m.d.sync += [
                following.eq(Cat(following, words.p.data)[self.data_width :]),
                self.failed.eq(self.failed | words.p.error),
                part.eq(Mux(part == beats - 1, 0, part + 1)),
            ]
            with m.If(part == beats - 1):
                m.d.sync += [self.busy.eq(0), self.available.eq(1)]
        with m.If(self.take):
            m.d.sync += [self.available.eq(0), Value.cast(self.hyperparameters).eq(following)]
        with m.If(self.start):
            m.d.sync += [address.eq(self.address), self.available.eq(0)]
        return m

"""Writes the REPORTs of a LEARN command; memory's answers are awaited only at the end."""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.learner.records import REPORT
from hw.replay.commands import MAX_COUNT
from hw.shell.ports import write_port

__all__ = ["ReportWriter"]


class ReportWriter(wiring.Component):
    """REPORT k goes ``64 * k`` bytes behind the first.

    Parameters
    ----------
    data_width : int
        Bits of a beat.

    Members
    -------
    start : In(1), address : In(64)
        The first REPORT goes to ``address``.
    send : In(1), report : In(512)
        Write a REPORT; not while ``sending``.
    sending : Out(1)
        A REPORT has not left yet.
    idle : Out(1)
        Memory has answered all REPORTs.
    write : Out(write_port)
    """

    def __init__(self, data_width):
        self.data_width = data_width
        super().__init__(
            {
                "start": In(1),
                "address": In(64),
                "send": In(1),
                "report": In(8 * REPORT.size),
                "sending": Out(1),
                "idle": Out(1),
                "write": Out(write_port(data_width)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        beats = 8 * REPORT.size // self.data_width
        address = Signal(64, reset_less=True)
        words = Signal(8 * REPORT.size, reset_less=True)
        announced = Signal()
        left = Signal(range(beats + 1))
        pending = Signal(range(MAX_COUNT + 1))
        request, data, done = self.write.request, self.write.data, self.write.done
        m.d.comb += [
            request.p.address.eq(address),
            request.p.beats.eq(beats),
            request.valid.eq(self.sending & ~announced),
            data.payload.eq(words[: self.data_width]),
            data.valid.eq(left != 0),
            done.ready.eq(1),
            self.idle.eq(~self.sending & (pending == 0)),
        ]
        accept = Signal()
        m.d.comb += accept.eq(request.valid & request.ready)
        m.d.sync += pending.eq(pending + accept - done.valid)
        with m.If(accept):
            m.d.sync += [announced.eq(1), address.eq(address + REPORT.size)]
        with m.If(data.valid & data.ready):
            m.d.sync += [words.eq(words >> self.data_width), left.eq(left - 1)]
        with m.If((announced | accept) & ((left == 0) | ((left == 1) & data.ready))):
            m.d.sync += self.sending.eq(0)
        with m.If(self.send):
            m.d.sync += [
                self.sending.eq(1),
                announced.eq(0),
                words.eq(self.report),
                left.eq(beats),
            ]
        with m.If(self.start):
            m.d.sync += address.eq(self.address)
        return m

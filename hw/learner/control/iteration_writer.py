"""Writes an iteration's report and list to results; it waits for memory's answers only at the
end."""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hw.learner.records import REPORT
from hw.replay.commands import MAX_COUNT
from hw.shell.ports import write_port

__all__ = ["IterationWriter"]


class IterationWriter(wiring.Component):
    """Writes a REPORT for each iteration, and in a TRAIN a list of TD errors, to memory, one at a
    time. REPORT k goes ``64 * k`` bytes after the first REPORT, list k ``advance * k`` bytes after
    the first list.

    Parameters
    ----------
    data_width : int
        Bits of a beat.

    Members
    -------
    start : In(1), address, list_address : In(64)
        ``start``, a pulse: a command begins. Its first REPORT goes to ``address``, its first list
        to ``list_address``.
    beats, advance : In(32)
        Beats of a list; bytes between the begins of two lists. Steady after ``start``.
    send : In(1), report : In(512)
        ``send``, a pulse: write the REPORT that ``report`` holds in this clock. Not while
        ``sending``.
    send_list : In(1), list : In(stream of beats)
        ``send_list``, a pulse: write the next ``beats`` beats of ``list``. Not while ``sending``,
        nor with ``send``.
    sending : Out(1)
        A REPORT or a list has not left for memory yet.
    idle : Out(1)
        Nothing is to be sent, and memory has answered all writes.
    write : Out(write_port)
        The port to memory.
    """

    def __init__(self, data_width):
        self.data_width = data_width
        super().__init__(
            {
                "start": In(1),
                "address": In(64),
                "list_address": In(64),
                "beats": In(32),
                "advance": In(32),
                "send": In(1),
                "report": In(8 * REPORT.size),
                "send_list": In(1),
                "list": In(stream.Signature(unsigned(data_width))),
                "sending": Out(1),
                "idle": Out(1),
                "write": Out(write_port(data_width)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        beats = 8 * REPORT.size // self.data_width
        address, list_address = Signal(64, reset_less=True), Signal(64, reset_less=True)
        words = Signal(8 * REPORT.size, reset_less=True)
        of_list, announced = Signal(), Signal()
        left = Signal(32)
        pending = Signal(range(2 * MAX_COUNT + 1))
        request, data, done = self.write.request, self.write.data, self.write.done
        accept, moves = Signal(), Signal()
        m.d.comb += [
            request.p.address.eq(Mux(of_list, list_address, address)),
            request.p.beats.eq(Mux(of_list, self.beats, beats)),
            request.valid.eq(self.sending & ~announced),
            accept.eq(request.valid & request.ready),
            data.payload.eq(Mux(of_list, self.list.payload, words[: self.data_width])),
            data.valid.eq((left != 0) & (~of_list | self.list.valid)),
            self.list.ready.eq((left != 0) & of_list & data.ready),
            moves.eq(data.valid & data.ready),
            done.ready.eq(1),
            self.idle.eq(~self.sending & (pending == 0)),
        ]
        m.d.sync += pending.eq(pending + accept - done.valid)
        with m.If(accept):
            m.d.sync += announced.eq(1)
            with m.If(of_list):
                m.d.sync += list_address.eq(list_address + self.advance)
            with m.Else():
                m.d.sync += address.eq(address + REPORT.size)
        with m.If(moves):
            m.d.sync += [words.eq(words >> self.data_width), left.eq(left - 1)]
        with m.If((announced | accept) & ((left == 0) | ((left == 1) & moves))):
            m.d.sync += self.sending.eq(0)
        with m.If(self.send | self.send_list):
            m.d.sync += [self.sending.eq(1), announced.eq(0)]
        with m.If(self.send):
            m.d.sync += [of_list.eq(0), words.eq(self.report), left.eq(beats)]
        with m.If(self.send_list):
            m.d.sync += [of_list.eq(1), left.eq(self.beats)]
        with m.If(self.start):
            m.d.sync += [address.eq(self.address), list_address.eq(self.list_address)]
        return m

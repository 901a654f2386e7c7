"""Reads what an iteration needs from operands while the iteration before it is under way.

Hyperparameters are available a few clocks more than the memory's latency after ``fetch``. The beats
of a batch (TRAIN) pass as they come.
"""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hw.learner.records import HYPERPARAMETERS
from hw.shell.ports import read_port

__all__ = ["IterationReader"]


class IterationReader(wiring.Component):
    """Reads hyperparameters (a record for each iteration) and the batches of a TRAIN from memory,
    one at a time, in order. Record k lies ``record.size * k`` bytes after the first record, batch k
    ``advance * k`` bytes after the first batch.

    Parameters
    ----------
    data_width : int
        Bits of a beat.
    record : Layout
        HYPERPARAMETERS, or a longer record that begins with their fields.

    Members
    -------
    start : In(1), address, batch_address : In(64)
        ``start``, a pulse: a command begins. Its first record lies at ``address``, its first batch
        at ``batch_address``.
    beats, advance : In(32)
        Beats of a batch; bytes between the begins of two batches. Steady after ``start``.
    fetch, fetch_batch : In(1)
        A pulse: read the next record (``fetch``) or the next batch (``fetch_batch``). Not while
        ``busy``, and not both at once.
    busy : Out(1)
        A read is under way.
    available, failed : Out(1), take : In(1)
        ``available``: the record that was fetched has come, and was not taken yet. ``failed``, if
        ``available``: memory failed a beat of this record. ``take``, a pulse: the record becomes
        ``hyperparameters``.
    following, hyperparameters : Out(record)
        The record that is ``available``; the record that was taken last.
    batch : Out(stream of beats)
        The beats of a batch, as memory sends them.
    batch_failed : Out(1)
        Memory failed a beat of the batch that was fetched last.
    read : Out(read_port)
        The port to memory.
    """

    def __init__(self, data_width, record=HYPERPARAMETERS):
        self.data_width, self.record = data_width, record
        super().__init__(
            {
                "start": In(1),
                "address": In(64),
                "batch_address": In(64),
                "beats": In(32),
                "advance": In(32),
                "fetch": In(1),
                "fetch_batch": In(1),
                "busy": Out(1),
                "available": Out(1),
                "failed": Out(1),
                "take": In(1),
                "following": Out(record.shape),
                "hyperparameters": Out(record.shape),
                "batch": Out(stream.Signature(unsigned(data_width))),
                "batch_failed": Out(1),
                "read": Out(read_port(data_width)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        beats = 8 * self.record.size // self.data_width
        address, batch_address = Signal(64, reset_less=True), Signal(64, reset_less=True)
        following = Signal(8 * self.record.size, reset_less=True)
        of_batch, asked = Signal(), Signal()
        left = Signal(32)
        request, words = self.read.request, self.read.data
        moves = Signal()
        m.d.comb += [
            request.p.address.eq(Mux(of_batch, batch_address, address)),
            request.p.beats.eq(Mux(of_batch, self.beats, beats)),
            request.valid.eq(self.busy & ~asked),
            words.ready.eq(self.busy & (~of_batch | self.batch.ready)),
            moves.eq(words.valid & words.ready),
            self.batch.payload.eq(words.p.data),
            self.batch.valid.eq(words.valid & self.busy & of_batch),
            Value.cast(self.following).eq(following),
        ]
        with m.If(self.fetch):
            m.d.sync += [of_batch.eq(0), left.eq(beats), self.failed.eq(0)]
        with m.If(self.fetch_batch):
            m.d.sync += [of_batch.eq(1), left.eq(self.beats), self.batch_failed.eq(0)]
        with m.If(self.fetch | self.fetch_batch):
            m.d.sync += [self.busy.eq(1), asked.eq(0)]
        with m.If(request.valid & request.ready):
            m.d.sync += asked.eq(1)
            with m.If(of_batch):
                m.d.sync += batch_address.eq(batch_address + self.advance)
            with m.Else():
                m.d.sync += address.eq(address + self.record.size)
        with m.If(moves):
            m.d.sync += left.eq(left - 1)
            with m.If(left == 1):
                m.d.sync += self.busy.eq(0)
            with m.If(of_batch):
                m.d.sync += self.batch_failed.eq(self.batch_failed | words.p.error)
            with m.Else():
                m.d.sync += [
                    following.eq(Cat(following, words.p.data)[self.data_width :]),
                    self.failed.eq(self.failed | words.p.error),
                    self.available.eq(left == 1),
                ]
        with m.If(self.take):
            m.d.sync += [self.available.eq(0), Value.cast(self.hyperparameters).eq(following)]
        with m.If(self.start):
            m.d.sync += [
                address.eq(self.address),
                batch_address.eq(self.batch_address),
                self.available.eq(0),
            ]
        return m

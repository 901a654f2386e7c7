"""TD errors on their way back to the replay core, or to a list of the host's: items in beats.

One beat a clock, without latency once it is whole.
"""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hw.replay.records import ITEM
from hw.stream.pack import Pack
from hw.stream.queue import Queue

__all__ = ["TdErrorQueue"]


class TdErrorQueue(wiring.Component):
    """Packs the TD errors of a batch into beats as they come, and holds them until they are taken.
    The queue has room for a whole batch, because TD errors are taken only when it is known that
    none of the batch is infinite or a NaN.

    Parameters
    ----------
    data_width : int
        Bits of a beat.
    batch : int
        The most items of a batch.

    Members
    -------
    start : In(1), count : In
        ``start``, a pulse: the next ``count`` items of ``td`` are a batch. The batch before must
        have left.
    td : In(stream.Signature(ITEM))
        Index and TD error of a sample; taken only while items of the batch are missing.
    items : Out(stream of beats)
        The items, without gaps; zeros fill the last beat of a batch.
    complete : Out(1)
        All ``count`` items have come; some may have left. High until the next ``start``.
    drop : In(1), empty : Out(1)
        While ``drop`` is high, beats leave without being taken. ``empty``: all beats of the batch
        have left or were dropped.
    """

    def __init__(self, data_width, batch):
        self.data_width, self.most = data_width, batch
        super().__init__(
            {
                "start": In(1),
                "count": In(range(batch + 1)),
                "td": In(stream.Signature(ITEM.shape)),
                "items": Out(stream.Signature(unsigned(data_width))),
                "complete": Out(1),
                "drop": In(1),
                "empty": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        width, parts = 8 * ITEM.size, self.data_width // (8 * ITEM.size)
        m.submodules.pack = pack = Pack(width, 1, parts)
        m.submodules.queue = queue = Queue(unsigned(self.data_width), -(-self.most // parts))
        due = Signal(range(self.most + 1))
        beats = Signal(range(queue.depth + 1))
        shift = parts.bit_length() - 1
        m.d.comb += [
            pack.i.p.data.eq(self.td.payload),
            pack.i.p.count.eq(1),
            pack.i.p.last.eq(due == 1),
            pack.i.valid.eq(self.td.valid & (due != 0)),
            self.td.ready.eq(pack.i.ready & (due != 0)),
            queue.i.payload.eq(pack.o.p.data),
            queue.i.valid.eq(pack.o.valid),
            pack.o.ready.eq(queue.i.ready),
            self.items.payload.eq(queue.o.payload),
            self.items.valid.eq(queue.o.valid),
            queue.o.ready.eq(self.items.ready | self.drop),
            self.complete.eq(due == 0),
            self.empty.eq(beats == 0),
        ]
        with m.If(self.start):
            m.d.sync += [
                due.eq(self.count),
                beats.eq(self.count[shift:] + self.count[:shift].any()),
            ]
        with m.Else():
            with m.If(self.td.valid & self.td.ready):
                m.d.sync += due.eq(due - 1)
            with m.If(queue.o.valid & queue.o.ready):
                m.d.sync += beats.eq(beats - 1)
        return m

"""Between the replay core and memory: batches that stay on the card, and TD errors that come back.

One beat a clock in each direction, without latency.
"""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hw.replay.records import ITEM
from hw.shell.ports import read_port, write_port
from hw.stream.pack import Pack
from hw.stream.queue import Queue

__all__ = ["BatchRedirect"]


class BatchRedirect(wiring.Component):
    """Decides where the replay core's reads and writes go. While ``drawing``, its writes go to
    ``records``. While ``giving``, it reads the items of ``td``. At other times it uses ``read`` and
    ``write``. While ``passing``, the replay core rests: the batch comes from ``batch`` and the
    items leave through ``list``.

    All TD errors of a batch are kept here until the learner knows that none of them diverged.

    Parameters
    ----------
    data_width : int
        Bits of a beat.
    batch : int
        The most items of a batch.

    Members
    -------
    replay_read : In(read_port), replay_write : In(write_port)
        The ports of the replay core.
    read : Out(read_port), write : Out(write_port)
    drawing, giving : In(1)
        Steady while a command of the replay core runs.
    passing : In(1)
        Steady from before the first batch to the last item.
    batch : In(stream of beats), list : Out(stream of beats)
    records : Out(stream.Signature(data_width))
        A batch as SAMPLE writes it.
    start : In(1), count : In
        ``count`` items come next.
    td : In(stream.Signature(ITEM))
    complete : Out(1)
        All ``count`` items have come; the replay core may have read them since.
    drop : In(1), empty : Out(1)
        ``drop``: forget the items. ``empty``: no item is left.
    """

    def __init__(self, data_width, batch):
        self.data_width, self.most = data_width, batch
        super().__init__(
            {
                "replay_read": In(read_port(data_width)),
                "replay_write": In(write_port(data_width)),
                "read": Out(read_port(data_width)),
                "write": Out(write_port(data_width)),
                "drawing": In(1),
                "giving": In(1),
                "passing": In(1),
                "batch": In(stream.Signature(unsigned(data_width))),
                "list": Out(stream.Signature(unsigned(data_width))),
                "records": Out(stream.Signature(unsigned(data_width))),
                "start": In(1),
                "count": In(range(batch + 1)),
                "td": In(stream.Signature(ITEM.shape)),
                "complete": Out(1),
                "drop": In(1),
                "empty": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        self._records(m)
        self._items(m)
        return m

    def _records(self, m):
        """Takes a write of the replay core: its request, its beats, its token."""
        inner, outer = self.replay_write, self.write
        opened = Signal()
        left = Signal(len(inner.request.p.beats))
        moves = Signal()
        m.d.comb += [
            outer.request.payload.eq(inner.request.payload),
            outer.request.valid.eq(inner.request.valid & ~self.drawing),
            inner.request.ready.eq(Mux(self.drawing, ~opened, outer.request.ready)),
            outer.data.payload.eq(inner.data.payload),
            outer.data.valid.eq(inner.data.valid & ~self.drawing),
            self.records.payload.eq(Mux(self.passing, self.batch.payload, inner.data.payload)),
            self.records.valid.eq(
                Mux(self.passing, self.batch.valid, inner.data.valid & self.drawing & moves)
            ),
            self.batch.ready.eq(self.records.ready & self.passing),
            inner.data.ready.eq(Mux(self.drawing, self.records.ready & moves, outer.data.ready)),
            inner.done.payload.eq(outer.done.payload & ~self.drawing),
            inner.done.valid.eq(Mux(self.drawing, opened & (left == 0), outer.done.valid)),
            outer.done.ready.eq(inner.done.ready & ~self.drawing),
            moves.eq(opened & (left != 0)),
        ]
        with m.If(self.drawing & inner.request.valid & ~opened):
            m.d.sync += [opened.eq(1), left.eq(inner.request.p.beats)]
        with m.If(self.records.valid & self.records.ready):
            m.d.sync += left.eq(left - 1)
        with m.If(opened & (left == 0) & inner.done.ready):
            m.d.sync += opened.eq(0)

    def _items(self, m):
        """Packs TD errors to beats as they come; one read of the replay core takes all of them."""
        inner, outer = self.replay_read, self.read
        width, parts = 8 * ITEM.size, self.data_width // (8 * ITEM.size)
        m.submodules.pack = pack = Pack(width, 1, parts)
        m.submodules.queue = queue = Queue(unsigned(self.data_width), -(-self.most // parts))
        due = Signal(range(self.most + 1))
        beats = Signal(range(queue.depth + 1))
        shift = parts.bit_length() - 1
        taken = Signal()
        m.d.comb += [
            pack.i.p.data.eq(self.td.payload),
            pack.i.p.count.eq(1),
            pack.i.p.last.eq(due == 1),
            pack.i.valid.eq(self.td.valid & (due != 0)),
            self.td.ready.eq(pack.i.ready & (due != 0)),
            queue.i.payload.eq(pack.o.p.data),
            queue.i.valid.eq(pack.o.valid),
            pack.o.ready.eq(queue.i.ready),
            outer.request.payload.eq(inner.request.payload),
            outer.request.valid.eq(inner.request.valid & ~self.giving),
            inner.request.ready.eq(outer.request.ready | self.giving),
            inner.data.p.data.eq(Mux(self.giving, queue.o.payload, outer.data.p.data)),
            inner.data.p.error.eq(outer.data.p.error & ~self.giving),
            inner.data.valid.eq(Mux(self.giving, queue.o.valid, outer.data.valid)),
            outer.data.ready.eq(inner.data.ready & ~self.giving),
            self.list.payload.eq(queue.o.payload),
            self.list.valid.eq(queue.o.valid & self.passing),
            queue.o.ready.eq(
                Mux(self.passing, self.list.ready, inner.data.ready & self.giving) | self.drop
            ),
            taken.eq(queue.o.valid & queue.o.ready),
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
            with m.If(taken):
                m.d.sync += beats.eq(beats - 1)

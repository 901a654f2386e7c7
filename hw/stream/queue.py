"""First in, first out: a stream queue of any depth, one word a clock in and out.

Latency from a word's entry into an empty queue to its exit: 1 clock up to ``SHALLOW`` words, 2
above, where the words lie in a ``Ram``.
"""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import In, Out

from hw.errors import UsageError
from hw.stream.ram import SHALLOW, Ram

__all__ = ["Queue"]


class Queue(wiring.Component):
    """Words leave ``o`` in the order in which they entered ``i``.

    There is no combinational path between the two sides. A queue of ``depth`` 1 passes a word every
    other clock, a deeper one a word a clock. A word that enters an empty queue is on ``o``
    ``latency_of(depth)`` clocks later.

    Parameters
    ----------
    shape : ShapeLike
        Of a word.
    depth : int
        Words that the queue holds, at least 1; ValueError otherwise.
    style : str
        ``ram_style`` of the memory of a queue deeper than ``SHALLOW``.

    Members
    -------
    i : In(stream.Signature(shape))
        Words that enter; ready while the queue is not full.
    o : Out(stream.Signature(shape))
        Words that leave.
    level : Out(range(depth + 1))
        Words held, the one that ``o`` shows included.
    """

    def __init__(self, shape, depth, style="auto"):
        if not isinstance(depth, int) or depth < 1:
            raise UsageError(f"depth must be a positive integer, not {depth!r}")
        self.shape, self.depth, self.style = shape, depth, style
        super().__init__(
            {
                "i": In(stream.Signature(shape)),
                "o": Out(stream.Signature(shape)),
                "level": Out(range(depth + 1)),
            }
        )

    @staticmethod
    def latency_of(depth):
        """Clocks from a word's entry into an empty queue to its exit."""
        return 1 if depth <= SHALLOW else 2

    def elaborate(self, platform):
        m = Module()
        if self.depth <= SHALLOW:
            self._shallow(m)
        else:
            self._deep(m)
        return m

    def _shallow(self, m):
        m.submodules.fifo = fifo = SyncFIFO(width=Shape.cast(self.shape).width, depth=self.depth)
        m.d.comb += [
            fifo.w_data.eq(self.i.payload),
            fifo.w_en.eq(self.i.valid),
            self.i.ready.eq(fifo.w_rdy),
            Value.cast(self.o.payload).eq(fifo.r_data),
            self.o.valid.eq(fifo.r_rdy),
            fifo.r_en.eq(self.o.ready),
            self.level.eq(fifo.level),
        ]

    def _deep(self, m):
        m.submodules.ram = ram = Ram(
            width=Shape.cast(self.shape).width, depth=self.depth, style=self.style
        )
        produce = Signal(range(self.depth))
        consume = Signal(range(self.depth))
        # Words written and not yet fetched. A write needs level < depth and a fetch stored > 0, so
        # the addresses of a clock's write and fetch differ: the Ram never sees a collision.
        stored = Signal(range(self.depth + 1))
        put, get, fetch = Signal(), Signal(), Signal()

        def following(pointer):
            return Mux(pointer == self.depth - 1, 0, pointer + 1)

        m.d.comb += [
            put.eq(self.i.valid & self.i.ready),
            get.eq(self.o.valid & self.o.ready),
            fetch.eq((stored != 0) & (~self.o.valid | self.o.ready)),
            self.i.ready.eq(self.level != self.depth),
            ram.write_enable.eq(put),
            ram.write_address.eq(produce),
            ram.write_data.eq(self.i.payload),
            ram.read_enable.eq(fetch),
            ram.read_address.eq(consume),
            # The Ram's output register is the word on show: it keeps it until the next fetch.
            Value.cast(self.o.payload).eq(ram.read_data),
        ]
        m.d.sync += [
            self.level.eq(self.level + put - get),
            stored.eq(stored + put - fetch),
        ]
        with m.If(put):
            m.d.sync += produce.eq(following(produce))
        with m.If(fetch):
            m.d.sync += [consume.eq(following(consume)), self.o.valid.eq(1)]
        with m.Elif(self.o.ready):
            m.d.sync += self.o.valid.eq(0)

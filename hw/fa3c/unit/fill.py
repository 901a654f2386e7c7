"""Asks the feature buffer for the rows of one line after the other, to fill the line buffer (FA3C
4.5)."""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hw.fa3c.rows import ROW_WIDTH
from hw.fa3c.unit.line_buffer import LINE_ROW
from hw.fa3c.unit.loop_nest import LoopNest, Loops
from hw.stream.queue import Queue

__all__ = ["Fill"]

#: Rows that may be requested from the feature buffer and not yet taken.
_UNDER_WAY = 16


class Fill(wiring.Component):
    """Brings the rows of every line of a pass, in order. A line begins when the line buffer has a
    place.

    Parameters
    ----------
    config : Fa3cConfig
    passes : sequence of pass_types.Pass
        The passes that ``number`` can name.

    Members
    -------
    start, number, batch : In
        ``start``, for one clock while not ``busy``: begin the pass ``number`` of ``passes``.
        ``batch`` is the count of the task: its agents or its steps. ``number`` and ``batch`` are
        steady from ``start`` on.
    busy : Out(1)
        From the clock after ``start`` on: rows of the pass are left to request.
    request : Out(stream of row numbers of the feature buffer)
        Rows to read.
    data : In(stream of 512 bits)
        The requested rows.
    o : Out(stream of LINE_ROW)
        The rows, for the line buffer.
    release : In(1)
        One clock: a line has been swept, its place is free.
    """

    INTERVAL = 1

    def __init__(self, config, passes):
        loops = [
            Loops(
                p.fill.counts,
                ((p.fill.strides, p.fill.base),),
                last=p.last_rows,
                taps=p.taps and p.taps[:3],
                rows=((p.taps.fill_later, p.taps.fill_wrapped),) if p.taps else (),
            )
            for p in passes
        ]
        self.nest = LoopNest(loops, ("row",), config.samples)
        super().__init__(
            {
                **self.nest.control,
                "request": Out(stream.Signature(range(config.feature_rows))),
                "data": In(stream.Signature(unsigned(ROW_WIDTH))),
                "o": Out(stream.Signature(LINE_ROW)),
                "release": In(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        nest = self.nest
        nest.runs(m, self)
        m.submodules.ends = ends = Queue(unsigned(1), _UNDER_WAY)
        claimed = Signal(range(3))  # lines whose rows were requested and that are not released
        begins, may, issue = Signal(), Signal(), Signal()
        m.d.comb += [
            begins.eq(nest.o.p.first[-1]),
            may.eq(ends.i.ready & (~begins | (claimed != 2))),
            self.request.payload.eq(nest.o.p.row),
            self.request.valid.eq(nest.o.valid & may),
            nest.o.ready.eq(self.request.ready & may),
            issue.eq(self.request.valid & self.request.ready),
            ends.i.payload.eq(nest.o.p.last[-1]),
            ends.i.valid.eq(issue),
            self.o.p.row.eq(self.data.payload),
            self.o.p.last.eq(ends.o.payload),
            self.o.valid.eq(self.data.valid & ends.o.valid),
            self.data.ready.eq(self.o.ready & ends.o.valid),
            ends.o.ready.eq(self.o.ready & self.data.valid),
        ]
        m.d.sync += claimed.eq(claimed + (issue & begins) - self.release)
        return m

"""Checks the error rows of every TRAIN of a list: all of their numbers must be finite.

It checks a row a clock; rows of later tasks are requested while rows of earlier tasks come.
"""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.arith.float32.format import WIDTH
from hw.fa3c.layouts import listed_task
from hw.fa3c.records import Task
from hw.fa3c.rows import ROW, ROW_WIDTH
from hw.nn.td_loss import is_finite
from hw.shell.ports import read_port
from hw.stream.queue import Queue

__all__ = ["ErrorRows"]

#: TRAINs whose rows may be requested and not yet checked.
_UNDER_WAY = 4


class ErrorRows(wiring.Component):
    """Finds the first TRAIN with a number in its error rows that is infinite or a NaN.

    Such a number has an exponent of all ones. All 16 words of a row are checked, also those beyond
    the outputs of the network.

    Parameters
    ----------
    config : Fa3cConfig

    Members
    -------
    clear : In(1)
        One clock: a new list begins.
    i : In(stream of ``listed_task``)
        All tasks of the list, which have passed all other checks. Only TRAINs have error rows.
    operands : In(64)
        Byte address of the buffer in which the error rows are.
    read : Out(read_port(512))
        Reads the error rows.
    done : Out(1)
        All error rows of the list are checked; high until ``clear``.
    broken : Out(1)
        Valid with ``done``: a number is not finite.
    detail : Out
        If ``broken``: position in the list of the first task that has such a number.
    """

    def __init__(self, config):
        self.config = config
        super().__init__(
            {
                "clear": In(1),
                "i": In(stream.Signature(listed_task(config))),
                "operands": In(64),
                "read": Out(read_port(ROW_WIDTH)),
                "done": Out(1),
                "broken": Out(1),
                "detail": Out(range(max(2, config.tasks))),
            }
        )

    def elaborate(self, platform):
        m = Module()
        task, request = self.i.p.task, self.read.request
        width = self.config.map_rows[-1]
        rows = Signal(range(self.config.steps * width + 1))
        expected = data.StructLayout({"rows": rows.shape(), "position": self.detail.shape()})
        m.submodules.queue = queue = Queue(expected, _UNDER_WAY)
        train, listed = task.kind == Task.TRAIN.value, Signal()
        m.d.comb += [
            rows.eq(task.count * width),
            request.p.address.eq(self.operands + task.operands),
            request.p.beats.eq(rows),
            request.valid.eq(self.i.valid & train & queue.i.ready),
            queue.i.p.rows.eq(rows),
            queue.i.p.position.eq(self.i.p.position),
            queue.i.valid.eq(request.valid & request.ready),
            self.i.ready.eq(~train | (request.ready & queue.i.ready)),
        ]
        with m.If(self.i.valid & self.i.ready & self.i.p.last):
            m.d.sync += listed.eq(1)

        beat, came = self.read.data, Signal.like(rows)
        words = (beat.p.data.word_select(n, WIDTH) for n in range(ROW))
        final = came == queue.o.p.rows - 1
        m.d.comb += [
            beat.ready.eq(queue.o.valid),
            queue.o.ready.eq(beat.valid & final),
            self.done.eq(listed & ~queue.o.valid),
        ]
        with m.If(beat.valid & beat.ready):
            m.d.sync += came.eq(Mux(final, 0, came + 1))
            with m.If(Cat(~is_finite(word) for word in words).any() & ~self.broken):
                m.d.sync += [self.broken.eq(1), self.detail.eq(queue.o.p.position)]
        with m.If(self.clear):
            m.d.sync += [listed.eq(0), self.broken.eq(0)]
        return m

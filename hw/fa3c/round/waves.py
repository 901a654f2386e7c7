"""The order of the work of RMSProp: updates of several units side by side, layer by layer.

For each parameter, the order of its updates is that of the list; only updates of different
parameters change places. So the last layers of a unit are updated before another unit has computed
the gradient of its first layers.
"""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.fa3c.layouts import update, updating_task
from hw.stream.queue import Queue
from hw.stream.ram import style_of

__all__ = ["Waves"]


class Waves(wiring.Component):
    """Collects tasks in waves, and issues the updates of one wave after the other.

    A wave is one SYNC, or a run of consecutive TRAINs on different units: a SYNC, or a second TRAIN
    on a unit, belongs to the next wave. A wave of TRAINs issues for each layer, the last layer
    first, one update for each TRAIN, in the order of the list.

    Parameters
    ----------
    config : Fa3cConfig

    Members
    -------
    i : In(stream of ``updating_task``)
        All TRAINs and SYNCs of a list; there is room for a whole list.
    closed : In(1)
        All tasks of the list have come.
    clear : In(1)
        One clock: a new list begins.
    o : Out(stream of ``update``)
        Work for RMSProp: a SYNC, or the update of one layer by one TRAIN. The next piece comes
        only after ``updated`` for the piece before.
    updated : In(1)
        One clock: RMSProp has finished the latest piece of ``o``.
    made : Out(snapshots)
        A bit for each snapshot: its SYNC in this list is done.
    busy : Out(1)
        High while a task has come, in an earlier clock, whose updates are not all finished.
    """

    def __init__(self, config):
        self.config = config
        super().__init__(
            {
                "i": In(stream.Signature(updating_task(config))),
                "closed": In(1),
                "clear": In(1),
                "o": Out(stream.Signature(update(config))),
                "updated": In(1),
                "made": Out(config.snapshots),
                "busy": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        units, layers = len(self.config.units), len(self.config.layers)
        entry, depth = self.i.payload.shape(), self.config.tasks
        m.submodules.queue = queue = Queue(entry, depth, style_of(depth))
        wiring.connect(m, wiring.flipped(self.i), queue.i)
        wave = Signal(data.ArrayLayout(entry, units), reset_less=True)
        count = Signal(range(units + 1))
        there = Signal(units)  # units that have a TRAIN in the wave
        index = Signal(range(max(2, units)))
        layer = Signal(range(max(2, layers)))
        entered, final = Signal(entry), Signal()
        list_ended = self.closed & (queue.level == 0)  # a deep queue shows a word late
        again = there.bit_select(queue.o.p.unit, 1)
        m.d.comb += [
            entered.eq(wave[index]),
            *(self.o.p[name].eq(entered[name]) for name, _ in entry),
            self.o.p.layer.eq(layer),
            final.eq(entered.sync | ((index == count - 1) & (layer == 0))),
        ]
        with m.FSM() as fsm:
            with m.State("COLLECT"):
                m.d.sync += [index.eq(0), layer.eq(layers - 1)]
                with m.If(queue.o.valid & ~again & ((count == 0) | ~queue.o.p.sync)):
                    m.d.comb += queue.o.ready.eq(1)
                    m.d.sync += [wave[count[: len(index)]].eq(queue.o.payload), count.eq(count + 1)]
                    with m.If(queue.o.p.sync):
                        m.next = "ISSUE"
                    with m.Else():
                        m.d.sync += there.bit_select(queue.o.p.unit, 1).eq(1)
                with m.Elif((queue.o.valid | list_ended) & (count != 0)):
                    m.next = "ISSUE"
            with m.State("ISSUE"):
                m.d.comb += self.o.valid.eq(1)
                with m.If(self.o.ready):
                    m.next = "WAIT"
            with m.State("WAIT"):
                with m.If(self.updated):
                    m.next = "ISSUE"
                    m.d.sync += index.eq(index + 1)
                    with m.If(index == count - 1):
                        m.d.sync += [index.eq(0), layer.eq(layer - 1)]
                    with m.If(entered.sync):
                        m.d.sync += self.made.bit_select(entered.snapshot, 1).eq(1)
                    with m.If(final):
                        m.d.sync += [count.eq(0), there.eq(0)]
                        m.next = "COLLECT"
            m.d.comb += self.busy.eq(~fsm.ongoing("COLLECT") | (count != 0) | (queue.level != 0))
        with m.If(self.clear):
            m.d.sync += self.made.eq(0)
        return m

"""A queue or a skid buffer between two sides that may do anything that a stream may."""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from formal.prove import given, holds
from formal.watch import Watch

__all__ = ["StreamTop", "kept", "stable"]


def stable(m, of, name):
    """1 unless the word that ``of`` offered in the clock before went away without being taken."""
    offered, word = Signal(name=f"{name}_offered"), Signal(of.payload.shape(), name=f"{name}_word")
    m.d.sync += [offered.eq(of.valid & ~of.ready), word.eq(of.payload)]
    same = Value.cast(word) == Value.cast(of.payload)
    return ~offered | (of.valid & same)


def kept(m, condition, clocks, name):
    """1 unless ``condition`` has held for more than ``clocks`` clocks on end, this one included."""
    count = Signal(range(clocks + 2), name=f"{name}_clocks")
    m.d.sync += count.eq(Mux(condition, Mux(count > clocks, count, count + 1), 0))
    return ~condition | (count < clocks)


class StreamTop(wiring.Component):
    """``unit`` repeats ``i`` on ``o``, one word after the other, and holds up to ``capacity``.

    ``latency``: clocks from a word's entry into the empty unit to its offer on ``o``; 0 where it is
    offered as it comes. ``level``: whether the unit has one.
    """

    def __init__(self, unit, capacity, latency, level=False):
        self.unit, self.capacity, self.latency, self.level = unit, capacity, latency, level
        word = stream.Signature(unit.shape)
        super().__init__({"i": In(word), "o": Out(word), "mark": In(1)})

    def elaborate(self, platform):
        m = Module()
        unit, i, o = self.unit, self.i, self.o
        m.submodules.unit = unit
        m.submodules.watch = watch = Watch(Shape.cast(unit.shape).width, self.capacity)
        wiring.connect(m, wiring.flipped(i), unit.i)
        wiring.connect(m, unit.o, wiring.flipped(o))
        m.d.comb += [
            watch.enter.eq(i.valid & i.ready),
            watch.entering.eq(i.payload),
            watch.leave.eq(o.valid & o.ready),
            watch.leaving.eq(o.payload),
            watch.mark.eq(self.mark),
        ]
        given(m, "i_is_stable", stable(m, i, "i") | ResetSignal())
        holds(m, "in_order", watch.right)
        held = (watch.held != 0) | (i.valid if self.latency == 0 else 0)
        holds(m, "offered_only_what_is_held", ~o.valid | held)
        holds(m, "o_is_stable", stable(m, o, "o"))
        hidden = kept(m, held & ~o.valid, max(0, self.latency - 1), "hidden")
        holds(m, "soon_offered", hidden)
        if self.level:
            holds(m, "level_is_count", unit.level == watch.held)
            holds(m, "ready_unless_full", i.ready == (watch.held != self.capacity))
        else:
            holds(m, "ready_when_empty", i.ready | (watch.held == self.capacity))
        return m

"""Lowest and highest number of each layer. Each lane keeps its own range while a pass is under way;
at its end the ranges are joined.
"""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.fixar.config import CELL_WIDTH

__all__ = ["NOTHING", "PassRange", "Ranges", "range_layout"]

_NUMBER = signed(CELL_WIDTH)

#: ``(low, high)`` where no number was seen.
NOTHING = (1 << (CELL_WIDTH - 1)) - 1, -1 << (CELL_WIDTH - 1)


def range_layout(slots):
    """A range, and the slot that it belongs to."""
    return data.StructLayout({"slot": range(slots), "low": _NUMBER, "high": _NUMBER})


class PassRange(wiring.Component):
    """The lowest and the highest number among the results of a pass.

    A pass is one matrix product of one layer, in one direction, for all samples of a core: FW, the
    outputs; DX, the errors of the inputs; DW, the gradients of the weights (``plan.Kind``). The
    numbers are the activations of a hidden layer (FW) or errors (DX). Other results, such as those
    of a DW, have no range, and no number of theirs comes.

    Free-running, a word a clock. ``o`` comes ``latency`` clocks after ``end``; until then no word
    may come, and until ``o`` is taken no other ``end``.

    Parameters
    ----------
    lanes : int
        Lanes of a word.
    slots : int
        How many ranges the learner keeps, of activations and of errors together: the sum of
        ``precision.slots``.

    Attributes
    ----------
    latency : int
        Clocks from ``end`` to ``o``.

    Members
    -------
    i : In({valid, keep: 2, lanes: [lanes] of 1, number: [lanes] of two signed(32)})
        A word of numbers. ``keep``: which of the two samples exist; ``lanes``: which lanes do.
    end : In(1), slot : In(range(slots))
        ``end``, one clock: the pass is over, all words have come. ``slot``: the pass's slot. A pass
        without numbers gives ``NOTHING``.
    o : Out(stream.Signature(range_layout(slots)))
        The range of the pass that has ended, and its slot.
    """

    def __init__(self, lanes, slots):
        self.lanes, self.slots = lanes, slots
        self.latency = 2 * lanes + 2
        numbers = data.ArrayLayout(data.ArrayLayout(_NUMBER, 2), lanes)
        word = {"valid": 1, "keep": 2, "lanes": data.ArrayLayout(1, lanes), "number": numbers}
        super().__init__(
            {
                "i": In(data.StructLayout(word)),
                "end": In(1),
                "slot": In(range(slots)),
                "o": Out(stream.Signature(range_layout(slots))),
            }
        )

    def elaborate(self, platform):
        m = Module()
        places = range(2 * self.lanes)
        fold, position = Signal(), Signal(range(2 * self.lanes))
        # Beyond what was seen: set when a pass is over, so that its first number is seen as any.
        lows = Array(Signal(_NUMBER, name=f"low_{k}", init=NOTHING[0]) for k in places)
        highs = Array(Signal(_NUMBER, name=f"high_{k}", init=NOTHING[1]) for k in places)
        low, high = (Signal(_NUMBER, name=name, reset_less=True) for name in ("low", "high"))
        last = Signal()
        m.d.comb += last.eq(fold & (position == 2 * self.lanes - 1))
        for k in places:
            lane, sample = divmod(k, 2)
            number, seen = self.i.number[lane][sample], Signal(name=f"seen_{k}")
            m.d.comb += seen.eq(self.i.valid & self.i.keep[sample] & self.i.lanes[lane])
            for edge, beyond, nothing in (
                (lows[k], number < lows[k], NOTHING[0]),
                (highs[k], number > highs[k], NOTHING[1]),
            ):
                with m.If(last):
                    m.d.sync += edge.eq(nothing)
                with m.Elif(seen & beyond):
                    m.d.sync += edge.eq(number)

        # One of them a clock, from a register.
        next_low, next_high = (Signal(_NUMBER, name=f"next_{name}") for name in ("low", "high"))
        fetched, done = Signal(), Signal()
        m.d.sync += [
            next_low.eq(lows[position]),
            next_high.eq(highs[position]),
            fetched.eq(fold),
            done.eq(last),
        ]
        with m.If(self.end):
            m.d.sync += [fold.eq(1), position.eq(0)]
            m.d.sync += [low.eq(NOTHING[0]), high.eq(NOTHING[1]), self.o.p.slot.eq(self.slot)]
        with m.Elif(fold):
            m.d.sync += [position.eq(position + 1), fold.eq(~last)]
        with m.If(fetched & (next_low < low)):
            m.d.sync += low.eq(next_low)
        with m.If(fetched & (next_high > high)):
            m.d.sync += high.eq(next_high)
        m.d.comb += [self.o.p.low.eq(low), self.o.p.high.eq(high)]
        with m.If(done):
            m.d.sync += self.o.valid.eq(1)
        with m.Elif(self.o.ready):
            m.d.sync += self.o.valid.eq(0)
        return m


class Ranges(wiring.Component):
    """Joins the ranges of all sources: the range of every slot since the last ``clear``.

    Sources take turns; a range is in its slot ``3 * sources`` clocks after it was offered.

    Parameters
    ----------
    sources, slots : int
        Units that offer ranges; slots, as of ``PassRange``.

    Members
    -------
    i : In(stream.Signature(range_layout(slots))).array(sources)
        A range and its slot, from each source.
    clear : In(1)
        One clock: set all slots to ``NOTHING``. No range may be under way in this clock.
    low, high : Out(signed(32)).array(slots)
        Lowest and highest number of each slot.
    """

    def __init__(self, sources, slots):
        self.sources, self.slots = sources, slots
        super().__init__(
            {
                "i": In(stream.Signature(range_layout(slots))).array(sources),
                "clear": In(1),
                "low": Out(_NUMBER, init=NOTHING[0]).array(slots),
                "high": Out(_NUMBER, init=NOTHING[1]).array(slots),
            }
        )

    def elaborate(self, platform):
        m = Module()
        turn, step = Signal(range(self.sources)), Signal(2)
        offered = Array(source.valid for source in self.i)[turn]
        payloads = Array(source.payload.as_value() for source in self.i)
        taken = Signal(range_layout(self.slots), reset_less=True)
        low, high = (
            Signal(_NUMBER, name=f"kept_{name}", reset_less=True) for name in ("low", "high")
        )
        m.d.comb += [source.ready.eq((step == 0) & (turn == k)) for k, source in enumerate(self.i)]
        m.d.sync += [
            low.eq(Array(self.low)[taken.slot]),
            high.eq(Array(self.high)[taken.slot]),
        ]
        with m.If(step == 0):
            m.d.sync += [taken.eq(payloads[turn]), step.eq(offered)]
        with m.Else():
            m.d.sync += step.eq(Mux(step == 2, 0, step + 1))
        with m.If((step == 2) | (step == 0) & ~offered):
            m.d.sync += turn.eq(Mux(turn == self.sources - 1, 0, turn + 1))
        for slot in range(self.slots):
            with m.If((step == 2) & (taken.slot == slot)):
                with m.If(taken.low < low):
                    m.d.sync += self.low[slot].eq(taken.low)
                with m.If(taken.high > high):
                    m.d.sync += self.high[slot].eq(taken.high)
            with m.If(self.clear):
                m.d.sync += [self.low[slot].eq(NOTHING[0]), self.high[slot].eq(NOTHING[1])]
        return m

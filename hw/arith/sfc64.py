"""SFC64: the pseudo-random generator of the card, one 64-bit number a clock.

The generator of NumPy's ``numpy.random.SFC64`` (C. Doty-Humphrey, PractRand), so that the twin is
NumPy itself: only additions, shifts and exclusive-ors, which cost no multiplier.
"""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["STATE_LAYOUT", "Sfc64"]

#: State in NumPy's order: ``SFC64().state["state"]["state"]``.
STATE_LAYOUT = data.StructLayout({"a": 64, "b": 64, "c": 64, "counter": 64})


class Sfc64(wiring.Component):
    """``number = a + b + counter``; a step then replaces all four words of the state at once:
    ``a`` by ``b ^ (b >> 11)``, ``b`` by ``c + (c << 3)``, ``c`` by ``rotl(c, 24) + number``, and
    ``counter`` by ``counter + 1``, all modulo 2^64.

    ``number`` is a register computed a step ahead, so no path holds two additions in a row.

    Members
    -------
    number : Out(64)
        The next random number; it stays until it is taken. Not valid in the clock after ``load``.
    next : In(1)
        Takes ``number``, one in each clock in which it is high; the number after it shows in the
        next clock. It must be low in the clock after ``load``.
    load : In(1), seed : In(STATE_LAYOUT)
        ``load`` replaces the state by ``seed``. If ``next`` is high in the same clock, it has no
        effect.
    state : Out(STATE_LAYOUT)
        The state from which ``number`` is computed.
    """

    def __init__(self):
        super().__init__(
            {
                "number": Out(64),
                "next": In(1),
                "load": In(1),
                "seed": In(STATE_LAYOUT),
                "state": Out(STATE_LAYOUT),
            }
        )

    def elaborate(self, platform):
        m = Module()
        state, after = self.state, Signal(STATE_LAYOUT)
        m.d.comb += [
            after.a.eq(state.b ^ (state.b >> 11)),
            after.b.eq(state.c + (state.c << 3)),
            after.c.eq(state.c.rotate_left(24) + self.number),
            after.counter.eq(state.counter + 1),
        ]
        with m.If(self.load):
            m.d.sync += state.eq(self.seed)
        with m.Elif(self.next):
            m.d.sync += [state.eq(after), self.number.eq(after.a + after.b + after.counter)]
        with m.Else():
            m.d.sync += self.number.eq(state.a + state.b + state.counter)
        return m

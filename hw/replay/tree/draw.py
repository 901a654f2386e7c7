"""Random positions in the priority mass: uniform or one from each of B equal strata.

It never stalls: ``fraction`` belongs to the ``take`` that came ``LATENCY`` clocks before. Interval
1.
"""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.arith.multiply import Multiply
from hw.arith.sfc64 import STATE_LAYOUT, Sfc64
from hw.replay.config import DRAW_LATENCY, FRACTION_WIDTH
from hw.stream.delay import delay

__all__ = ["Draw"]


class Draw(wiring.Component):
    """``fraction = k * w + floor(u * w / 2**48)``, w = ``stratum_width``, u of 0..2**48 - 1.

    ``fraction`` / 2**48 is a position in [0, 1); k counts the draws since ``first``. With w = 2**48
    every draw is uniform over the whole (k * w is 0 modulo 2**48); with w = floor(2**48 / B), draw
    k falls into stratum k of B (Schaul et al. 2016, appendix B.2.1).

    Members
    -------
    take, first : In(1)
        ``take``: draw now. ``first``, with ``take``: this draw has k = 0.
    stratum_width : In(49)
        w, as it is in the clock of ``take``.
    fraction : Out(48)
        The position drawn, ``LATENCY`` clocks after ``take``.
    load : In(1), seed : In(STATE_LAYOUT), state : Out(STATE_LAYOUT)
        The state of the random generator ``Sfc64`` (a, b, c, counter) becomes ``seed`` at the end
        of a clock with ``load``; ``state`` is the present one.
    """

    LATENCY = DRAW_LATENCY

    def __init__(self):
        self.multiply = Multiply(FRACTION_WIDTH, FRACTION_WIDTH + 1)
        super().__init__(
            {
                "take": In(1),
                "first": In(1),
                "stratum_width": In(FRACTION_WIDTH + 1),
                "fraction": Out(FRACTION_WIDTH),
                "load": In(1),
                "seed": In(STATE_LAYOUT),
                "state": Out(STATE_LAYOUT),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.random = random = Sfc64()
        m.submodules.multiply = multiply = self.multiply
        stratum = Signal(FRACTION_WIDTH)  # k * stratum_width modulo 2**48
        base = Signal(FRACTION_WIDTH)
        m.d.comb += [
            random.next.eq(self.take),
            random.load.eq(self.load),
            random.seed.eq(self.seed),
            self.state.eq(random.state),
            multiply.a.eq(random.number[-FRACTION_WIDTH:]),
            multiply.b.eq(self.stratum_width),
            base.eq(Mux(self.first, 0, stratum)),
        ]
        with m.If(self.take):
            m.d.sync += stratum.eq(base + self.stratum_width)
        s_base = delay(m, base, multiply.latency, name="s_base")
        m.d.sync += self.fraction.eq(s_base + multiply.product[FRACTION_WIDTH:])
        return m

"""Gaussian numbers, each the sum of twelve uniform numbers from SFC64.

SFC64 gives a number a clock, hence a Gaussian number every three clocks.
"""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hw.arith.fixed import SQ
from hw.arith.sfc64 import Sfc64

__all__ = ["NOISE_FORMAT", "Noise"]

#: Of a number; the standard deviation is 1.
NOISE_FORMAT = SQ(4, 16)

_WORDS, _PARTS = 3, 4  # numbers of the generator, and parts of each
_MEAN = _WORDS * _PARTS * 0xFFFF // 2
_DROPPED = 12


class Noise(wiring.Component):
    """``g = sum(parts) - 6 * 65535`` in units of 2^-16: twelve parts of 16 bits, from three
    numbers.

    The generator starts in state (seed, seed, seed, 1) and drops twelve numbers.

    Attributes
    ----------
    LATENCY : int
        Clocks from ``load`` to the first number.
    INTERVAL : int
        Clocks from one number to the next, if they are taken at once.

    Members
    -------
    load : In(1), seed : In(64)
        ``load``, one clock: start again from ``seed``; numbers on their way are dropped.
    o : Out(stream.Signature(signed(20)))
        The numbers g, in units of 2^-16. There is none before the first ``load``; then they come
        without end.
    """

    # The state is loaded, the first number is there; after those that are dropped the last of three
    # comes; its parts are added, then the three.
    LATENCY = 2 + _DROPPED + _WORDS - 1 + 2
    INTERVAL = _WORDS

    def __init__(self):
        super().__init__(
            {
                "load": In(1),
                "seed": In(64),
                "o": Out(stream.Signature(NOISE_FORMAT.shape)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.generator = generator = Sfc64()
        loaded, running = Signal(), Signal()
        dropped, word = Signal(range(_DROPPED + 1)), Signal(range(_WORDS))
        advance, take = Signal(), Signal()
        m.d.comb += [
            advance.eq(~self.o.valid | self.o.ready),
            take.eq(running & advance),
            generator.load.eq(self.load),
            generator.next.eq(take),
            generator.seed.a.eq(self.seed),
            generator.seed.b.eq(self.seed),
            generator.seed.c.eq(self.seed),
            generator.seed.counter.eq(1),
        ]
        # The first number of a new state takes a clock.
        m.d.sync += loaded.eq(self.load)
        with m.If(loaded):
            m.d.sync += running.eq(1)

        s1_valid, s1_first, s1_last = Signal(), Signal(), Signal()
        parts = [generator.number.word_select(k, 16) for k in range(_PARTS)]
        s1_sum = Signal(range(_PARTS * 0xFFFF + 1), reset_less=True)
        total = Signal(NOISE_FORMAT.shape, reset_less=True)
        with m.If(advance):
            keep = dropped == _DROPPED
            m.d.sync += [
                s1_valid.eq(running & keep),
                s1_first.eq(word == 0),
                s1_last.eq(word == _WORDS - 1),
                s1_sum.eq((parts[0] + parts[1]) + (parts[2] + parts[3])),
                self.o.valid.eq(s1_valid & s1_last),
            ]
            with m.If(running & ~keep):
                m.d.sync += dropped.eq(dropped + 1)
            with m.If(running & keep):
                m.d.sync += word.eq(Mux(word == _WORDS - 1, 0, word + 1))
            with m.If(s1_valid):
                m.d.sync += total.eq(Mux(s1_first, -_MEAN, total) + s1_sum)
        with m.If(self.load):
            m.d.sync += [running.eq(0), dropped.eq(0), word.eq(0), s1_valid.eq(0)]
            m.d.sync += self.o.valid.eq(0)
        m.d.comb += self.o.payload.eq(total)
        return m

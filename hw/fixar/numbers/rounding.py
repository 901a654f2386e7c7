"""Shift right by 0 to 16 places, round half up, clip: four register stages, built for few LUTs.

Shifts by 0 to 15 are two stages of multiplexers of four. The shift by 16 passes them in registers
and joins at the adder that rounds. Overflow seen in the upper bits forces the result in stage 2.
Overflow by the rounding alone shows in the adder: stage 4 replaces a result that is too large,
stage 3 clears one that is too low.
"""

from dataclasses import dataclass

from amaranth import *
from amaranth.lib import data

from hw.stream.delay import delay

__all__ = ["LARGEST_SHIFT", "Rounding"]

LARGEST_SHIFT = 16

_STEP = 4


@dataclass(frozen=True)
class Rounding:
    """``clip(floor(x * 2**-(1 + shift) + 1/2))``, in one of two formats for each number.

    low, high : the wide format has ``low + high`` bits and a sign, the narrow one ``low`` bits and
        a sign
    cut : of how many of a result's lowest bits a number may say that they are 0, and the bit above
        them the last that is rounded to, half up
    """

    low: int
    high: int
    cut: int = 0

    LATENCY = 4

    @property
    def width(self):
        """Bits of a result."""
        return self.low + self.high + 1

    def layout(self, width):
        """The layout of the controls, for an ``x`` of ``width`` bits."""
        beyond = width - (self.low + 2)
        return data.StructLayout(
            {"coarse": 2, "fine": 2, "whole": 1, "narrow": 1, "beyond": beyond, "cut": self.cut}
        )

    def controls(self, m, width, shift, narrow, *, name, checked=1, cut=0):
        """Returns a list: the controls of now and of 1, 2, 3 clocks ago, shared by all numbers of a
        clock.

        shift : 0 to 16; narrow : whether the format is the narrow one; checked : whether anything
        is clipped; cut : a one for each of the lowest bits that are 0.
        """
        layout = self.layout(width)
        now = Signal(layout, name=f"{name}_0")
        first = self.low + 2
        limit = shift + Mux(narrow, first, self.width + 1)
        m.d.comb += [
            now.coarse.eq(shift[2:4]),
            now.fine.eq(shift[0:2]),
            now.whole.eq(shift[4]),
            now.narrow.eq(narrow),
            now.cut.eq(cut),
            # A one for each bit from ``first`` on that must be as the sign is, as far as is known
            # before the number is rounded: but for the lowest such.
            now.beyond.eq(Cat(checked & (first + k >= limit) for k in range(len(now.beyond)))),
        ]
        stages = [now]
        for clock in range(1, self.LATENCY):
            stages.append(Signal(layout, name=f"{name}_{clock}", reset_less=True))
            m.d.sync += stages[clock].eq(stages[clock - 1])
        return stages

    def whole(self, x, sign):
        """``width + 1`` bits of ``x``, shifted by 16."""
        return _extended(x[LARGEST_SHIFT:], sign, self.width + 1)

    def round(self, m, x, sign, stages, *, name, whole=None, zero=None, different=()):
        """``(result, clipped)``: ``result`` comes ``LATENCY`` clocks later, ``clipped`` one clock
        earlier.

        x, sign : Value
            ``x``: bits from the one that is rounded away without a shift. ``sign``: their highest
            bit, or one above.
        stages : list
            ``controls``.
        whole : Value
            The result of a shift by 16, if it does not follow from ``x``.
        zero : Value
            Forces the result to 0; ``clipped`` is not changed by it.
        different : list of Value
            If one of these is 1, the number is beyond the format, whatever ``x`` is.
        """
        first, second, third, last = stages
        width, low = self.width, self.low

        def register(value, name_):
            return delay(m, value, 1, name=f"{name}_{name_}")

        # Stage 1: coarse; which bits are not as the sign is.
        places = [x[k : k + width + _STEP] for k in range(0, LARGEST_SHIFT, _STEP)]
        s1_x = register(_choice(first.coarse, places, sign, width + _STEP), "s1_x")
        if whole is None:
            whole = self.whole(x, sign)
        s1_whole, s1_sign = register(whole, "s1_whole"), register(sign, "s1_sign")
        beyond = (x[low + 2 :] ^ sign.replicate(len(first.beyond))) & first.beyond
        pairs = [beyond[k : k + 2].any() for k in range(0, len(beyond), 2)]
        s1_different = register(Cat(*pairs, *different), "s1_different")

        # Stage 2: fine; what the bits are forced to.
        places = [s1_x[k : k + width + 1] for k in range(_STEP)]
        s2_x = register(_choice(second.fine, places, s1_sign, width + 1), "s2_x")
        s2_whole, s2_sign = register(s1_whole, "s2_whole"), register(s1_sign, "s2_sign")
        far = Signal(name=f"{name}_far")
        m.d.comb += far.eq(s1_different.any())
        zeros, ones = far & s1_sign, far & ~s1_sign
        s2_far, s2_low = register(far, "s2_far"), register(Cat(zeros, ones), "s2_low")
        high = Mux(second.narrow, Cat(ones, zeros), Cat(zeros, ones))
        s2_high, s2_top = register(high, "s2_high"), register(Cat(ones, zeros), "s2_top")

        # Stage 3: round; compare the place of the sign with the sign.
        chosen = Signal(width + 1, name=f"{name}_chosen")
        total = Signal(width, name=f"{name}_total")
        bits, place, rounded_place = chosen[1:], Signal(name=f"{name}_place"), Signal()
        # Ones in all places below the last, and the carry, add half of the last place.
        ones = Cat(third.cut[1:], Const(0, low))[:low]
        forced = Cat(
            _forced(bits[:low], s2_low) | ones,
            _forced(bits[low:-1], s2_high),
            _forced(bits[-1:], s2_top),
        )
        large, small = Signal(name=f"{name}_large"), Signal(name=f"{name}_small")
        m.d.comb += [
            chosen.eq(Mux(third.whole, s2_whole, s2_x)),
            total.eq(forced + ((chosen[0] | third.cut[:1].any()) & ~s2_far)),
            place.eq(Mux(third.narrow, bits[low], bits[-1])),
            rounded_place.eq(Mux(third.narrow, total[low], total[-1])),
            large.eq(~s2_sign & ~s2_far & (place | rounded_place)),
            small.eq(s2_sign & ~s2_far & ~place),
        ]
        # Not small, if rounding takes it to the lowest number; that has the same bits.
        s3_clipped = register(s2_far | large | small & ~rounded_place, "s3_clipped")
        kept = Const(1) if zero is None else ~delay(m, zero, 2, name=f"{name}_zero")
        s3_large = register(large & kept, "s3_large")
        s3_low = register(Mux(kept & ~small, total[:low], 0), "s3_low")
        lowest = Cat(third.narrow.replicate(self.high), Const(1, 1))
        s3_high = register(Mux(kept, Mux(small, lowest, total[low:]), 0), "s3_high")

        # Stage 4.
        largest = Cat(Const(-1, low), (~last.narrow).replicate(self.high), Const(0, 1))
        kept = ~Cat(last.cut, Const(0, width))[:width]
        result = Mux(s3_large, largest, Cat(s3_low, s3_high)) & kept
        return register(result, "result"), s3_clipped


def _extended(bits, sign, width):
    """Sign-extends to ``width`` bits."""
    return Cat(bits, sign.replicate(width - len(bits)))[:width]


def _choice(select, values, sign, width):
    a, b, c, d = (_extended(value, sign, width) for value in values)
    return Mux(select[1], Mux(select[0], d, c), Mux(select[0], b, a))


def _forced(bits, zeros_ones):
    zeros, ones = (bit.replicate(len(bits)) for bit in zeros_ones)
    return bits & ~zeros | ones

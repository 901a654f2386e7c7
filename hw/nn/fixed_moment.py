"""A moment of an optimizer in fixed arithmetic: ``new = decay * old + gained``, free-running.

Words are binary32 numbers without infinities, NaNs and subnormals: a word with an exponent of 0 is
zero. So memory and images hold moments in the same form as with binary32 arithmetic.
"""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.arith.float32.format import FIELDS, PRECISION, WIDTH
from hw.nn.normalise import leading, normalise
from hw.stream.delay import delay

__all__ = ["GUARD", "SUM_WIDTH", "FixedMoment"]

#: Bits of a sum below the mantissa of a word.
GUARD = 4
SUM_WIDTH = PRECISION + GUARD

#: Bits of the mantissa by which a loss is multiplied, and bits of the product below those of a sum.
_LOSSY = 17
_LOSS_DROP = _LOSSY - GUARD


class FixedMoment(wiring.Component):
    """``new = old - loss * old + gained``, rounded to a word, half away from zero. ``old`` is the
    number in ``word``.

    ``loss * old`` uses the upper 16 bits of the mantissa of ``old``, with a 1 behind them: its
    relative error is at most 2^-16, of either sign. In the sum of the two numbers, bits of the
    smaller one below 2^-28 of the larger are dropped. ``new`` is 0 if it would be below 2^-125, or
    if one of the numbers is 0 and the sum is too small for a word.

    Parameters
    ----------
    is_signed : bool
        Whether the moment has a sign. If not, no number is negative, and ``loss`` is at most 1/2 if
        ``kept``.

    Members
    -------
    word : In(32)
        The old word.
    kept : In(1)
        If 0, the old word counts as 0.
    loss : In(24)
        1 - decay, 24 fraction bits, below 1.
    shift : In(7), origin : In(signed(10))
        ``origin - shift`` is the biased exponent of the gained number, if its leading one is at the
        top of ``gained``. ``shift`` comes ``gained_clock - 1`` clocks after ``word``.
    gained : In(28), negative : In(1), nothing : In(1)
        The gained number, ``gained_clock`` clocks after ``word``. ``gained``: its magnitude, which
        is at least 2^25 unless it is 0. ``negative``: 1 if the number is below 0. ``nothing``: 1 if
        it is 0.
    new : Out(32)
        ``latency`` clocks after ``word``.
    """

    INTERVAL = 1
    #: Clocks from ``word`` to ``gained``, and to ``new``, of a signed and of an unsigned moment.
    SIGNED, UNSIGNED = (4, 10), (5, 9)

    def __init__(self, is_signed):
        self.is_signed = is_signed
        self.gained_clock, self.latency = self.SIGNED if is_signed else self.UNSIGNED
        super().__init__(
            {
                "word": In(WIDTH),
                "kept": In(1),
                "loss": In(PRECISION),
                "shift": In(7),
                "origin": In(signed(10)),
                "gained": In(SUM_WIDTH),
                "negative": In(1),
                "nothing": In(1),
                "new": Out(WIDTH),
            }
        )

    def elaborate(self, platform):
        m = Module()
        kept, sign, exponent, distance = self._kept(m)
        total, greater = self._sum(m, kept, sign, exponent, distance)
        if self.is_signed:
            self._round_signed(m, total, greater, sign)
        else:
            self._round(m, total, greater)
        return m

    def _kept(self, m):
        """``old - loss * old``, its sign, its exponent, and how far this exponent is above that of
        the gained number; all in the clock of ``gained``."""
        word = delay(m, self.word, self.gained_clock - 4, name="word")
        fields = data.View(FIELDS, word)
        exponent = Signal(8)
        m.d.comb += exponent.eq(Mux(self.kept, fields.exponent, 0))
        mantissa = Cat(fields.fraction, C(1, 1))
        rounded = Cat(C(1, 1), mantissa[-_LOSSY + 1 :])
        lost = Signal(PRECISION + _LOSSY, reset_less=True)
        s1_mantissa = Signal(PRECISION, reset_less=True)
        s1_any = Signal(reset_less=True)
        s2_kept = Signal(SUM_WIDTH, reset_less=True)
        less = (s1_mantissa << GUARD) - (lost >> _LOSS_DROP)
        above = Signal(signed(10), reset_less=True)
        distance = Signal(signed(10), reset_less=True)
        m.d.sync += [
            lost.eq(self.loss * rounded),
            s1_mantissa.eq(mantissa),
            s1_any.eq(exponent.any()),
            s2_kept.eq(Mux(s1_any, less, 0)),
            above.eq(exponent - self.origin),
            distance.eq(delay(m, above, 2, name="above") + self.shift),
        ]
        return (
            delay(m, s2_kept, 2, name="kept"),
            delay(m, fields.sign, 4, name="sign"),
            delay(m, exponent, 4, name="exponent"),
            distance,
        )

    def _sum(self, m, kept, sign, exponent, distance):
        """Three clocks later: the sum, and the exponent of its second highest bit."""
        old = ~distance[-1] | self.nothing
        flip = Const(0, 1)
        if self.is_signed:
            flip = Signal()
            m.d.comb += flip.eq((self.negative ^ sign) & ~self.nothing)
        # The complement of a negative distance is one too small, so ``kept`` is shifted once more.
        amount = distance[:5] ^ (~old).replicate(5)
        far = distance[5:-1] != distance[-1].replicate(len(distance) - 6)
        gained = Cat(self.gained ^ flip.replicate(SUM_WIDTH), flip).as_signed()
        small = Mux(old, gained, kept >> 1)
        s1_small = Signal(signed(SUM_WIDTH + 1), reset_less=True)
        s2_small = Signal(signed(SUM_WIDTH + 1), reset_less=True)
        s1_large = Signal(signed(SUM_WIDTH + 1), reset_less=True)
        total = Signal(signed(SUM_WIDTH + 2), reset_less=True)
        s1_amount = Signal(3, reset_less=True)
        s1_far = Signal(reset_less=True)
        greater = Signal(signed(10), reset_less=True)
        m.d.sync += [
            s1_small.eq(small >> Cat(C(0, 3), amount[3:])),
            s1_large.eq(Mux(old, kept, gained)),
            s1_amount.eq(amount[:3]),
            s1_far.eq(far),
            s2_small.eq(Mux(s1_far, 0, s1_small >> s1_amount)),
            total.eq(delay(m, s1_large, 1, name="large") + s2_small),
            greater.eq(exponent - Mux(old, 0, distance)),
        ]
        return total, delay(m, greater, 2, name="greater")

    def _round_signed(self, m, total, greater, sign):
        below = total[-1]
        y = total[: SUM_WIDTH + 1] ^ below.replicate(SUM_WIDTH + 1)
        normal, shift = normalise(m, y, below, steps=(8, 2), width=PRECISION + 2, name="normal")
        exponent = Signal(signed(10), reset_less=True)
        m.d.sync += exponent.eq(delay(m, greater, 1, name="greatest") - (shift << 1))
        top = normal[-1]
        mantissa = Mux(top, normal[1:], normal[:-1])
        lost = (exponent < 1) | ~normal[-2:].any()
        negative = delay(m, sign, 3, name="old_sign") ^ below
        self._word(m, delay(m, negative, 2, name="new_sign"), exponent, top, mantissa, lost)

    def _round(self, m, total, greater):
        value = total[: SUM_WIDTH + 1]
        digit = leading(value, 1)
        top = len(value)
        windows = [value[top - k - PRECISION - 1 : top - k] for k in range(4)]
        low, high = Mux(digit[0], windows[1], windows[0]), Mux(digit[0], windows[3], windows[2])
        lost = (greater < 3) | ~value[-4:].any()
        exponent = Signal(signed(10))
        m.d.comb += exponent.eq(greater - 2)
        self._word(m, Const(0, 1), exponent, ~digit, Mux(digit[1], high, low), lost)

    def _word(self, m, sign, exponent, more, mantissa, lost):
        """The word with exponent ``exponent + more``; the lowest bit of ``mantissa`` rounds it."""
        # The lowest bits carry if both are 1, which rounds up; a carry out of the fraction goes
        # into the exponent.
        base = Cat(C(1, 1), mantissa[1:PRECISION], exponent[:8])
        addend = Cat(mantissa[0], C(0, PRECISION - 1), more)
        new = Signal(WIDTH, reset_less=True)
        m.d.sync += new.eq(Mux(lost, 0, Cat((base + addend)[1:WIDTH], sign)))
        m.d.comb += self.new.eq(new)

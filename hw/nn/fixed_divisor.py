"""The divisor of a step in fixed arithmetic, and its reciprocal: ``1 / (sqrt(second) + floor)``.

Interval 1, free-running; latency 9.
"""

from decimal import Context, Decimal
from functools import cache

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.arith.float32.format import PRECISION
from hw.arith.interpolate import Interpolate, Table
from hw.arith.multiply import B_LIMB
from hw.nn.fixed_coefficients import FLOOR_WIDTH
from hw.stream.delay import delay

__all__ = ["FixedDivisor", "reciprocal_table", "root_table"]

_SEGMENTS = 512
_ROOT_POINT, _RECIPROCAL_POINT = 21, 22
_CONTEXT = Context(prec=40)


@cache
def root_table():
    """The ``Table`` of sqrt(v) for v in 1..4, in UQ(1, 19), which is at most the true root.

    Its argument has 24 bits: x, the lower 23 bits, and a top bit. If the top bit is 0, v = 1 + x /
    2^23; if it is 1, v = 2 + x / 2^22.
    """
    half = 1 << (_ROOT_POINT - FLOOR_WIDTH)
    whole = _SEGMENTS // 2
    values = [Decimal(1) + Decimal(k) / whole for k in range(whole)]
    values += [2 * value for value in [*values, Decimal(2)]]
    points = tuple(
        int(_CONTEXT.sqrt(value) * (1 << _ROOT_POINT) + Decimal("0.5")) - half for value in values
    )
    remainder_width = PRECISION - 9
    drop = remainder_width + _ROOT_POINT - (FLOOR_WIDTH - 1)
    return Table(points=points, remainder_width=remainder_width, drop=drop)


@cache
def reciprocal_table():
    """The ``Table`` of 1 / d in UQ(0, 17), for d in 1..2; results are below 1. For the argument x,
    which has 19 bits, d = 2 - (x + 1) / 2^19."""
    remainder_width = FLOOR_WIDTH - 1 - 9
    unit = 1 << (FLOOR_WIDTH - 1)
    points = [
        int(Decimal(unit << _RECIPROCAL_POINT) / (2 * unit - (k << remainder_width) - 1))
        for k in range(_SEGMENTS + 1)
    ]
    drop = _RECIPROCAL_POINT - B_LIMB
    points[-1] = (1 << _RECIPROCAL_POINT) - (1 << drop)
    return Table(points=tuple(points), remainder_width=remainder_width, drop=remainder_width + drop)


class FixedDivisor(wiring.Component):
    """``1 / (sqrt(second) + floor)``, which is ``reciprocal * 2**(127 - exponent - 17)``. A new
    pair may enter in every clock; there is no back-pressure.

    Relative errors: of the root, -2^-18.5 to 0; of the sum, which drops bits below 2^-19 of its
    value, -2^-18 to 0; of the reciprocal, -2^-16.4 to +2^-16.9.

    Members
    -------
    second : In(31)
        The second moment: a word of ``FixedMoment`` (binary32) without its sign bit.
    floor : In(20), floor_exponent : In(8)
        Mantissa with its leading one, and biased exponent, of a binary32 floor above 0. Steady.
    reciprocal : Out(17)
        ``LATENCY`` clocks later: 2^17 / d, where d in [1, 2) is the mantissa of the sum. The top
        bit is set.
    exponent : Out(9)
        In the same clock: the biased exponent of the sum.
    """

    INTERVAL = 1
    LATENCY = 2 * Interpolate.LATENCY + 3

    def __init__(self):
        super().__init__(
            {
                "second": In(31),
                "floor": In(FLOOR_WIDTH),
                "floor_exponent": In(8),
                "reciprocal": Out(B_LIMB),
                "exponent": Out(9),
            }
        )

    def elaborate(self, platform):
        m = Module()
        fraction, biased = self.second[: PRECISION - 1], self.second[PRECISION - 1 :]
        # The bias is odd: an even exponent field means an odd exponent, and then v is 2 or more.
        root = self._look_up(m, root_table(), Cat(fraction, ~biased[0]), "root")
        s1_exponent = Signal(8, reset_less=True)
        s1_zero = Signal(reset_less=True)
        s2_distance = Signal(signed(9), reset_less=True)
        m.d.sync += [
            s1_exponent.eq(((biased + 1) >> 1) + 63),
            s1_zero.eq(~biased.any()),
            s2_distance.eq(s1_exponent - self.floor_exponent),
        ]
        s3_distance = delay(m, s2_distance, 1, name="distance")
        s3_zero = delay(m, s1_zero, 2, name="zero")
        s3_exponent = delay(m, s1_exponent, 2, name="root_exponent")

        # Align the smaller number. The complement of a negative distance is one too small, so the
        # root is shifted by one more before.
        rooted = Signal()
        m.d.comb += rooted.eq(~s3_distance[-1] & ~s3_zero)
        amount = s3_distance[:5] ^ s3_distance[-1].replicate(5)
        far = s3_distance[5:-1] != s3_distance[-1].replicate(len(s3_distance) - 6)
        small = Mux(rooted, self.floor, root >> 1)
        s4_small = Signal(FLOOR_WIDTH, reset_less=True)
        s5_small = Signal(FLOOR_WIDTH, reset_less=True)
        s4_large = Signal(FLOOR_WIDTH, reset_less=True)
        s4_amount = Signal(3, reset_less=True)
        s4_far = Signal(reset_less=True)
        s4_exponent = Signal(8, reset_less=True)
        s6_sum = Signal(FLOOR_WIDTH + 1, reset_less=True)
        carry = s6_sum[-1]
        divisor = Mux(carry, s6_sum[1:-1], s6_sum[:-2])
        s7_exponent = Signal(9, reset_less=True)
        m.d.sync += [
            s4_small.eq(small >> Cat(C(0, 3), amount[3:])),
            s4_large.eq(Mux(rooted, root, self.floor)),
            s4_amount.eq(amount[:3]),
            s4_far.eq(far | s3_zero),
            s4_exponent.eq(Mux(rooted, s3_exponent, self.floor_exponent)),
            s5_small.eq(Mux(s4_far, 0, s4_small >> s4_amount)),
            s6_sum.eq(delay(m, s4_large, 1, name="large") + s5_small),
            s7_exponent.eq(delay(m, s4_exponent, 2, name="exponent") + carry),
        ]
        m.d.comb += [
            self.reciprocal.eq(self._look_up(m, reciprocal_table(), ~divisor, "reciprocal")),
            self.exponent.eq(delay(m, s7_exponent, 2, name="divisor_exponent")),
        ]
        return m

    def _look_up(self, m, table, x, name):
        m.submodules[f"{name}_table"] = unit = Interpolate(table)
        m.d.comb += [unit.i.p.x.eq(x), unit.i.valid.eq(1), unit.o.ready.eq(1)]
        return unit.o.p.value

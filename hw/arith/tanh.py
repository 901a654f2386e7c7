"""Hyperbolic tangent of binary32 and of fixed point: one table for both, interval 1.

``tanh(x) = x * ratio(|x|)``, where ``ratio(x) = tanh(x) / x`` falls from 1 and is smooth, so that a
relative error at 0 is an absolute one. Seven stages find the ratio (align, table, its register,
curve, slope, product, ratio); then binary32 needs one to normalise and a multiplier (latency 13,
four DSP blocks), fixed point one to multiply and one to round (latency 9, three DSP blocks).
"""

from dataclasses import dataclass
from decimal import Context, Decimal
from functools import cache

import numpy as np
from amaranth import *
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.arith.fixed import UQ, FixedFormat
from hw.arith.float32.format import BIAS, PRECISION, WIDTH, decode
from hw.arith.float32.multiply import Float32Multiply
from hw.arith.float32.unit import Float32Unit
from hw.comparison import at_least
from hw.errors import UsageError
from hw.stream.delay import delay

__all__ = ["LIMIT", "VALUE_FORMAT", "X_FORMAT", "Tanh", "TanhFixed", "TanhTable", "tanh_table"]

#: From here on the result is 1: ``1 - tanh(8) < 2**-22``.
LIMIT = 8
#: What the table is looked up with, and a ratio.
X_FORMAT = UQ(3, 23)
VALUE_FORMAT = UQ(1, 26)

_INDEX_WIDTH = 9
_GUARD = 2
_RATIO_STAGES = 7
#: A ratio may be the wide operand of a DSP block, the number the narrow one.
_NARROW = 18


@dataclass(frozen=True)
class TanhTable:
    """``tanh(x) / x`` for 0 <= x < 8, as a parabola in each of 512 segments of equal length.

    In segment ``index`` the ratio is ``(base - slope * t + curve * t**2) * 2**-guard``, raw of
    VALUE_FORMAT, where ``x`` is raw of X_FORMAT, ``x = index * 2**rest_width + rest`` and
    ``t = rest * 2**-rest_width``. Each parabola goes through both ends and the middle of its
    segment. ``base``, ``slope`` and ``curve`` are int64 arrays of 512.
    """

    base: np.ndarray
    slope: np.ndarray
    curve: np.ndarray
    rest_width: int = X_FORMAT.width - _INDEX_WIDTH
    guard: int = _GUARD

    @property
    def layout(self):
        """The layout of the three numbers of a segment, in one word of the ROM."""
        return data.StructLayout(
            {
                name: Shape.cast(range(int(values.min()), int(values.max()) + 1))
                for name, values in (
                    ("base", self.base),
                    ("slope", self.slope),
                    ("curve", self.curve),
                )
            }
        )


@cache
def tanh_table():
    """The ``TanhTable`` that all units share; its points are correctly rounded."""
    context = Context(prec=40)
    unit = 1 << (VALUE_FORMAT.fraction + _GUARD)
    halves = 2 << _INDEX_WIDTH
    points = [unit]
    for k in range(1, halves + 1):
        x = Decimal(k * LIMIT) / halves
        tanh = 1 - context.divide(Decimal(2), context.exp(2 * x) + 1)
        points.append(int(context.divide(tanh, x) * unit + Decimal("0.5")))
    points = np.array(points, dtype=np.int64)
    first, middle, last = points[:-2:2], points[1::2], points[2::2]
    return TanhTable(
        base=first,
        slope=3 * first - 4 * middle + last,
        curve=2 * (first - 2 * middle + last),
    )


def _ratio(m, x, advance):
    """The ratio at ``x`` in a register, six clocks later."""
    table = tanh_table()
    rest_width = table.rest_width
    m.submodules.rom = rom = memory.Memory(
        shape=table.layout,
        depth=len(table.base),
        init=[
            {"base": int(base), "slope": int(slope), "curve": int(curve)}
            for base, slope, curve in zip(table.base, table.slope, table.curve, strict=True)
        ],
    )
    read = rom.read_port()
    m.d.comb += [read.en.eq(advance), read.addr.eq(x[rest_width:])]
    s3_rest = delay(m, x[:rest_width], 2, name="rest", enable=advance)
    s5_rest = delay(m, s3_rest, 2, name="s3_rest", enable=advance)

    s3_word = Signal(table.layout, reset_less=True)
    s4_product = Signal(signed(len(s3_word.curve) + rest_width), reset_less=True)
    s4_slope = delay(m, s3_word.slope, 1, name="slope", enable=advance)
    # Never below zero: the ratio falls.
    s5_slope = Signal(len(s3_word.slope) + 1, reset_less=True)
    s6_product = Signal(len(s5_slope) + rest_width, reset_less=True)
    s6_base = delay(m, s3_word.base, 3, name="base", enable=advance)
    total = Signal(len(s6_base))
    s7_value = Signal(VALUE_FORMAT.width, reset_less=True)
    m.d.comb += total.eq(s6_base - (s6_product >> rest_width))
    with m.If(advance):
        m.d.sync += [
            s3_word.eq(read.data),
            s4_product.eq(s3_word.curve * s3_rest),
            s5_slope.eq(s4_slope - (s4_product >> rest_width)),
            s6_product.eq(s5_slope * s5_rest),
            s7_value.eq(total[_GUARD:]),
        ]
    return s7_value


class Tanh(Float32Unit):
    """``result = tanh(x)`` in binary32, with a relative error of at most 2^-21.

    The function is odd: exactly ``x`` for ``|x|`` below 2^-23, and ±1 from 8 on. A subnormal gives
    a zero of its sign, every NaN gives 0x7fc00000.

    Parameters
    ----------
    config : Float32Config

    Members
    -------
    i : In(stream.Signature({x: 32, tag}))
        One operand an item, and a tag, which comes out unchanged beside its result.
    o : Out(stream.Signature({result: 32, tag}))
        One result for each operand, in order.
    """

    OPERANDS = ("x",)
    LATENCY = _RATIO_STAGES + 1 + Float32Multiply.LATENCY

    def elaborate(self, platform):
        m = Module()
        m.submodules.multiply = multiply = Float32Multiply(self.config)
        advance = Signal()
        m.d.comb += [advance.eq(multiply.i.ready), self.i.ready.eq(advance)]

        # Stage 1: the significand to its place in UQ(3, 23); below 2^-23 nothing is left.
        x = decode(m, self.i.p.x, name="x")
        top = BIAS + X_FORMAT.integer - 1
        distance, beyond = Signal(8), Signal()
        s1_x = Signal(X_FORMAT.width, reset_less=True)
        s1_operand = Signal(WIDTH, reset_less=True)
        s1_beyond = Signal(reset_less=True)
        m.d.comb += [
            distance.eq(top - x.exponent),
            beyond.eq(x.exponent > top),
        ]
        aligned = Cat(Const(0, X_FORMAT.width - PRECISION), x.significand) >> distance[:5]
        one = Cat(Const(BIAS << (PRECISION - 1), WIDTH - 1), x.sign)
        with m.If(advance):
            m.d.sync += [
                s1_x.eq(Mux(distance[5:].any(), 0, aligned)),
                s1_operand.eq(Mux(beyond & ~x.nan, one, self.i.p.x)),
                s1_beyond.eq(beyond),
            ]

        # Stage 8: as a binary32, cut to 24 bits. A ratio is above 1/16.
        s7_value = _ratio(m, s1_x, advance)
        s7_beyond = delay(m, s1_beyond, _RATIO_STAGES - 1, name="beyond", enable=advance)
        s8_factor = Signal(WIDTH, reset_less=True)
        factor = Signal(WIDTH)
        fraction = VALUE_FORMAT.fraction
        with m.If(s7_value[fraction] | s7_beyond):
            m.d.comb += factor.eq(BIAS << (PRECISION - 1))
        for below in range(1, 5):
            at = fraction - below
            condition = s7_value[at] if below < 4 else 1
            with m.Elif(condition):
                bits = Cat(Const(0, PRECISION - 1), s7_value[:at])[-(PRECISION - 1) :]
                m.d.comb += factor.eq(Cat(bits, Const(BIAS - below, 9)))
        with m.If(advance):
            m.d.sync += s8_factor.eq(factor)

        s8_operand = delay(m, s1_operand, _RATIO_STAGES, name="operand", enable=advance)
        stages = _RATIO_STAGES + 1
        m.d.comb += [
            multiply.i.p.a.eq(s8_operand),
            multiply.i.p.b.eq(s8_factor),
            multiply.i.p.tag.eq(delay(m, self.i.p.tag, stages, name="tag", enable=advance)),
            multiply.i.valid.eq(
                delay(m, self.i.valid, stages, name="valid", enable=advance, reset=True)
            ),
            self.o.p.result.eq(multiply.o.p.result),
            self.o.p.tag.eq(multiply.o.p.tag),
            self.o.valid.eq(multiply.o.valid),
            multiply.o.ready.eq(self.o.ready),
        ]
        return m


class TanhFixed(wiring.Component):
    """``o = tanh(i)`` in one SQ format, rounded half up: within 0.51 units in the last place.

    Parameters
    ----------
    target : FixedFormat
        An SQ format of at most 18 bits, a DSP block's narrow operand; ValueError for any other.

    Members
    -------
    i : In(stream.Signature(target.shape))
        One raw operand an item.
    o : Out(stream.Signature(target.shape))
        One raw result for each operand, in order.
    """

    INTERVAL = 1
    LATENCY = _RATIO_STAGES + 2

    def __init__(self, target):
        if not isinstance(target, FixedFormat) or not target.signed or target.width > _NARROW:
            raise UsageError(f"target must be SQ of at most {_NARROW} bits, not {target!r}")
        self.target = target
        super().__init__(
            {"i": In(stream.Signature(target.shape)), "o": Out(stream.Signature(target.shape))}
        )

    def elaborate(self, platform):
        m = Module()
        target = self.target
        advance = Signal()
        m.d.comb += [advance.eq(~self.o.valid | self.o.ready), self.i.ready.eq(advance)]

        # Stage 1: the magnitude to its place in UQ(3, 23).
        x, shift = self.i.payload, X_FORMAT.fraction - target.fraction
        magnitude, beyond = Signal(target.width), Signal()
        s1_x = Signal(X_FORMAT.width, reset_less=True)
        s1_operand = Signal(target.shape, reset_less=True)
        s1_beyond = Signal(reset_less=True)
        one = 1 << target.fraction
        m.d.comb += [
            magnitude.eq(Mux(x < 0, -x, x)),
            beyond.eq(at_least(magnitude, LIMIT << target.fraction)),
        ]
        with m.If(advance):
            m.d.sync += [
                s1_x.eq(magnitude << shift),
                s1_operand.eq(x),
                s1_beyond.eq(beyond),
            ]

        # Stage 8: multiply, with a bit less. Stage 9: round; never out of the format.
        s7_value = _ratio(m, s1_x, advance)
        s7_operand = delay(m, s1_operand, _RATIO_STAGES - 1, name="operand", enable=advance)
        s8_beyond = delay(m, s1_beyond, _RATIO_STAGES, name="beyond", enable=advance)
        fraction = VALUE_FORMAT.fraction - 1
        s8_product = Signal(signed(target.width + VALUE_FORMAT.width), reset_less=True)
        s9_result = Signal(target.shape, reset_less=True)
        rounded = (s8_product + (1 << (fraction - 1))) >> fraction
        with m.If(advance):
            m.d.sync += [
                s8_product.eq(s7_operand * s7_value[1:]),
                s9_result.eq(Mux(s8_beyond, Mux(s8_product < 0, -one, one), rounded)),
            ]
        m.d.comb += [
            self.o.payload.eq(s9_result),
            self.o.valid.eq(
                delay(m, self.i.valid, self.LATENCY, name="valid", enable=advance, reset=True)
            ),
        ]
        return m

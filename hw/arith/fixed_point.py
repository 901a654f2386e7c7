"""Fixed point as the arithmetic of a tensor unit; operations and latencies: ``Arithmetic``.

``FixedPoint`` has formats of one DSP block a product, ``DualPrecision`` formats of an array that
multiplies in two precisions.
"""

from dataclasses import dataclass

import numpy as np
from amaranth import *

from hw.arith.fixed import REQUANTIZE_LATENCY, SQ, FixedFormat, requantize
from hw.arith.multiply import B_LIMB
from hw.arith.operations import Arithmetic
from hw.arith.quantize import Quantize, quantize
from hw.arith.tanh import TanhFixed
from hw.arith.to_float import ToFloat, to_float, to_float_stream
from hw.comparison import above
from hw.errors import UsageError
from hw.stream.delay import delay

__all__ = ["DualPrecision", "FixedPoint"]

#: Bits of a DSP block's sum.
CASCADE_WIDTH = 48


@dataclass(frozen=True, kw_only=True, repr=False)
class FixedPoint(Arithmetic):
    """Fixed point as the arithmetic of a tensor unit; ``Arithmetic`` describes the operations.

    Products and sums are exact. A sum is rounded (half up, saturating) once, by ``requantize``. For
    the derivative of tanh, x is cut to at most 17 fraction bits, and a gradient is multiplied with
    ``1 - x**2`` cut to at most 25 fraction bits, so that each product is one DSP block.
    """

    kind: str = "fixed"

    multiply_latency, add_latency, requantize_latency = 2, 1, REQUANTIZE_LATENCY
    quantize_latency, to_float_latency = Quantize.LATENCY, ToFloat.LATENCY
    tanh_latency = TanhFixed.LATENCY
    #: The cascade adds an element a clock.
    dot_skew = 1
    #: As in binary32, and rounded.
    derived_by_tanh_latency = 2 * multiply_latency + add_latency + 1
    zero, saturates = 0, True
    #: Fraction bits, at most, of x in its square and of what that leaves of one: an operand of a
    #: DSP block, less its sign and the bit of a one.
    SQUARED_FRACTION, DERIVATIVE_FRACTION = 17, 25

    def _format(self, kind):
        return getattr(self, kind)

    def multiply(self, m, a, b, *, name):
        shape = signed(len(a) + len(b))
        s1_a = Signal(a.shape(), name=f"{name}_a", reset_less=True)
        s1_b = Signal(b.shape(), name=f"{name}_b", reset_less=True)
        product = Signal(shape, name=name, reset_less=True)
        m.d.sync += [s1_a.eq(a), s1_b.eq(b), product.eq(s1_a * s1_b)]
        return product

    def add(self, m, a, b, *, name, shape=None):
        total = Signal((a + b).shape() if shape is None else shape, name=name, reset_less=True)
        m.d.sync += total.eq(a + b)
        return total

    def dot(self, m, a, b, *, begin=None, name):
        product = max(len(x) + len(y) for x, y in zip(a, b, strict=True))
        width = product + (len(a) - 1).bit_length()
        if begin is not None:
            # A register of the first block.
            first = Signal(begin.shape(), name=f"{name}_begin", reset_less=True)
            m.d.sync += first.eq(begin)
            width, begin = max(width, len(begin)), first
        cut = width > CASCADE_WIDTH >= product
        width -= cut
        for k, operands in enumerate(zip(a, b, strict=True)):
            product = self.multiply(m, *operands, name=f"{name}_product_{k}")
            # As wide as the last, so that each sum is the block's own.
            total = Signal(signed(width), name=f"{name}_sum_{k}", reset_less=True)
            m.d.sync += total.eq(product if begin is None else begin + product)
            begin = total
        # No product is the lowest number of its bits, so that no sum is -2**47: that is 2**47.
        return Cat(begin, begin[-1] & begin[:-1].any()).as_signed() if cut else begin

    def dot_latency(self, count, begins=False):
        return self.multiply_latency + count * self.add_latency

    def begin_latency(self, count):
        return self.multiply_latency - 1

    def times_one(self, value):
        return value << self.activation.fraction

    def requantize(self, m, value, *source, kind, name):
        return requantize(m, value, self.fraction(*source), self._format(kind), name=name)

    def quantize(self, m, bits, *, kind, name):
        return quantize(m, bits, self._format(kind), name=name)

    def to_float(self, m, value, *, kind, name):
        return to_float(m, value, self.fraction(kind), name=name)

    def stream_to_float(self, m, source, sink, *, name):
        return to_float_stream(m, self.activation, source, sink, name=name)

    def tanh(self, m, value, *, name):
        return _tanh(m, value, self.activation, name=name)

    @property
    def derivative_fractions(self):
        """Fraction bits of ``x``, and of ``1 - x**2``."""
        squared = min(self.activation.fraction, self.SQUARED_FRACTION)
        return squared, min(2 * squared, self.DERIVATIVE_FRACTION)

    def derived_by_tanh(self, m, dx, x, *, name):
        squared, fraction = self.derivative_fractions
        if len(x) > B_LIMB + 1:
            # What tanh gives needs no more than a sign and a one beside its fraction.
            drop = self.activation.fraction - squared
            x = x[drop : drop + squared + 2].as_signed()
        square = self.multiply(m, x, x, name=f"{name}_square")
        # 0..1, as |x| <= 1.
        rest = Signal(fraction + 1, name=f"{name}_rest", reset_less=True)
        m.d.sync += rest.eq(((1 << 2 * squared) - square) >> (2 * squared - fraction))
        delayed = delay(m, dx, self.multiply_latency + 1, name=f"{name}_dx")
        product = self.multiply(m, delayed, rest, name=f"{name}_product")
        result = Signal(self.shape("gradient"), name=name, reset_less=True)
        m.d.sync += result.eq((product + ((1 << fraction) >> 1)) >> fraction)
        return result

    def positive(self, m, x, *, name):
        positive = Signal(name=name)
        m.d.comb += positive.eq(above(x, 0))
        return positive

    def scaled_down(self, value, places):
        return (value + (1 << places >> 1)) >> places

    def order_key(self, value):
        return value

    def number(self, value, *, kind):
        raw, saturated = self._format(kind).quantize(value)
        return int(raw), bool(saturated)

    def weight_words(self, x):
        raw, saturated = self.weight.quantize(x)
        return raw.astype(np.int32).view(np.uint32), int(saturated.sum())

    def weights_of(self, words):
        return self.weight.to_float(words.view(np.int32)).astype(np.float32)


@dataclass(frozen=True, kw_only=True, repr=False)
class DualPrecision(FixedPoint):
    """Fixed point for an array that multiplies in two precisions: with wide operands, or with
    operands of half the width, of which it takes two in place of one.

    operand : SQ format of a weight as the array multiplies it: a stored ``weight`` without some of
        its fraction bits, and with the same integer bits.

    The gradient of a weight, summed over a batch, loses its lowest 8 fraction bits, so that it has
    the 48 bits that an optimizer takes. tanh is computed in SQ(4, 14), with an activation clipped
    to that format, because beyond it tanh is 1. For its derivative, x and ``1 - x**2`` are cut to
    16 fraction bits, as the gradient is the wide operand of a DSP block.
    """

    kind: str = "dual"
    weight: FixedFormat = SQ(4, 28)
    operand: FixedFormat = SQ(4, 23)
    activation: FixedFormat = SQ(12, 20)
    gradient: FixedFormat = SQ(8, 19)

    LIMITS = {"weight": 32, "operand": 27, "activation": 32, "gradient": 27}

    tanh_latency = REQUANTIZE_LATENCY + TanhFixed.LATENCY
    SQUARED_FRACTION, DERIVATIVE_FRACTION = 16, 16
    #: Fraction bits that a gradient's sum lacks of a product's.
    GRADIENT_CUT = 8

    def __post_init__(self):
        super().__post_init__()
        if self.operand.integer != self.weight.integer:
            raise UsageError(
                f"operand must have the weight's {self.weight.integer} integer bits, "
                f"not {self.operand!r}"
            )

    def gradient_sum_shape(self, batch):
        return signed(48)

    @property
    def gradient_sum_fraction(self):
        return super().gradient_sum_fraction - self.GRADIENT_CUT

    @property
    def tanh_format(self):
        """The format of tanh's input and output: 14 fraction bits, or as many as an activation has
        if these are fewer."""
        return SQ(4, min(14, self.activation.fraction))

    @property
    def tanh_cut(self):
        """The number of fraction bits of an activation that ``tanh_format`` lacks."""
        return self.activation.fraction - self.tanh_format.fraction

    def tanh(self, m, value, *, name):
        target = self.tanh_format
        narrow, _ = requantize(m, value, self.activation.fraction, target, name=f"{name}_narrow")
        result = Signal(self.shape("activation"), name=name)
        narrow_result = _tanh(m, narrow, target, name=f"{name}_fixed")
        m.d.comb += result.eq(narrow_result << self.tanh_cut)
        return result


def _tanh(m, value, target, *, name):
    """tanh of ``value`` in the format ``target``, which ``value`` has too."""
    result = Signal(target.shape, name=name)
    m.submodules[f"{name}_unit"] = unit = TanhFixed(target)
    m.d.comb += [
        unit.i.payload.eq(value),
        unit.i.valid.eq(1),
        unit.o.ready.eq(1),
        result.eq(unit.o.payload),
    ]
    return result

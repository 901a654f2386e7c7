"""The arithmetic of a tensor unit: binary32, or fixed point at one DSP block a product.

A unit is written once against this object. Everything here is free-running: no handshake, no
stall, an operation a clock, and a latency that is a number.
"""

from dataclasses import dataclass

from amaranth import *

from hw.arith.fixed import SQ, FixedFormat
from hw.arith.float32.add import Float32Add
from hw.arith.float32.format import WIDTH
from hw.arith.float32.multiply import Float32Multiply
from hw.config import ConfigBase
from hw.shared import SharedModule

__all__ = ["KINDS", "Arithmetic"]

KINDS = ("float32", "fixed")

# A DSP48E2 multiplies signed 27 x 18.
_WIDE, _NARROW = 27, 18


@dataclass(frozen=True, kw_only=True)
class Arithmetic(ConfigBase):
    """Formats of the three kinds of numbers that a tensor unit moves, and their operations.

    kind : "float32" or "fixed".
    weight, activation, gradient : SQ formats, read where kind is "fixed". A weight has at most 27
        bits, the others at most 18: every product of two kinds that meet is one DSP block.

    In float32 a sum is rounded at every step, in the order that the unit's docstring gives. In
    fixed point products and sums are exact, and rounded (half up, saturating) once at their end.
    """

    kind: str = "float32"
    weight: FixedFormat = SQ(4, 23)
    activation: FixedFormat = SQ(8, 10)
    gradient: FixedFormat = SQ(4, 14)

    def __post_init__(self):
        if self.kind not in KINDS:
            raise ValueError(f"kind must be one of {', '.join(KINDS)}, not {self.kind!r}")
        for name, limit in (("weight", _WIDE), ("activation", _NARROW), ("gradient", _NARROW)):
            value = getattr(self, name)
            if not isinstance(value, FixedFormat) or not value.signed or value.width > limit:
                raise ValueError(f"{name} must be SQ of at most {limit} bits, not {value!r}")

    @property
    def is_float(self):
        return self.kind == "float32"

    @property
    def multiply_latency(self):
        return Float32Multiply.LATENCY if self.is_float else 2

    @property
    def add_latency(self):
        return Float32Add.LATENCY if self.is_float else 1

    @property
    def requantize_latency(self):
        return 0 if self.is_float else 2

    @property
    def zero(self):
        """What leaves every number as it is when added: -0 in binary32 (+0 would lose a -0)."""
        return 1 << (WIDTH - 1) if self.is_float else 0

    def shape(self, kind):
        """Shape of a "weight", an "activation" or a "gradient"."""
        return unsigned(WIDTH) if self.is_float else getattr(self, kind).shape

    def fraction(self, *kinds):
        """Fraction bits of a product of numbers of these kinds."""
        return sum(getattr(self, kind).fraction for kind in kinds)

    def sum_shape(self, a_kind, b_kind, count):
        """Shape that holds every sum of ``count`` products of the two kinds."""
        if self.is_float:
            return unsigned(WIDTH)
        product = getattr(self, a_kind).width + getattr(self, b_kind).width - 1
        return signed(product + count.bit_length())

    def multiply(self, m, a, b, *, name):
        """``a * b`` of ``multiply_latency`` clocks ago."""
        if self.is_float:
            return self._float(m, Float32Multiply, a, b, name)
        shape = signed(len(a) + len(b))
        s1_a = Signal(a.shape(), name=f"{name}_a", reset_less=True)
        s1_b = Signal(b.shape(), name=f"{name}_b", reset_less=True)
        product = Signal(shape, name=name, reset_less=True)
        m.d.sync += [s1_a.eq(a), s1_b.eq(b), product.eq(s1_a * s1_b)]
        return product

    def add(self, m, a, b, *, name, shape=None):
        """``a + b`` of ``add_latency`` clocks ago, in ``shape`` (default: wide enough)."""
        if self.is_float:
            return self._float(m, Float32Add, a, b, name)
        total = Signal((a + b).shape() if shape is None else shape, name=name, reset_less=True)
        m.d.sync += total.eq(a + b)
        return total

    def requantize(self, m, value, *source, kind, name):
        """``value``, a sum of products of the ``source`` kinds, as a number of ``kind``.

        Returns ``(result, saturated)`` of ``requantize_latency`` clocks ago.
        """
        if self.is_float:
            return value, Const(0)
        target = getattr(self, kind)
        shift = self.fraction(*source) - target.fraction
        rounded = (value + (1 << (shift - 1))) >> shift if shift > 0 else value << -shift
        s1_value = Signal(rounded.shape(), name=f"{name}_rounded", reset_less=True)
        result = Signal(target.shape, name=name, reset_less=True)
        saturated = Signal(name=f"{name}_saturated", reset_less=True)
        under, over = s1_value < target.low, s1_value > target.high
        m.d.sync += [
            s1_value.eq(rounded),
            saturated.eq(under | over),
            result.eq(Mux(under, target.low, Mux(over, target.high, s1_value))),
        ]
        return result, saturated

    def order_key(self, value):
        """Signed integer in the order of the numbers; NaN aside, -0 below +0."""
        if not self.is_float:
            return value
        magnitude = value[:-1]
        return Cat(magnitude ^ value[-1].replicate(len(magnitude)), value[-1]).as_signed()

    def _float(self, m, cls, a, b, name):
        m.submodules[f"{name}_unit"] = unit = SharedModule(cls)
        result = Signal(WIDTH, name=name)
        m.d.comb += [
            unit.i.payload.eq(Cat(a, b)),
            unit.i.valid.eq(1),
            unit.o.ready.eq(1),
            result.eq(unit.o.p.result),
        ]
        return result

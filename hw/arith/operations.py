"""The operations of a tensor unit's arithmetic: of binary32, or of fixed point at one DSP block a
product.

A unit is written once against ``Arithmetic``, and asks it for whatever differs from kind to kind.
Everything here is free-running: no handshake, no stall, an operation a clock, and a latency that is
a number.
"""

from dataclasses import dataclass, fields

from amaranth import *

from hw.arith.fixed import SQ, FixedFormat
from hw.config import ConfigBase
from hw.errors import UsageError

__all__ = ["Arithmetic"]

#: Kind -> class; a class enters itself, and ``hw.arith.arithmetic`` imports all of them.
_CLASSES = {}


@dataclass(frozen=True, kw_only=True, repr=False)
class Arithmetic(ConfigBase):
    """Formats of the three kinds of numbers that a tensor unit moves, and their operations.

    kind : "float32", "fixed" or "dual". It chooses the class of the object that is made, whichever
        of the classes is called.
    weight, activation, gradient : SQ formats of the three kinds of numbers, used in fixed point
        only.

    An operation with ``m`` adds its registers to this module, under the keyword ``name``; its
    result belongs to the operands of ``<operation>_latency`` clocks ago, and new operands may come
    every clock. An operation without ``m``, and ``positive``, is combinational.

    multiply(m, a, b) : the product.
    add(m, a, b, shape=None) : the sum; fixed point gives it ``shape``, or if None enough bits.
    dot(m, a, b, begin=None) : the sum of ``a[k] * b[k]`` over the lists a and b, added to ``begin``
        if it is given. Element k comes ``k * dot_skew`` clocks after element 0, ``begin``
        ``begin_latency(count)`` clocks after it. The sum is there ``dot_latency(count)`` clocks
        after element 0, or ``dot_latency(count, begins=True)`` with ``begin``. In fixed point it is
        exact, an element a clock along the cascade of DSP blocks, which must lie in one module. In
        binary32, products of neighbours are added first, then neighbouring sums, and so on, the
        last one to itself padded with -0 (``adder_tree``); then ``begin`` is added.
    times_one(value) : the product of ``value`` and an activation of 1, so that a bias can be added
        to products.
    requantize(m, value, *source, kind) : ``value`` is a sum of products of one number of each
        ``source`` kind. Gives it as a number of ``kind``, and whether it was clipped.
    quantize(m, bits, kind) : binary32 as a number of ``kind``, and whether it was clipped.
    to_float(m, value, kind) : the binary32 bits of a number of ``kind``.
    stream_to_float(m, source, sink) : wires the signals (activation, tag, valid) to (binary32 bits,
        tag, valid, ready) as a stream with back-pressure; returns the ready of the source.
    tanh(m, value) : tanh of an activation, as an activation.
    derived_by_tanh(m, dx, x) : gradient ``dx`` times ``1 - x**2``, where the activation ``x`` is a
        result of tanh.
    positive(m, x) : whether an activation is above zero.
    scaled_down(value, places) : ``value * 2**-places``, rounded; in fixed point half up.
    order_key(value) : a signed integer that is in the order of the numbers; -0 is below +0, and a
        NaN has no defined place.
    weight_words(x) : an array of real numbers as weights of a parameter image (uint32), and how
        many of them were clipped.
    weights_of(words) : the words of a parameter image back as float32.

    number(value, kind) : a real number as a constant of ``kind``, in bits (an integer), and whether
        it was clipped.

    ``zero`` leaves every number as it is when added.
    ``saturates`` is whether numbers are clipped, which units then count.
    ``hw.arith.estimate`` has the resources of an operation.
    """

    kind: str = "float32"
    weight: FixedFormat = SQ(4, 23)
    activation: FixedFormat = SQ(8, 10)
    gradient: FixedFormat = SQ(4, 14)

    #: Bits of a format, at most: a DSP48E2 multiplies signed 27 x 18, and every product of two
    #: kinds that meet is one block.
    LIMITS = {"weight": 27, "activation": 18, "gradient": 18}

    def __init_subclass__(cls, **options):
        super().__init_subclass__(**options)
        if "kind" in vars(cls):
            _CLASSES[cls.kind] = cls

    def __new__(cls, *, kind=None, **formats):
        other = _class_of(cls.kind if kind is None else kind)
        if {*formats} & _names(cls) - _names(other):
            raise UsageError(f"kind must be {cls.kind}, not {kind!r}")
        return super().__new__(other) if issubclass(other, cls) else other(kind=kind, **formats)

    def __post_init__(self):
        for name, limit in self.LIMITS.items():
            value = getattr(self, name)
            if not isinstance(value, FixedFormat) or not value.signed or value.width > limit:
                raise UsageError(f"{name} must be SQ of at most {limit} bits, not {value!r}")

    def __repr__(self):
        values = (f"{field.name}={getattr(self, field.name)!r}" for field in fields(self))
        return f"Arithmetic({', '.join(values)})"

    @classmethod
    def from_dict(cls, values):
        return super(Arithmetic, _class_of(values.get("kind", cls.kind))).from_dict(values)

    def shape(self, kind):
        """Shape of a "weight", an "activation" or a "gradient"."""
        return getattr(self, kind).shape

    def fraction(self, *kinds):
        """Fraction bits of a product of numbers of these kinds."""
        return sum(getattr(self, kind).fraction for kind in kinds)

    def sum_shape(self, *kinds, count):
        """A shape that holds every sum of ``count`` terms: numbers of the one kind that is given,
        or products of the two kinds."""
        width = sum(getattr(self, kind).width for kind in kinds) - (len(kinds) - 1)
        return signed(width + count.bit_length())

    def gradient_sum_shape(self, batch):
        """The shape of a weight's gradient, summed over ``batch`` samples, as an optimizer takes
        it."""
        return self.sum_shape("activation", "gradient", count=batch)

    @property
    def gradient_sum_fraction(self):
        """Fraction bits of the sum of ``gradient_sum_shape``."""
        return self.fraction("activation", "gradient")


def _names(cls):
    return {field.name for field in fields(cls)}


def _class_of(kind):
    if not isinstance(kind, str) or kind not in _CLASSES:
        raise UsageError(f"kind must be one of {', '.join(sorted(_CLASSES))}, not {kind!r}")
    return _CLASSES[kind]

"""Resources of the operations of an ``Arithmetic``, and of sums by trees of its adders.

Registers are packed into DSP blocks. Units of one kind have rows of their own: ``arith.float32``,
``arith.fixed``.
"""

from amaranth import Shape

from hw.area import area
from hw.arith.float32.format import PRECISION, WIDTH
from hw.estimate import times, together
from hw.stream import estimate as stream

__all__ = ["add", "adder_tree", "derived_by_tanh", "dot", "interleaved_sum", "multiply"]
__all__ += ["quantize", "requantize", "tanh", "to_float"]

_NONE = times(0)


def multiply(arithmetic):
    return area("arith.fixed_point.multiply" if arithmetic.saturates else "arith.float32.multiply")


def add(arithmetic, width=WIDTH):
    if arithmetic.saturates:
        return area("arith.fixed_point.add", width=width)
    return area("arith.float32.add")


def dot(arithmetic, count, begins=False):
    """``dot`` of ``count`` products; ``begins``: with a first summand."""
    products = times(count, multiply(arithmetic))
    if arithmetic.saturates:  # DSP blocks add
        return products
    sums = adder_tree(arithmetic, WIDTH, count), times(begins, add(arithmetic))
    return together([products, *sums])


def requantize(arithmetic, width, *source, kind):
    """``requantize`` of a sum of ``width`` bits."""
    if not arithmetic.saturates:
        return _NONE
    # Rounded; then clipped by the registers' set and reset.
    rounded = width + 1 - arithmetic.fraction(*source) + arithmetic.fraction(kind)
    return area("arith.fixed_point.requantize", rounded=rounded, width=_width(arithmetic, kind))


def quantize(arithmetic, kind):
    if not arithmetic.saturates:
        return _NONE
    return area("arith.quantize", width=getattr(arithmetic, kind).width)


def to_float(arithmetic, kind):
    if not arithmetic.saturates:
        return _NONE
    return area("arith.to_float", width=max(getattr(arithmetic, kind).width, PRECISION + 2))


def tanh(arithmetic):
    return area("arith.tanh.fixed" if arithmetic.saturates else "arith.tanh.float32")


def derived_by_tanh(arithmetic):
    if arithmetic.saturates:
        rest, width = arithmetic.derivative_fractions[1] + 1, _width(arithmetic, "gradient")
        return area("arith.fixed_point.derived_by_tanh", rest=rest, width=width)
    late = stream.delay(WIDTH, arithmetic.multiply_latency + arithmetic.add_latency)
    return together([times(2, multiply(arithmetic)), add(arithmetic), late])


def adder_tree(arithmetic, width, count, *, products=False):
    """``adder_tree`` of ``count`` numbers of ``width`` bits; in fixed point, a DSP block adds its
    own product to another one, if the numbers are ``products``."""
    parts = []
    while count > 1:
        width, packed = width + 1, products and not parts and arithmetic.saturates
        parts.append(times(0 if packed else count // 2, add(arithmetic, width)))
        if count & 1:
            parts.append(stream.delay(width, arithmetic.add_latency))
        count -= count // 2
    return together(parts)


def interleaved_sum(arithmetic, width, count, stride):
    """``interleaved_sum`` of sums of ``width`` bits."""
    # In each level, the number that waits is replaced by a zero before its window begins.
    level = [add(arithmetic, width), area("arith.adder_tree.masked", width=width)]
    levels = range((count - 1).bit_length())
    waits = [stream.delay(width, (1 << each) * stride) for each in levels]
    return together([times(len(levels), *level), *waits])


def _width(arithmetic, kind):
    return Shape.cast(arithmetic.shape(kind)).width

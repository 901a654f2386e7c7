"""Resources of the operations of an ``Arithmetic``, and of sums by trees of its adders.

Registers are packed into DSP blocks. Units of one kind have rows of their own: ``arith.float32``,
``arith.fixed``.
"""

from amaranth import Shape

from hw.area import area
from hw.arith.float32.format import PRECISION, WIDTH
from hw.arith.multiply import ecp5_carry, ecp5_product
from hw.estimate import Estimate, times, together
from hw.stream import estimate as stream

__all__ = ["add", "adder_tree", "derived_by_tanh", "dot", "interleaved_sum", "multiply"]
__all__ += ["quantize", "requantize", "tanh", "to_float"]

_NONE = times(0)


def multiply(arithmetic, *kinds):
    """``multiply`` of two numbers, of the ``kinds`` such as "weight" if in fixed point."""
    if not arithmetic.saturates:
        return area("arith.float32.multiply")
    return _product(*(_width(arithmetic, kind) for kind in kinds))


def _product(a, b):
    """``multiply`` of signed numbers of ``a`` and ``b`` bits: on UltraScale+, one DSP block."""
    lut, dsp = ecp5_product(a, b, signed=True)
    return Estimate(lut=0, ff=0, dsp=1, ecp5=(lut, 2 * (a + b), 0, 0, dsp))


def add(arithmetic, width=WIDTH):
    """``add`` of sums of ``width`` bits if in fixed point."""
    if not arithmetic.saturates:
        return area("arith.float32.add")
    return Estimate(lut=width, ff=width, ecp5=(ecp5_carry(width), width, 0, 0, 0))


def dot(arithmetic, count, *kinds, begins=0):
    """``dot`` of ``count`` products of the ``kinds``; ``begins``: bits of a first summand, or 0."""
    products = times(count, multiply(arithmetic, *kinds))
    if not arithmetic.saturates:
        sums = adder_tree(arithmetic, WIDTH, count), times(bool(begins), add(arithmetic))
        return together([products, *sums])
    # On UltraScale+, DSP blocks add. On an ECP5 the first sum, of one product, is a register.
    first = sum(_width(arithmetic, kind) for kind in kinds)
    widths = [max(begins, first + k.bit_length()) for k in range(count)]
    adders = widths if begins else widths[1:]
    lut, ff = sum(map(ecp5_carry, adders)), begins + sum(widths)
    return together([products, Estimate(lut=0, ff=0, ecp5=(lut, ff, 0, 0, 0))])


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
        squared, fraction = arithmetic.derivative_fractions
        width, x = (
            _width(arithmetic, "gradient"),
            min(_width(arithmetic, "activation"), squared + 2),
        )
        own = area("arith.fixed_point.derived_by_tanh", rest=fraction + 1, width=width)
        return together([own, _product(x, x), _product(width, fraction + 2)])
    late = stream.delay(WIDTH, arithmetic.multiply_latency + arithmetic.add_latency)
    return together([times(2, multiply(arithmetic)), add(arithmetic), late])


def adder_tree(arithmetic, width, count):
    """``adder_tree`` of ``count`` numbers of ``width`` bits."""
    parts = []
    while count > 1:
        width += 1
        parts.append(times(count // 2, add(arithmetic, width)))
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

"""The one operation of advantage estimation: a product that is rounded and added.

Interval 1, latency ``clocks``: 1, 2 or 3. With operands of 27 and 18 bits it is one DSP48E2 with
its post-adder.
"""

from amaranth import *

from hw.stream.delay import delay

__all__ = ["rounded_mac"]

#: A DSP48E2 multiplies signed 27 x 18 bits; wider operands are cut, unsigned below.
_WIDE, _LIMB = 27, 17


def rounded_mac(m, addend, coefficient, x, *, clocks, shape, fraction, name):
    """``addend + floor((coefficient * x + half) / 2**fraction)``, wrapped to ``shape``.

    half = 2**(fraction - 1) stands in the low bits of the addend, so that one adder is enough:
    ((addend << fraction) + half + coefficient * x) >> fraction. A coefficient of 0 gives the addend
    itself.

    Parameters
    ----------
    addend, coefficient, x : Value
        Operands of the same clock. The addend is signed, and may be wider than ``shape``.
    clocks : int
        1: all at once. 2: the product, then the sum. 3: partial products, with the wider operand
        cut at bit 17; the product; the sum.
    shape : Shape
        Signed, of the result.

    Returns
    -------
    value : Value of ``shape``
        The result ``clocks`` after the operands, in a register without reset.
    overflow : Value
        In the same clock: ``value`` has wrapped.
    """
    narrow, wide = sorted((coefficient, x), key=len)
    parts = [(narrow * wide, 0)]
    if len(wide) > (_LIMB if clocks == 3 else _WIDE):
        upper = wide[_LIMB:].as_signed() if wide.shape().signed else wide[_LIMB:]
        parts = [(narrow * wide[:_LIMB], 0), (narrow * upper, _LIMB)]
    if clocks == 3:
        parts = [(delay(m, part, 1, name=f"{name}_{at}"), at) for part, at in parts]
    product = sum((part << at for part, at in parts[1:]), parts[0][0])
    if clocks > 1:
        product = delay(m, product, 1, name=f"{name}_product")
    addend = delay(m, addend, clocks - 1, name=f"{name}_addend")
    half = Const(1 << (fraction - 1), fraction)
    total = delay(m, Cat(half, addend).as_signed() + product, 1, name=f"{name}_total")
    above = total[fraction + shape.width - 1 :]
    value = total[fraction : fraction + shape.width].as_signed()
    return value, above.any() & ~above.all()

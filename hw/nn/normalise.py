"""Shifts a number to the left until its leading one is at the top, in steps of a clock each."""

from amaranth import *

__all__ = ["leading", "normalise"]


def leading(value, step):
    """How many times ``step`` zeros are at the top of ``value``, three at most: two bits."""
    empty = [~value[-count * step :].any() for count in range(1, 4)]
    return Cat((empty[0] & ~empty[1]) | empty[2], empty[1])


def normalise(m, value, fill, *, steps, width, name):
    """``(value, shift)``: the upper ``width`` bits, ``len(steps)`` clocks later, and a clock before
    them how many times the last step they were shifted.

    A step takes a clock and shifts by up to three times itself; each is a quarter of the one
    before. ``fill`` enters from below: ones behind the complement of a number make its magnitude
    of it, less a trifle.
    """
    reach, digits = 3 * sum(steps), []
    value = Cat(fill.replicate(max(0, width + reach - len(value))), value)
    for place, step in enumerate(steps):
        reach -= 3 * step
        top, size = len(value), width + reach
        windows = [value[top - k * step - size : top - k * step] for k in range(4)]
        digit = Signal(2, name=f"{name}_{place}_digit")
        m.d.comb += digit.eq(leading(value, step))
        value = Signal(size, name=f"{name}_{place}", reset_less=True)
        low, high = Mux(digit[0], windows[1], windows[0]), Mux(digit[0], windows[3], windows[2])
        m.d.sync += value.eq(Mux(digit[1], high, low))
        later = [Signal(2, name=f"{name}_{place}_{k}", reset_less=True) for k in range(place)]
        m.d.sync += [new.eq(old) for new, old in zip(later, digits, strict=True)]
        digits = [*later, digit]
    return value, Cat(*reversed(digits))

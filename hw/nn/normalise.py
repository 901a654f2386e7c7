"""Shifts a number to the left until its leading one is at the top, in steps of one clock each."""

from amaranth import *

__all__ = ["leading", "normalise"]


def leading(value, step):
    """How many blocks of ``step`` bits at the top of ``value`` are zeros before the first block
    that has a one, at most three. The result is a Value of two bits."""
    empty = [~value[-count * step :].any() for count in range(1, 4)]
    return Cat((empty[0] & ~empty[1]) | empty[2], empty[1])


def normalise(m, value, fill, *, steps, width, name):
    """Shifts ``value`` to the left until its leading one is at the top; returns ``(value,
    shift)``.

    The returned value is the upper ``width`` bits of the shifted one, ``len(steps)`` clocks later.
    The returned shift is the number of places in units of ``steps[-1]``; it comes a clock before
    the value. If the steps do not reach the leading one, the shift is the largest possible, and the
    top bit is 0.

    steps : each step takes a clock and shifts by 0 to 3 times its size; each is a quarter of the
        one before
    fill : the bit that enters from below. For a negative number x given as its complement, fill
        with ones: the result is |x|, less one unit of the lowest bit that was filled in.
    m, name : the module that gets the registers, and the prefix of their names
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

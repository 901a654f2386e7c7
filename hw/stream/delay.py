"""A value some clocks later: the plain delay line of a pipeline that never stalls."""

from amaranth import *

__all__ = ["delay"]


def delay(m, value, clocks, *, name, reset=False):
    """Return ``value`` delayed by ``clocks`` registers; ``clocks`` = 0 gives ``value`` itself.

    ``reset`` = True makes control bits that must be 0 after reset; data needs none.
    """
    for clock in range(1, clocks + 1):
        register = Signal(value.shape(), name=f"{name}_{clock}", reset_less=not reset)
        m.d.sync += register.eq(value)
        value = register
    return value

"""A value some clocks later, for values that accompany a pipeline."""

from amaranth import *

__all__ = ["delay"]


def delay(m, value, clocks, *, name, enable=None, reset=False):
    """``value`` delayed by ``clocks`` registers; ``clocks`` = 0 gives ``value`` itself.

    If the pipeline can stall, the registers take a new value only in clocks in which ``enable`` is
    1; None means every clock. ``reset`` = True is for control bits, which must be 0 after reset;
    data needs no reset. The registers are in ``m`` and called ``<name>_1`` and so on.
    """
    for clock in range(1, clocks + 1):
        register = Signal(value.shape(), name=f"{name}_{clock}", reset_less=not reset)
        with m.If(1 if enable is None else enable):
            m.d.sync += register.eq(value)
        value = register
    return value

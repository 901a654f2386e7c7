"""A value some clocks later, for values that accompany a pipeline."""

from amaranth import *

from hw.estimate import Estimate

__all__ = ["delay", "delay_estimate"]

#: Clocks from which on registers in a row, without reset, are shift registers of lookup tables; and
#: the most that one table holds.
_SHIFT, _LONGEST = 3, 32


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


def delay_estimate(width, clocks):
    """Resources of a ``delay`` of ``width`` bits by ``clocks`` clocks, without reset, if nothing
    reads the registers but the last: three registers or more are then shift registers of lookup
    tables."""
    if clocks < _SHIFT:
        return Estimate(lut=0, ff=width * clocks)
    return Estimate(lut=width * -(-clocks // _LONGEST), ff=0)

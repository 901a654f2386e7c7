"""What rides along a pipeline that one enable moves."""

from amaranth import *

__all__ = ["delay"]


def delay(m, enable, value, clocks, *, name, reset_less=False):
    """``value`` of ``clocks`` enabled clocks ago, through registers ``s1_<name>``, ``s2_<name>``..

    Valid bits take the reset; data does not need it (``reset_less``).
    """
    for stage in range(1, clocks + 1):
        register = Signal(value.shape(), name=f"s{stage}_{name}", reset_less=reset_less)
        with m.If(enable):
            m.d.sync += register.eq(value)
        value = register
    return value

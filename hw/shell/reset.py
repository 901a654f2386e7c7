"""The reset tree: how the kernel's reset pin reaches the registers inside."""

from amaranth import *

__all__ = ["RESET_LATENCY", "reset_tree"]

#: Registers between the pin and the registers that it resets, and so the clocks that a reset takes.
RESET_LATENCY = 3


def reset_tree(m, pin):
    """Returns the reset of the kernel's inside: ``pin``, ``RESET_LATENCY`` clocks later.

    About half of a kernel's registers have this reset, so its path may be long, and may cross from
    die to die; the registers in between divide the path. They have no reset themselves, and the
    vendor's tools must not join them to a shift register, which stands in one place.

    Parameters
    ----------
    m : Module
        The kernel's module; the registers are in its domain ``sync``.
    pin : Value
        1 while the kernel is in reset.
    """
    reset = pin
    for number in range(RESET_LATENCY):
        stage = Signal(
            name=f"reset_{number}", init=1, reset_less=True, attrs={"shreg_extract": "no"}
        )
        m.d.sync += stage.eq(reset)
        reset = stage
    return reset

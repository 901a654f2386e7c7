"""The control registers of ``ap_ctrl_hs`` as a table; the arguments of a kernel follow them.

Hardware (``hw.shell.control``), host, documents and packaging read it.

Source: UG1393 "Kernel Controls"; the control slave of Vitis_Accel_Examples' rtl_vadd.
"""

from dataclasses import dataclass

__all__ = ["ARGUMENTS", "CONTROL", "CTRL", "GIER", "IP_IER", "IP_ISR", "STOP", "Bit", "Register"]

#: Byte offset of the first argument.
ARGUMENTS = 0x10


@dataclass(frozen=True, kw_only=True)
class Bit:
    """A bit of a control register.

    ``bit`` is its position, ``doc`` says what a 1 means, ``writable`` whether the host may write
    it. If ``toggles``, a written 1 inverts the bit and a written 0 leaves it.
    """

    name: str
    bit: int
    doc: str
    writable: bool = True
    toggles: bool = False


@dataclass(frozen=True, kw_only=True)
class Register:
    """A control register of 32 bits, at byte ``offset`` of the control slave.

    ``doc`` says what it is for. Bits that no entry of ``bits`` names read 0.
    """

    name: str
    offset: int
    doc: str
    bits: tuple[Bit, ...]

    def bit(self, name):
        """Position of the bit called ``name``."""
        return next(bit.bit for bit in self.bits if bit.name == name)


CTRL = Register(
    name="CTRL",
    offset=0x00,
    doc="control",
    bits=(
        Bit(name="ap_start", bit=0, doc="write 1 to start; 0 when the launch has ended"),
        Bit(name="ap_done", bit=1, doc="a launch has ended; a read clears it", writable=False),
        Bit(name="ap_idle", bit=2, doc="no launch is under way", writable=False),
        Bit(name="ap_ready", bit=3, doc="as ap_done", writable=False),
        Bit(name="auto_restart", bit=7, doc="start again after every launch"),
    ),
)
GIER = Register(
    name="GIER",
    offset=0x04,
    doc="global interrupt enable",
    bits=(Bit(name="enable", bit=0, doc="lets the interrupt out"),),
)
IP_IER = Register(
    name="IP_IER",
    offset=0x08,
    doc="interrupt enable",
    bits=(
        Bit(name="ap_done", bit=0, doc="record that a launch has ended"),
        Bit(name="ap_ready", bit=1, doc="record that a launch was taken"),
    ),
)
IP_ISR = Register(
    name="IP_ISR",
    offset=0x0C,
    doc="interrupt status",
    bits=(
        Bit(name="ap_done", bit=0, doc="a launch has ended; a written 1 toggles", toggles=True),
        Bit(name="ap_ready", bit=1, doc="a launch was taken; a written 1 toggles", toggles=True),
    ),
)
CONTROL = (CTRL, GIER, IP_IER, IP_ISR)

#: Of kernels with a command that may be stopped; it may be written while a launch is under way.
STOP = Register(
    name="STOP",
    offset=0xFFC,
    doc="stop",
    bits=(Bit(name="stop", bit=0, doc="PLAY ends before its next vector step; stays as written"),),
)

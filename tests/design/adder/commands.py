"""The commands of the kernel ``adder``: each with its fields and limits, footprints and rules."""

from amaranth.lib import enum
from design.adder.config import NUMBER_BYTES
from design.adder.records import Error

from hw.shell.buffers import Buffer
from hw.shell.command import Command, CommandTable, Footprint, Rule, counted, results
from hw.shell.layout import Field

__all__ = ["BUFFERS", "COMMANDS", "Opcode"]

#: Beyond those of every kernel: both on one master, which is never written.
BUFFERS = (
    Buffer(name="x", master="vectors", access="r"),
    Buffer(name="y", master="vectors", access="r"),
)


class Opcode(enum.Enum, shape=8):
    NONE = 0  #: no command has it
    BIAS = 1
    ADD = 2


def _numbers(c, s):
    """Bytes of ``count`` numbers."""
    return c.count * NUMBER_BYTES


_BIAS = Command(
    Opcode.BIAS, "Set what every ADD adds to each sum.", (Field("bias", "u32", "any number"),)
)
_ADD = Command(
    Opcode.ADD,
    "Write x + y + bias, modulo 2**32, of `count` numbers. One that memory fails may have written "
    "any of its results, and is not counted in the status.",
    (
        Field("x", "u32", "byte offset in x, a multiple of 64"),
        Field("y", "u32", "byte offset in y, a multiple of 64"),
    ),
    count=counted(lambda config: config.capacity, "numbers, u32 each"),
    footprints=(
        Footprint("x", _numbers, "`count` numbers", offset="x"),
        Footprint("y", _numbers, "`count` numbers", offset="y"),
        results(_numbers, "`count` sums; zeros fill the last beat"),
    ),
    rules=(Rule(Error.BIAS, lambda c, s: s.given == 0, "a BIAS came before"),),
)

COMMANDS = CommandTable((_BIAS, _ADD))

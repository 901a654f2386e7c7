"""The status block and the errors of the kernel ``adder``."""

import enum

from hw.shell.errors import ERRORS, ShellError
from hw.shell.layout import Field, Layout

__all__ = ["ADDER_ERRORS", "ADDER_STATUS", "Error"]

ADDER_STATUS = Layout(
    "Adder status",
    "State of the adder after a launch.",
    (
        Field("added", "u64", "sums written by every ADD that did not fail"),
        Field("bias", "u32", "of the last BIAS"),
        Field("given", "u32", "1 after a BIAS"),
        Field("cycles", "u32", "last ADD: clocks from its start to its end"),
    ),
    size=64,
)


class Error(enum.IntEnum):
    NONE, OPCODE, OPERANDS, RESULTS, AXI, COUNT, FIELD, BUFFER, PROGRAM, POINTER = ShellError
    BIAS = 16


ADDER_ERRORS = {**ERRORS, Error.BIAS: ("bias", "ADD before any BIAS")}

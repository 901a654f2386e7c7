"""Programs and status: what every kernel reads at a launch's start and writes at its end.

A program is a list of 64-byte commands. Each begins with COMMAND_HEADER; a design lays its own
fields behind it. A launch ends with a status block: STATUS, then the design's own block.
"""

from enum import IntEnum

from amaranth.lib import data

from hw.shell.layout import Field, Layout

__all__ = [
    "COMMAND_BYTES",
    "COMMAND_HEADER",
    "ERRORS",
    "MAGIC",
    "OUTCOME",
    "PAGE_BYTES",
    "STATUS",
    "ShellError",
    "command_layout",
]

COMMAND_BYTES = 64
#: What a buffer begins on, and the least that a host takes.
PAGE_BYTES = 4096
MAGIC = 0x524C4641  # "RLFA"

COMMAND_HEADER = (
    Field("opcode", "u32", "what to do"),
    Field("count", "u32", "items"),
    Field("source", "u32", "byte offset in operands, a multiple of 64"),
    Field("destination", "u32", "byte offset in results, a multiple of 64"),
)

#: What a core answers to a command: 0 or an error, and the item that failed.
OUTCOME = data.StructLayout({"error": 32, "detail": 32})


class ShellError(IntEnum):
    """Errors of the shell, and of every design; a design's own begin at 16."""

    NONE, OPCODE, OPERANDS, RESULTS, AXI, COUNT = range(6)


#: Errors of the shell and of every design: code -> (name, meaning).
ERRORS = {
    ShellError.NONE: ("none", "every command was executed"),
    ShellError.OPCODE: ("opcode", "no command has this opcode"),
    ShellError.OPERANDS: (
        "operands",
        "source + length leaves the operands buffer or is not a multiple of 64",
    ),
    ShellError.RESULTS: (
        "results",
        "destination + length leaves the results buffer or is not a multiple of 64",
    ),
    ShellError.AXI: ("axi", "memory answered a read or write with an error"),
    ShellError.COUNT: ("count", "count is zero or larger than the design allows"),
}

STATUS = Layout(
    "Status",
    "Written by the shell at the end of a launch.",
    (
        Field("magic", "u32", "0x524c4641"),
        Field("executed", "u32", "commands that finished without an error"),
        Field("config_hash", "u64", "hash of the kernel's config"),
        Field("error", "u32", "0, or why the launch stopped early"),
        Field("error_command", "u32", "position in the program of the command that failed"),
        Field("error_detail", "u32", "position of the item that failed, where the error has one"),
        Field("reserved", "u32", "0"),
        Field("cycles", "u64", "clocks from start to the writing of this block"),
    ),
    size=64,
)


def command_layout(opcode, doc, fields=()):
    """Command ``opcode`` (an enum member): the header, then ``fields``; 64 bytes."""
    return Layout(
        opcode.name, f"Opcode {opcode.value}. {doc}", (*COMMAND_HEADER, *fields), size=COMMAND_BYTES
    )

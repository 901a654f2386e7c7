"""Programs and status: what every kernel reads at a launch's start and writes at its end.

A program is a list of 64-byte commands (``hw.shell.command``). A launch ends with a status block:
STATUS, then the design's own block.
"""

from enum import IntEnum

from amaranth.lib import data

from hw.shell.layout import Field, Layout

__all__ = [
    "COMMAND_BYTES",
    "ERRORS",
    "MAGIC",
    "OUTCOME",
    "PAGE_BYTES",
    "STATUS",
    "ShellError",
]

COMMAND_BYTES = 64
#: What a buffer begins on, and the least that a host takes.
PAGE_BYTES = 4096
MAGIC = 0x524C4641  # "RLFA"

#: What a core answers to a command: 0 or an error, and the item that failed.
OUTCOME = data.StructLayout({"error": 32, "detail": 32})


class ShellError(IntEnum):
    """Errors of the shell, and of every design; a design's own begin at 16."""

    NONE, OPCODE, OPERANDS, RESULTS, AXI, COUNT, FIELD, BUFFER, PROGRAM, POINTER = range(10)


#: Errors of the shell and of every design: code -> (name, meaning).
ERRORS = {
    ShellError.NONE: ("none", "every command was executed"),
    ShellError.OPCODE: ("opcode", "no command has this opcode"),
    ShellError.OPERANDS: (
        "operands",
        "source + length, in whole beats, is beyond the end of operands, or an offset is not a "
        "multiple of 64",
    ),
    ShellError.RESULTS: (
        "results",
        "destination + length, in whole beats, is beyond the end of results, or destination is not "
        "a multiple of 64",
    ),
    ShellError.AXI: (
        "axi",
        "memory answered a read or write of the command with an error; what a failed command has "
        "changed is in its description",
    ),
    ShellError.COUNT: ("count", "count is zero or larger than the design allows"),
    ShellError.FIELD: (
        "field",
        "a field is out of its range, or a byte that has no meaning is not 0; the detail is its "
        "byte in the command",
    ),
    ShellError.BUFFER: (
        "buffer",
        "what the command reads or writes, in whole beats, is beyond a buffer of the design's own, "
        "or an offset there is not a multiple of 64",
    ),
    ShellError.PROGRAM: (
        "program",
        "command_count commands are more than program_bytes holds; nothing was executed",
    ),
    ShellError.POINTER: (
        "pointer",
        "a buffer does not begin on a multiple of 64; the detail is the id of the argument; "
        "nothing was executed",
    ),
}

STATUS = Layout(
    "Status",
    "Written by the shell at the end of a launch.",
    (
        Field("magic", "u32", "0x524c4641"),
        Field("executed", "u32", "commands that finished without an error"),
        Field("config_hash", "u64", "hash of the kernel's config, layouts, opcodes and errors"),
        Field("error", "u32", "0, or why the launch stopped early"),
        Field("error_command", "u32", "position in the program of the command that failed"),
        Field("error_detail", "u32", "position of the item that failed, where the error has one"),
        Field("reserved", "u32", "0"),
        Field("cycles", "u64", "clocks from start to the writing of this block"),
    ),
    size=64,
)

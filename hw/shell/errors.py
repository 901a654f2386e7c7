"""Error codes: why a command, or a launch, was not executed.

These are the shell's, which every design has. A design's own begin at 16 and stand in its
``records.py``. A launch's error is in the status block (``status_block.py``); a rule of the command
table (``command.py``) or a unit of the core raises it.
"""

from enum import IntEnum

__all__ = ["ERRORS", "ShellError"]


class ShellError(IntEnum):
    """Error codes that every design has; a design's own codes begin at 16.

    NONE (0) says that there was no error; ``ERRORS`` gives the meaning of each of the others.
    """

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

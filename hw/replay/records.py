"""The replay kernel's records, status block and errors: one table each.

Experiences are records of whole granules (16 bytes). In operands and results they follow each other
without gaps. In storage each experience begins on a new beat, so that one read of whole beats
fetches it.
"""

import enum

from hw.replay.config import GRANULE_WIDTH
from hw.shell.errors import ERRORS, ShellError
from hw.shell.layout import Field, Layout

__all__ = ["Error", "GRANULE_BYTES", "HEADER", "ITEM", "REPLAY_ERRORS", "REPLAY_STATUS"]

GRANULE_BYTES = GRANULE_WIDTH // 8

ITEM = Layout(
    "Item",
    "An element of the lists in operands.",
    (
        Field("index", "u32", "experience"),
        Field("value", "u32", "raw priority, or TD error as the bits of an f32"),
    ),
    size=8,
)

HEADER = Layout(
    "Batch record",
    "A batch is one of these, then the experience, for each draw.",
    (
        Field("index", "u32", "which experience"),
        Field("priority", "u32", "its raw priority"),
        Field("weight", "f32", "(fill * priority / total)**-beta, not normalised"),
        Field("reserved", "u32", "0"),
    ),
    size=GRANULE_BYTES,
)

REPLAY_STATUS = Layout(
    "Replay status",
    "State of the replay memory after a launch.",
    (
        Field("total", "u64", "sum of all raw priorities"),
        Field("state", "u64", "random generator: a, b, c, counter", 4),
        Field("maximum", "u32", "largest raw priority so far"),
        Field("position", "u32", "where the next experience goes"),
        Field("fill", "u32", "experiences stored"),
        Field("saturations", "u32", "priorities and TD errors clipped since SETUP"),
        Field("draw_cycles", "u32", "last SAMPLE or FIND: clocks from its start to the last draw"),
        Field("gather_cycles", "u32", "then to the arrival of the last experience"),
        Field("write_cycles", "u32", "then until the batch was in memory"),
        Field("capacity", "u32", "of the last SETUP"),
        Field("granules", "u32", "of the last SETUP"),
    ),
    size=128,
)


class Error(enum.IntEnum):
    """Errors of a launch: the shell's, then the replay core's; ``REPLAY_ERRORS`` explains them."""

    NONE, OPCODE, OPERANDS, RESULTS, AXI, COUNT, FIELD, BUFFER, PROGRAM, POINTER = ShellError
    RESTORE, FILL, EMPTY, INDEX, PRIORITY, TD, TARGET = range(16, 23)


REPLAY_ERRORS = {
    **ERRORS,
    Error.RESTORE: (
        "restore",
        "position and fill contradict the capacity or each other; nothing changed",
    ),
    Error.FILL: ("fill", "SAMPLE of more experiences than are stored"),
    Error.EMPTY: ("empty", "SAMPLE while all priorities are 0"),
    Error.INDEX: ("index", "an index is not below fill; that item was left out"),
    Error.PRIORITY: (
        "priority",
        "a priority is larger than the format; that item was left out, and entered with priority 0 "
        "in an INSERT",
    ),
    Error.TD: (
        "td",
        "a TD error is infinite or not a number; that item was left out, and entered with priority "
        "0 in an INSERT",
    ),
    Error.TARGET: ("target", "a position of FIND is not below the total; its header is zeros"),
}

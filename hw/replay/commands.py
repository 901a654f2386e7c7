"""The replay kernel's commands, batch records, status and errors: one table each.

Experiences are records of whole granules (16 bytes). In operands and results they lie dense; in
storage each begins on a beat of its own, so that one read of whole beats fetches it.
"""

from amaranth.lib import enum

from hw.replay.config import GRANULE_WIDTH
from hw.shell.layout import Field, Layout
from hw.shell.program import ERRORS, ShellError, command_layout

__all__ = [
    "BATCHES",
    "COMMANDS",
    "Error",
    "GRANULE_BYTES",
    "HEADER",
    "ITEM",
    "LISTS",
    "MAX_COUNT",
    "MAX_GRANULES",
    "MAX_TRANSFER",
    "Opcode",
    "REPLAY_ERRORS",
    "REPLAY_STATUS",
]

GRANULE_BYTES = GRANULE_WIDTH // 8

#: Items a command, granules a record, and granules that one command moves.
MAX_COUNT = (1 << 16) - 1
MAX_GRANULES = (1 << 12) - 1
MAX_TRANSFER = (1 << 22) - 1


class Opcode(enum.Enum, shape=8):
    NONE = 0  #: no command has it
    SETUP = 1
    SEED = 2
    RESTORE = 3
    INSERT = 4
    SET = 5
    UPDATE = 6
    SAMPLE = 7
    FIND = 8
    GET = 9


_COMMANDS = [
    command_layout(
        Opcode.SETUP,
        "Empty the memory: all priorities 0, nothing stored.",
        (
            Field("capacity", "u32", "experiences, 2 to the capacity of the kernel"),
            Field("granules", "u32", "16-byte granules of an experience; 0 stores priorities only"),
            Field("priority", "u32", "raw priority of an experience before any was set"),
        ),
    ),
    command_layout(
        Opcode.SEED,
        "State of the random generator, in the order of numpy.random.SFC64.",
        (Field("state", "u64", "a, b, c, counter", 4),),
    ),
    command_layout(
        Opcode.RESTORE,
        "Take up where a checkpoint ended; SET commands then bring the priorities.",
        (
            Field("position", "u32", "where the next experience goes"),
            Field("fill", "u32", "experiences stored"),
            Field("maximum", "u32", "largest raw priority so far"),
        ),
    ),
    command_layout(
        Opcode.INSERT,
        "Store `count` experiences of operands over the oldest, each with the largest "
        "priority so far (Schaul et al. 2016, algorithm 1).",
        (Field("priority", "u32", "raw priority to give instead, or 0"),),
    ),
    command_layout(Opcode.SET, "Items (index, raw priority) of operands."),
    command_layout(
        Opcode.UPDATE,
        "Items (index, TD error as f32) of operands; priority = (|td| + epsilon)**alpha.",
        (Field("alpha", "u32", "UQ(1, 15)"), Field("epsilon", "u32", "UQ(0, 16)")),
    ),
    command_layout(
        Opcode.SAMPLE,
        "Draw `count` experiences with probability priority / total; write a batch.",
        (
            Field(
                "step",
                "u64",
                "2**48: uniform draws; floor(2**48 / count): one in each of `count` equal strata",
            ),
            Field("beta", "u32", "UQ(1, 15), exponent of the importance weights"),
        ),
    ),
    command_layout(
        Opcode.FIND,
        "Items u64 of operands: positions in 0..total - 1; write a batch of the "
        "experiences that hold them.",
        (Field("reserved", "u64", "0"), Field("beta", "u32", "as SAMPLE")),
    ),
    command_layout(
        Opcode.GET,
        "Items (index, 0) of operands; write a batch of headers alone.",
        (Field("reserved", "u64", "0"), Field("beta", "u32", "as SAMPLE")),
    ),
]

#: Commands that take a list of items from operands; that write a batch to results.
LISTS = (Opcode.SET, Opcode.UPDATE, Opcode.FIND, Opcode.GET)
BATCHES = (Opcode.SAMPLE, Opcode.FIND, Opcode.GET)

#: Opcode -> layout.
COMMANDS = {Opcode[layout.name]: layout for layout in _COMMANDS}

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
    NONE, OPCODE, OPERANDS, RESULTS, AXI, COUNT = ShellError
    SETUP, FILL, EMPTY, INDEX, PRIORITY, TD, TARGET = range(16, 23)


REPLAY_ERRORS = {
    **ERRORS,
    Error.SETUP: ("setup", "capacity, granules, position or fill is out of range; nothing changed"),
    Error.FILL: ("fill", "SAMPLE of more experiences than are stored"),
    Error.EMPTY: ("empty", "SAMPLE while all priorities are 0"),
    Error.INDEX: ("index", "an index is not below fill; that item was left out"),
    Error.PRIORITY: ("priority", "a priority is larger than the format; that item was left out"),
    Error.TD: ("td", "a TD error is infinite or not a number; that item was left out"),
    Error.TARGET: ("target", "a FIND position is not below total; its header is zeros"),
}

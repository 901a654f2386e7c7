"""The replay kernel's commands: each with its fields and limits, footprints and rules."""

from amaranth.lib import enum

from hw.replay.config import FRACTION_WIDTH
from hw.replay.records import GRANULE_BYTES, ITEM, Error
from hw.shell.buffers import Buffer
from hw.shell.command import (
    Command,
    CommandTable,
    Footprint,
    Rule,
    counted,
    operands,
    results,
    round_up,
)
from hw.shell.layout import Field

__all__ = ["BUFFERS", "COMMANDS", "FIELDS", "Given", "MAX_COUNT", "MAX_GRANULES", "MAX_TRANSFER"]
__all__ += ["Opcode"]

#: Items a command, granules a record, and granules that one command moves.
MAX_COUNT = (1 << 16) - 1
MAX_GRANULES = (1 << 12) - 1
MAX_TRANSFER = (1 << 22) - 1

#: Buffers beyond those of every kernel.
BUFFERS = (Buffer(name="storage", master="storage", access="rw", large=True),)


class Opcode(enum.Enum, shape=8):
    """What a command of ``replay`` does; ``COMMANDS`` says how."""

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


class Given(enum.IntEnum, shape=2):
    """What an INSERT brings for each experience: nothing, a priority, or a TD error."""

    NOTHING = 0  #: the largest priority so far
    PRIORITIES = 1
    TD_ERRORS = 2


def _priority_limit(config):
    return config.replay.priority_limit


def _storage(granules):
    """The footprint of all experiences in storage."""
    return Footprint("storage", lambda c, s: granules(c, s) * GRANULE_BYTES, "the experiences")


def _records(granules):
    """Values of a command that moves ``count`` records of ``granules(c, s)``."""
    return {"items": lambda c, s: c.count, "record": granules}


#: Fields that several commands have.
FIELDS = {
    field.name: field
    for field in (
        Field("alpha", "u32", "UQ(1, 15)", high=0xFFFF, default=0),
        Field("epsilon", "u32", "UQ(0, 16)", high=0xFFFF, default=0),
        Field(
            "beta", "u32", "UQ(1, 15), exponent of the importance weights", high=0xFFFF, default=0
        ),
        Field(
            "given",
            "u32",
            "the list has: 0 nothing, 1 raw priorities, 2 TD errors",
            high=2,
            default=0,
        ),
        Field("priorities", "u32", "byte offset of the list, a multiple of 64"),
    )
}
_COUNT = counted(MAX_COUNT)
# Keeps ``beta`` at its byte of SAMPLE: the core reads it there for all (``CommandTable.field``).
_UNUSED = Field("reserved", "u64", "0", high=0)
_STORED = _storage(lambda c, s: s.extent)
_BATCH = results(lambda c, s: c.transfer * GRANULE_BYTES, "a batch; zeros fill its last beat")
_TRANSFER = Rule(
    Error.COUNT,
    lambda c, s: c.transfer > MAX_TRANSFER,
    f"at most {MAX_TRANSFER} granules are moved",
)


def _list(doc):
    return operands(lambda c, s: c.count * ITEM.size, doc)


_SETUP = Command(
    Opcode.SETUP,
    "Empty the memory: all priorities 0, nothing stored.",
    (
        Field("capacity", "u32", "experiences", low=2, high=lambda config: config.replay.capacity),
        Field("granules", "u32", "of an experience, 16 bytes each", high=MAX_GRANULES),
        Field("priority", "u32", "raw, of an experience before any", low=1, high=_priority_limit),
    ),
    values={
        "items": lambda c, s: c.capacity,
        "record": lambda c, s: round_up(c.granules, s.config.engine.beat_bytes // GRANULE_BYTES),
    },
    footprints=(_storage(lambda c, s: c.transfer),),
)
_SEED = Command(
    Opcode.SEED,
    "State of the random generator, in the order of numpy.random.SFC64.",
    (Field("state", "u64", "a, b, c, counter", 4),),
)
_RESTORE = Command(
    Opcode.RESTORE,
    "Take up where a checkpoint ended; SET commands then bring the priorities.",
    (
        Field("position", "u32", "where the next experience goes"),
        Field("fill", "u32", "experiences stored"),
        Field("maximum", "u32", "largest raw priority so far", high=_priority_limit),
    ),
    rules=(
        Rule(
            Error.RESTORE,
            lambda c, s: (c.position >= s.capacity) | (c.fill > s.capacity),
            "position is below the capacity, and fill at most the capacity",
        ),
        Rule(
            Error.RESTORE,
            lambda c, s: (c.fill != s.capacity) & (c.position != c.fill),
            "position is fill, unless the memory is full",
        ),
    ),
)
_INSERT = Command(
    Opcode.INSERT,
    "Store `count` experiences of operands over the oldest. Each enters with `priority`, or, if "
    "that is 0, with what a list of operands has for it, or, without one, with the largest "
    "priority so far (Schaul et al. 2016, algorithm 1). An INSERT that memory fails leaves "
    "position and fill as they were; the places that it may have touched have priority 0, and "
    "the same INSERT may be repeated. The largest priority so far, and the count of clipped ones, "
    "may have risen by what its list had for experiences before the failure.",
    (
        FIELDS["alpha"],
        FIELDS["epsilon"],
        FIELDS["given"],
        FIELDS["priorities"],
        Field("priority", "u32", "raw, for all, or 0", high=_priority_limit, default=0),
    ),
    count=_COUNT,
    values=_records(lambda c, s: s.granules),
    footprints=(
        operands(lambda c, s: c.transfer * GRANULE_BYTES, "`count` experiences, dense"),
        operands(
            lambda c, s: c.count * ITEM.size * (c.given != 0),
            "`priorities`: an item for each experience, whose index is not read; as in UPDATE",
            offset="priorities",
        ),
        _STORED,
    ),
    rules=(
        Rule(Error.COUNT, lambda c, s: c.count > s.capacity, "count is at most the capacity"),
        _TRANSFER,
        Rule(
            Error.PRIORITY,
            lambda c, s: (c.given != 0) & (c.priority != 0),
            "priority is 0 where a list is given",
        ),
    ),
)
_SET = Command(
    Opcode.SET,
    "Give experiences priorities. Where memory fails, the item at the detail and all behind it "
    "are left out.",
    count=_COUNT,
    footprints=(_list("items: index, raw priority"),),
)
_UPDATE = Command(
    Opcode.UPDATE,
    "priority = (|td| + epsilon)**alpha. Where memory fails, the item at the detail and all behind "
    "it are left out.",
    (FIELDS["alpha"], FIELDS["epsilon"]),
    count=_COUNT,
    footprints=(_list("items: index, TD error as f32"),),
)
_SAMPLE = Command(
    Opcode.SAMPLE,
    "Draw `count` experiences with probability priority / total; write a batch.",
    (
        Field(
            "stratum_width",
            "u64",
            "2**48: uniform draws; floor(2**48 / count): one in each of `count` equal strata",
            high=1 << FRACTION_WIDTH,
        ),
        FIELDS["beta"],
    ),
    count=_COUNT,
    values=_records(lambda c, s: s.granules + 1),
    footprints=(_BATCH, _STORED),
    rules=(
        _TRANSFER,
        Rule(Error.FILL, lambda c, s: c.count > s.fill, "count is at most what is stored"),
        Rule(Error.EMPTY, lambda c, s: s.empty, "some priority is not 0"),
    ),
)
_FIND = Command(
    Opcode.FIND,
    "Write a batch of the experiences that hold positions in 0..total - 1.",
    (_UNUSED, FIELDS["beta"]),
    count=_COUNT,
    values=_records(lambda c, s: s.granules + 1),
    footprints=(_list("positions, u64"), _BATCH, _STORED),
    rules=(_TRANSFER,),
)
_GET = Command(
    Opcode.GET,
    "Write a batch of headers alone.",
    (_UNUSED, FIELDS["beta"]),
    count=_COUNT,
    values=_records(lambda c, s: 1),
    footprints=(_list("items: index, 0"), _BATCH),
)

COMMANDS = CommandTable(
    (_SETUP, _SEED, _RESTORE, _INSERT, _SET, _UPDATE, _SAMPLE, _FIND, _GET),
    stages={"transfer": lambda c, s: c.items * c.record},
)

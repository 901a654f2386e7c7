"""FIXAR's commands: those of the learner, an ACT with exploration noise, and FORMAT.

FORMAT is the switch of FIXAR IV: it says which numbers are codes of 16 bits, and at which shift.
"""

from amaranth.lib import enum

from hw.fixar.config import CODE_WIDTH, LEAST_CODE_BITS
from hw.fixar.precision import shift_limits, slots
from hw.learner.commands import LEARNING, LearnOpcode
from hw.learner.records import ERRORS as LEARNER_ERRORS
from hw.learner.records import LEARNER_STATUS, LearnError
from hw.replay.commands import COMMANDS as REPLAY_COMMANDS
from hw.shell.command import Command, CommandTable, Rule
from hw.shell.errors import ShellError
from hw.shell.layout import Field, Layout

__all__ = ["COMMANDS", "ERRORS", "FIXAR", "FIXAR_STATUS", "FixarError", "FixarOpcode"]
__all__ += ["RANGE_SLOTS", "shift_bytes"]

#: Slots of activations and of errors of the deepest networks, four hidden layers.
RANGE_SLOTS = 9, 10


class FixarOpcode(enum.Enum, shape=8):
    """FIXAR's opcodes, besides those of the learner."""

    FORMAT = 37


class FixarError(enum.IntEnum, shape=32):
    """FIXAR's errors, after the learner's."""

    SHIFT = 38
    PRECISION = 39


ERRORS = {
    **LEARNER_ERRORS,
    LearnError.NUMBER: (
        "number",
        f"{LEARNER_ERRORS[LearnError.NUMBER][1]}; or an experience of INSERT, whose position is "
        "the detail: the INSERT ends as one that memory fails. Actions are in -1..1, discounts in "
        "0..1 and not -0",
    ),
    FixarError.SHIFT: (
        "shift",
        "a shift reaches beyond full precision, or its layer does not exist",
    ),
    FixarError.PRECISION: ("precision", "errors are half where activations are full"),
}

FIXAR_STATUS = Layout(
    "FIXAR status",
    "The learner's status, then precision and ranges. A range in which nothing was seen has its "
    "low above its high.",
    (
        *LEARNER_STATUS.fields,
        Field("precision", "u32", "bits: activations half, errors half"),
        Field("activation_shifts", "u32", "a byte a slot, as FORMAT", 3),
        Field("error_shifts", "u32", "a byte a slot, as FORMAT", 3),
        Field("activation_ranges", "i32", "low and high of each slot", 2 * RANGE_SLOTS[0]),
        Field("error_ranges", "i32", "low and high of each slot", 2 * RANGE_SLOTS[1]),
    ),
    size=320,
)


def shift_bytes(words):
    """List of the shifts in ``words``, four bytes from each word of 32 bits, the lowest byte first.
    Words and shifts are integers or Amaranth values."""
    return [(word >> 8 * k) & 0xFF for word in words for k in range(4)]


def _any(flags):
    result = False
    for flag in flags:
        result = flag | result
    return result


def _beyond(kind):
    """Whether a shift of ``kind`` (0 activations, 1 errors) is beyond its limit."""

    def broken(c, s):
        words = (c.activation_shifts, c.error_shifts)[kind]
        learner = s.config.learner
        count, limit = slots(learner)[kind], shift_limits(learner)[kind]
        shifts = shift_bytes([words[k] for k in range(3)])
        return _any(shift > (limit if k < count else 0) for k, shift in enumerate(shifts))

    return broken


_FORMAT = Command(
    FixarOpcode.FORMAT,
    "Precision of all passes to come, training and acting alike. Nothing that is stored changes: "
    "weights, targets and moments have full precision always.",
    (
        Field("activations", "u32", "1: codes of 16 bits; 0: full", high=1),
        Field("errors", "u32", "1: codes of 16 bits; 0: full", high=1),
        Field("clear", "u32", "1: forget the ranges", high=1, default=0),
        Field(
            "activation_shifts",
            "u32",
            "a byte a slot: the frame, the critic's hidden layers, the actor's; "
            "value = code * 2**shift units of full precision",
            3,
        ),
        Field(
            "error_shifts",
            "u32",
            "a byte a slot: errors at the outputs of the critic's layers, then of the actor's",
            3,
        ),
        Field(
            "activation_bits",
            "u32",
            f"bits of an activation's code, {LEAST_CODE_BITS} to {CODE_WIDTH}, its upper ones: the "
            f"others are 0; 0 stands for {CODE_WIDTH}",
            high=CODE_WIDTH,
        ),
    ),
    rules=(
        Rule(
            FixarError.PRECISION,
            lambda c, s: (c.errors != 0) & (c.activations == 0),
            "errors are half only where activations are",
        ),
        Rule(FixarError.SHIFT, _beyond(0), "every shift of activations is within its limit"),
        Rule(FixarError.SHIFT, _beyond(1), "every shift of errors is within its limit"),
        Rule(
            ShellError.FIELD,
            lambda c, s: (c.activation_bits != 0) & (c.activation_bits < LEAST_CODE_BITS),
            f"activation_bits is 0, or at least {LEAST_CODE_BITS}",
            lambda c, s: 52,
        ),
    ),
)

_LEARNERS_ACT = LEARNING[LearnOpcode.ACT]
_ACT = Command(
    LearnOpcode.ACT,
    "The actor's action for each of `count` observations, in the precision of FORMAT, with noise "
    "in it: `action + noise * g`, limited to -1..1. g is a sum of twelve uniform numbers of 16 "
    "bits less its mean, in units of 2**-16: of the generator SFC64 from state (seed, seed, seed, "
    "1), its first twelve numbers dropped, three numbers for each g, four times 16 bits from the "
    "lowest on. An observation with an infinite number or a NaN refuses all of them. Nothing else "
    "changes.",
    (
        Field(
            "noise",
            "u32",
            "f32, standard deviation, not negative; its bits",
            high=0x7F7FFFFF,
            default=0,
        ),
        Field("reserved", "u32", "0", high=0),
        Field("seed", "u64", "of the noise", default=0),
    ),
    count=_LEARNERS_ACT.fields[1],
    footprints=_LEARNERS_ACT.footprints,
    rules=_LEARNERS_ACT.rules,
)

#: Those of the learner and of FIXAR, without the replay core's.
FIXAR = CommandTable(
    (
        *(command for opcode, command in LEARNING.items() if opcode != LearnOpcode.ACT),
        _ACT,
        _FORMAT,
    ),
    stages=LEARNING.stages,
)

COMMANDS = {**REPLAY_COMMANDS, **FIXAR}

"""Records of ``gae``: its slots in the buffers, its status block and its errors.

A rollout lies in operands as slots, in the order of time: a slot is one step of every row. Each of
its planes (kinds, rewards, values) has an element for each row and begins on a new beat. Kinds are
bytes; rewards and values are binary32, or codes.
"""

from amaranth.lib import enum

from hw.shell.errors import ERRORS, ShellError
from hw.shell.layout import Field, Layout

__all__ = ["GAE_ERRORS", "GAE_STATUS", "MOMENTS", "Error", "Kind", "Phase"]


class Kind(enum.Enum, shape=2):
    """What a row has in a slot: nothing, a step, the last step of an episode, or a bootstrap
    value."""

    NONE = 0  #: nothing: before its first or after its last trajectory
    STEP = 1  #: reward, and value of the observation that it was given for
    TERMINAL = 2  #: the same, where the episode terminated: nothing follows
    BOOTSTRAP = 3  #: value alone, of what followed the STEP before it: truncated, or unfinished


class Phase(enum.Enum, shape=1):
    """What the stack holds: codes, or results."""

    CODES = 0
    RESULTS = 1


MOMENTS = Layout(
    "Moments",
    "What STATISTICS writes of rewards, and then of values. Sums are exact.",
    (
        Field("count", "u64", "numbers"),
        Field("sum", "i64", "in units of 2**-exponent"),
        Field("squares", "u64", "sum of squares, low word first", 2),
        Field("mean", "f32", "sum / count, 0 of no numbers"),
        Field("deviation", "f32", "of the population, sqrt(squares / count - mean**2)"),
        Field("clipped", "u32", "numbers of this command that had to be clipped to 27 bits"),
    ),
    size=64,
)

GAE_STATUS = Layout(
    "Stack status",
    "State of the stack after a launch, counts since CLEAR.",
    (
        Field("fill", "u32", "slots on the stack"),
        Field("phase", "u32", "0: rewards and values, 1: results"),
        Field("clipped", "u32", "codes that PUSH clipped"),
        Field("saturated", "u32", "slots in which a result was clipped"),
        Field("overflows", "u32", "slots in which a sum left a PE's words, and wrapped"),
        Field("estimate_cycles", "u32", "last ESTIMATE: clocks from its start to the last result"),
        Field("busy", "u64", "last ESTIMATE: steps, of all rows"),
        Field("push_cycles", "u32", "last PUSH or PUSH_CODES: clocks"),
        Field("pull_cycles", "u32", "last PULL: clocks"),
    ),
    size=64,
)


class Error(enum.IntEnum):
    """Errors of a launch: the shell's, then those of ``gae``; ``GAE_ERRORS`` explains them."""

    NONE, OPCODE, OPERANDS, RESULTS, AXI, COUNT, FIELD, BUFFER, PROGRAM, POINTER = ShellError
    PHASE, FULL, KIND, UNFINISHED, NUMBER, CODE = range(16, 22)


GAE_ERRORS = {
    **ERRORS,
    Error.PHASE: (
        "phase",
        "PUSH or ESTIMATE on results, or PULL before ESTIMATE; nothing changed",
    ),
    Error.FULL: (
        "full",
        "the slots do not fit the stack, whose last slot is for bootstraps; nothing was pushed",
    ),
    Error.KIND: (
        "kind",
        "a kind is not 0 to 3, or a BOOTSTRAP does not follow a STEP; nothing was pushed",
    ),
    Error.UNFINISHED: (
        "unfinished",
        "a row ends with a STEP: a BOOTSTRAP has to follow it; nothing changed",
    ),
    Error.NUMBER: ("number", "a reward or value is infinite or not a number; nothing was pushed"),
    Error.CODE: (
        "code",
        "a code is the lowest number of its width, which codes do not use; nothing was pushed",
    ),
}

"""The commands, records, status and errors of the kernel ``gae``: one table each.

A rollout lies in operands as slots, in the order of time: a slot is one step of every row. Its
planes (kinds, rewards, values) have an element a row and begin on a beat each. Kinds are bytes;
rewards and values are binary32, or codes.
"""

from amaranth.lib import enum

from hw.shell.layout import Field, Layout
from hw.shell.program import ERRORS, ShellError, command_layout

__all__ = ["COMMANDS", "GAE_ERRORS", "GAE_STATUS", "MOMENTS", "Error", "Kind", "Opcode", "Phase"]


class Kind(enum.Enum, shape=2):
    """What a row has in a slot."""

    NONE = 0  #: nothing: before its first or after its last trajectory
    STEP = 1  #: reward, and value of the observation that it was given for
    TERMINAL = 2  #: the same, where the episode terminated: nothing follows
    BOOTSTRAP = 3  #: value alone, of what followed the STEP before it: truncated, or unfinished


class Phase(enum.Enum, shape=1):
    """What the stack holds."""

    CODES = 0
    RESULTS = 1


class Opcode(enum.Enum, shape=8):
    NONE = 0  #: no command has it
    CLEAR = 1
    STATISTICS = 2
    PUSH = 3
    PUSH_CODES = 4
    ESTIMATE = 5
    PULL = 6


_COMMANDS = [
    command_layout(Opcode.CLEAR, "Empty the stack. Counters of the status become 0."),
    command_layout(
        Opcode.STATISTICS,
        "Mean and deviation of the rewards (STEP, TERMINAL) and of the values (all but NONE) of "
        "`count` slots of numbers: two MOMENTS to results. Running ones (HEPPO, equations 6 to 9) "
        "begin with what was counted before. The stack stays as it is.",
        (
            Field("prior_count", "u64", "rewards counted before, or 0"),
            Field("prior_sum", "u64", "their sum, two's complement, in units of 2**-exponent"),
            Field("prior_squares", "u64", "the sum of their squares, low word first", 2),
            Field("reward_exponent", "u32", "a number x counts as round(x * 2**exponent), signed"),
            Field("value_exponent", "u32", "the same of values"),
        ),
    ),
    command_layout(
        Opcode.PUSH,
        "Standardize and quantize `count` slots of numbers, and push them. "
        "code = round((round(x * 2**exponent) - mean) * factor * 2**-shift), clipped.",
        (
            Field("reward_exponent", "u32", "signed"),
            Field("reward_mean", "u32", "signed, 27 bits"),
            Field("reward_factor", "u32", "26 bits"),
            Field("reward_shift", "u32", "1 to 53"),
            Field("value_exponent", "u32", "signed"),
            Field("value_mean", "u32", "signed, 27 bits"),
            Field("value_factor", "u32", "26 bits"),
            Field("value_shift", "u32", "1 to 53"),
        ),
    ),
    command_layout(Opcode.PUSH_CODES, "Push `count` slots of codes."),
    command_layout(
        Opcode.ESTIMATE,
        "Pop every slot; advantages and rewards-to-go take the place of rewards and values. "
        "Coefficients are raw numbers of the config's formats; units are words. Codes of 32 bits "
        "are words: scales and means of reward and value are not read.",
        (
            Field("gamma", "u32", "discount, at most 1"),
            Field("decay", "u32", "gamma * lambda, at most 1"),
            Field("decay_power", "u32", "(gamma * lambda)**lookahead, at most 1"),
            Field("reward_scale", "u32", "words a code"),
            Field("reward_mean", "u32", "words, signed"),
            Field("value_scale", "u32", "words a code"),
            Field("value_mean", "u32", "words, signed"),
            Field("result_mean", "u32", "words, signed, taken off each reward-to-go"),
        ),
    ),
    command_layout(
        Opcode.PULL,
        "Results of the first `count` slots to results, in the order of time: advantages, then "
        "rewards-to-go, 0 where a row has no step.",
    ),
]

#: Opcode -> layout.
COMMANDS = {Opcode[layout.name]: layout for layout in _COMMANDS}

MOMENTS = Layout(
    "Moments",
    "What STATISTICS writes of rewards, and then of values. Sums are exact.",
    (
        Field("count", "u64", "numbers"),
        Field("sum", "u64", "two's complement, in units of 2**-exponent"),
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
    NONE, OPCODE, OPERANDS, RESULTS, AXI, COUNT = ShellError
    PHASE, FULL, KIND, UNFINISHED, NUMBER, CODE, COEFFICIENT, FACTOR = range(16, 24)


GAE_ERRORS = {
    **ERRORS,
    Error.PHASE: (
        "phase",
        "PUSH or ESTIMATE on results, or PULL before ESTIMATE; nothing changed",
    ),
    Error.FULL: (
        "full",
        "the slots do not fit the stack, whose last holds bootstraps alone; nothing was pushed",
    ),
    Error.KIND: (
        "kind",
        "a kind is not 0 to 3, or a BOOTSTRAP does not follow a STEP; nothing was pushed",
    ),
    Error.UNFINISHED: (
        "unfinished",
        "a STEP of the row is followed by nothing: it needs a BOOTSTRAP; nothing changed",
    ),
    Error.NUMBER: ("number", "a reward or value is infinite or not a number; nothing was pushed"),
    Error.CODE: ("code", "a code is the lowest of its width, which has no negative; not pushed"),
    Error.COEFFICIENT: ("coefficient", "gamma or a power of the decay is over 1; nothing changed"),
    Error.FACTOR: ("factor", "a mean, factor, shift or exponent is out of range; nothing changed"),
}

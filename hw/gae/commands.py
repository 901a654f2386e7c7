"""The commands of the kernel ``gae``: each with its fields and limits, footprints and rules."""

from amaranth.lib import enum

from hw.gae.layouts import EXPONENT_LIMIT, FACTOR_WIDTH, NUMBER_WIDTH, SHIFT_LIMIT
from hw.gae.records import MOMENTS, Error, Phase
from hw.gae.statistics.mean_deviation import COUNT_WIDTH, SQUARES_WIDTH, SUM_WIDTH
from hw.shell.command import Command, CommandTable, Rule, counted, operands, results
from hw.shell.layout import Field

__all__ = ["COMMANDS", "EXPONENT_LIMIT", "FACTOR_WIDTH", "LEAST_CODE_BITS", "MAX_COUNT"]
__all__ += ["MEAN_WIDTH", "MOST_CODE_BITS", "Opcode", "SHIFT_LIMIT"]

#: Slots of one command.
MAX_COUNT = (1 << 16) - 1

#: Of PUSH: bits of a mean.
MEAN_WIDTH = NUMBER_WIDTH
#: Of PUSH: fewest bits of a code (HEPPO, figures 8 and 9), and most, as wider ones are words.
LEAST_CODE_BITS, MOST_CODE_BITS = 3, 16


class Opcode(enum.Enum, shape=8):
    """What a command of ``gae`` does; ``COMMANDS`` says how."""

    NONE = 0  #: no command has it
    CLEAR = 1
    STATISTICS = 2
    PUSH = 3
    PUSH_CODES = 4
    ESTIMATE = 5
    PULL = 6


def _signed(name, width, doc, kind="i32", default=None):
    """A number of ``width`` bits, two's complement."""
    limit = 1 << (width - 1)
    return Field(name, kind, doc, low=-limit, high=limit - 1, default=default)


def _exponent(name):
    return Field(name, "i32", "", low=-EXPONENT_LIMIT, high=EXPONENT_LIMIT)


def _standardizer(name):
    """The fields by which PUSH standardizes rewards, or values."""
    return (
        _exponent(f"{name}_exponent"),
        _signed(f"{name}_mean", MEAN_WIDTH, ""),
        Field(f"{name}_factor", "u32", "", high=(1 << FACTOR_WIDTH) - 1),
        Field(f"{name}_shift", "u32", "", low=1, high=SHIFT_LIMIT),
    )


def _coefficient(name, doc):
    return Field(name, "u32", doc, high=lambda config: 1 << config.gae.coefficient.fraction)


def _scale(name):
    def high(config):
        return None if config.gae.code_width == 32 else config.gae.scale.high

    return Field(name, "u32", "words a code", high=high, default=0)


def _mean(name, doc="words"):
    """A mean as a word; a word has 27 bits at least, the field 32."""

    def limit(config):
        return config.gae.word.high if config.gae.code_width == 8 else (1 << 31) - 1

    return Field(name, "i32", doc, low=lambda config: -limit(config) - 1, high=limit, default=0)


def _slots(footprint, planes):
    """The footprint of ``count`` slots in operands or results."""
    return footprint(
        lambda c, s: c.count * s.config.slot_bytes(planes), f"`count` slots of {planes}"
    )


_COUNT = counted(MAX_COUNT, "slots")
_COLLECTING = Rule(
    Error.PHASE, lambda c, s: s.phase == Phase.RESULTS.value, "the stack does not hold results"
)
_ROOM = Rule(
    Error.FULL,
    lambda c, s: c.count + s.fill > s.config.gae.depth + 1,
    "the slots fit the stack, whose last slot holds bootstraps alone",
)

_CLEAR = Command(Opcode.CLEAR, "Empty the stack. Counters of the status become 0.")
_STATISTICS = Command(
    Opcode.STATISTICS,
    "Mean and deviation of the rewards (STEP, TERMINAL) and of the values (all but NONE) of "
    "`count` slots of numbers, which count as round(x * 2**exponent): two MOMENTS to results. "
    "Running ones (HEPPO, equations 6 to 9) begin with what was counted before. The stack stays "
    "as it is.",
    (
        Field(
            "prior_count",
            "u64",
            "rewards counted before, or 0",
            high=(1 << COUNT_WIDTH) - 1,
            default=0,
        ),
        _signed("prior_sum", SUM_WIDTH, "their sum, in units of 2**-exponent", "i64", default=0),
        Field("prior_squares", "u64", "the sum of their squares, low word first", 2, default=0),
        _exponent("reward_exponent"),
        _exponent("value_exponent"),
    ),
    count=_COUNT,
    footprints=(
        _slots(operands, "numbers"),
        results(lambda c, s: 2 * MOMENTS.size, "MOMENTS of rewards, then of values"),
    ),
    rules=(
        Rule(
            Error.FIELD,
            lambda c, s: c.prior_squares[1] >> (SQUARES_WIDTH - 64) != 0,
            f"prior_squares is below 2**{SQUARES_WIDTH}",
            lambda c, s: 40,
        ),
    ),
)
_PUSH = Command(
    Opcode.PUSH,
    "Standardize and quantize `count` slots of numbers, and push them: code = "
    "round((round(x * 2**exponent) - mean) * factor * 2**-shift), clipped to +-(2**(b - 1) - 1), "
    "where b is code_bits, or code_width if that is 0. A PUSH that fails, of whatever cause, "
    "leaves the stack as it was.",
    (
        *_standardizer("reward"),
        *_standardizer("value"),
        Field(
            "code_bits",
            "u32",
            f"0, or {LEAST_CODE_BITS} to code_width; codes of 32 bits: 0",
            high=lambda config: config.gae.most_code_bits,
            default=0,
        ),
    ),
    count=_COUNT,
    footprints=(_slots(operands, "numbers"),),
    rules=(
        _COLLECTING,
        _ROOM,
        Rule(
            Error.FIELD,
            lambda c, s: (c.code_bits != 0) & (c.code_bits < LEAST_CODE_BITS),
            f"code_bits is 0, or at least {LEAST_CODE_BITS}",
            lambda c, s: 48,
        ),
    ),
)
_PUSH_CODES = Command(
    Opcode.PUSH_CODES,
    "Push `count` slots of codes; one that fails leaves the stack as it was.",
    count=_COUNT,
    footprints=(_slots(operands, "codes"),),
    rules=(_COLLECTING, _ROOM),
)
_ESTIMATE = Command(
    Opcode.ESTIMATE,
    "Pop every slot; advantages and rewards-to-go take the place of rewards and values. "
    "Coefficients are raw numbers of the config's formats; units are words. Codes of 32 bits are "
    "words: scales and means of reward and value are not read.",
    (
        _coefficient("gamma", "discount, at most 1"),
        _coefficient("decay", "gamma * lambda, at most 1"),
        _coefficient("decay_power", "(gamma * lambda)**lookahead, at most 1"),
        _scale("reward_scale"),
        _mean("reward_mean"),
        _scale("value_scale"),
        _mean("value_mean"),
        _mean("result_mean", "words, taken off each reward-to-go"),
    ),
    rules=(
        _COLLECTING,
        Rule(Error.COUNT, lambda c, s: s.fill == 0, "the stack is not empty"),
        Rule(
            Error.UNFINISHED,
            lambda c, s: s.unfinished,
            "no row ends with a STEP; the detail is the first that does",
            lambda c, s: s.unfinished_row,
        ),
    ),
)
_PULL = Command(
    Opcode.PULL,
    "Results of the first `count` slots to results, in the order of time: advantages, then "
    "rewards-to-go, 0 where a row has no step.",
    count=_COUNT,
    footprints=(_slots(results, "results"),),
    rules=(
        Rule(
            Error.PHASE, lambda c, s: s.phase != Phase.RESULTS.value, "an ESTIMATE came before it"
        ),
        Rule(Error.COUNT, lambda c, s: c.count > s.fill, "count is at most the slots there are"),
    ),
)

COMMANDS = CommandTable((_CLEAR, _STATISTICS, _PUSH, _PUSH_CODES, _ESTIMATE, _PULL))

"""Commands of ``gae`` at and beyond every limit, worked out by hand.

| kernel | rows | slots | codes | results | a beat | slot of numbers | of codes | of results |
|---|---|---|---|---|---|---|---|---|
| narrow | 5 | 17 + 1 | 8 bits | 8 bits | 16 bytes | 1 + 2 + 2 beats | 1 + 1 + 1 | 1 + 1 |
| middle | 3 | 9 + 1 | 16 | 8 | 16 | 1 + 1 + 1 | 1 + 1 + 1 | 1 + 1 |
| wide | 20 | 24 + 1 | 32 | 16 | 64 | 1 + 2 + 2 | 1 + 2 + 2 | 1 + 1 |
"""

import numpy as np
from limits import Case, counted, footprint, highest, lowest, padding, rule, unused

__all__ = ["BEFORE", "CASES", "GOOD", "OPERANDS"]

COUNT, FIELD = 5, 6
PHASE, FULL, UNFINISHED = 16, 17, 19

#: Slots of no steps; from here on, a slot of codes whose row 3, or 1 and 4, has a kind.
OPERANDS = np.zeros(4608, np.uint8)
_STEP, _STEPS, _TERMINAL = 4096, 4224, 4352
OPERANDS[_STEP + 3] = OPERANDS[_STEPS + 1] = OPERANDS[_STEPS + 4] = 1
OPERANDS[_TERMINAL + 3] = 2
#: A slot of numbers of the narrow kernel, a step of row 0; they are 1, so that exponents show.
_NUMBERS = 4416
OPERANDS[_NUMBERS] = 1
OPERANDS[_NUMBERS + 16 : _NUMBERS + 64].view("<f4")[:] = 1

#: A command that is taken after ``BEFORE``.
GOOD = {
    "CLEAR": {},
    "STATISTICS": {"count": 1},
    "PUSH": {"count": 1, "reward_shift": 1, "value_shift": 1},
    "PUSH_CODES": {"count": 1},
    "ESTIMATE": {},
    "PULL": {"count": 1},
}
_CLEAR, _THREE, _ESTIMATE = ("CLEAR", {}), ("PUSH_CODES", {"count": 3}), ("ESTIMATE", {})
BEFORE = {
    **dict.fromkeys(("CLEAR", "STATISTICS", "PUSH", "PUSH_CODES"), (_CLEAR,)),
    "ESTIMATE": (_CLEAR, _THREE),
    "PULL": (_CLEAR, _THREE, _ESTIMATE),
}


def _signed(command, name, byte, least, most, kind="i32", **at):
    return [
        lowest(command, name, (FIELD, byte), least, kind, **at),
        highest(command, name, (FIELD, byte), most, kind, **at),
    ]


def _standardizer(name, byte):
    return [
        *_signed("PUSH", f"{name}_exponent", byte, -150, 150, source=_NUMBERS),
        *_signed("PUSH", f"{name}_mean", byte + 4, -(2**26), 2**26 - 1),
        highest("PUSH", f"{name}_factor", (FIELD, byte + 8), 2**26 - 1),
        lowest("PUSH", f"{name}_shift", (FIELD, byte + 12), 1),
        highest("PUSH", f"{name}_shift", (FIELD, byte + 12), 53),
    ]


def _stack(command, slots):
    """``slots`` are all that the stack takes; results must be cleared first."""
    return [
        rule(command, 0, (PHASE, 0), [], [{}], BEFORE["PULL"]),
        rule(command, 0, (PHASE, 0), [{}], [], (*BEFORE["PULL"], _CLEAR)),
        rule(command, 1, (FULL, 0), [{"count": slots}], [{"count": slots + 1}]),
        rule(
            command,
            1,
            (FULL, 0),
            [{"count": slots - 3}],
            [{"count": slots - 2}, {"count": slots}, {"count": 65535}],
            (_CLEAR, _THREE),
        ),
    ]


def _coefficients(one):
    return [
        highest("ESTIMATE", "gamma", (FIELD, 16), one),
        highest("ESTIMATE", "decay", (FIELD, 20), one),
        highest("ESTIMATE", "decay_power", (FIELD, 24), one),
    ]


def _scales(most):
    return [
        highest("ESTIMATE", "reward_scale", (FIELD, 28), most),
        highest("ESTIMATE", "value_scale", (FIELD, 36), most),
    ]


def _unlimited(*checks):
    """Of ESTIMATE, numbers of which there are none beyond."""
    return [
        Case("ESTIMATE", f"{name} {end}", (FIELD, 0), ({name: number},), ())
        for name, end, number in checks
    ]


_ANY_MEAN = _unlimited(
    *((name, "low", -(2**31)) for name in ("reward_mean", "value_mean", "result_mean")),
    *((name, "high", 2**31 - 1) for name in ("reward_mean", "value_mean", "result_mean")),
)


NARROW = [
    *unused("CLEAR", "count", "source", "destination"),
    padding("CLEAR", 16),
    *counted("STATISTICS", outcome=(2, 0)),  # more operands than there are
    highest("STATISTICS", "prior_count", (FIELD, 16), 2**32 - 1, "u64"),
    # Of 2**32 numbers of 27 bits.
    *_signed("STATISTICS", "prior_sum", 24, -(2**58), 2**58 - 1, "i64"),
    rule(
        "STATISTICS",
        0,
        (FIELD, 40),
        [{"prior_squares": [2**64 - 1, 2**20 - 1]}],
        [{"prior_squares": [0, 2**20]}, {"prior_squares": [0, 2**63]}],
    ),
    *_signed("STATISTICS", "reward_exponent", 48, -150, 150, source=_NUMBERS),
    *_signed("STATISTICS", "value_exponent", 52, -150, 150, source=_NUMBERS),
    padding("STATISTICS", 56),
    *footprint("STATISTICS", "source", 240, 16, count=3),
    *footprint("STATISTICS", "destination", 128, 16),
    *counted("PUSH", outcome=(FULL, 0)),
    *unused("PUSH", "destination"),
    *_standardizer("reward", 16),
    *_standardizer("value", 32),
    highest("PUSH", "code_bits", (FIELD, 48), 8),
    rule(
        "PUSH",
        2,
        (FIELD, 48),
        [{"code_bits": b} for b in (0, 3, 8)],
        [{"code_bits": b} for b in (1, 2)],
    ),
    padding("PUSH", 52),
    *_stack("PUSH", 18),
    *footprint("PUSH", "source", 240, 16, count=3),
    *counted("PUSH_CODES", outcome=(FULL, 0)),
    *unused("PUSH_CODES", "destination"),
    padding("PUSH_CODES", 16),
    *_stack("PUSH_CODES", 18),
    *footprint("PUSH_CODES", "source", 144, 16, count=3),
    *unused("ESTIMATE", "count", "source", "destination"),
    *_coefficients(2**16),
    *_scales(2**26 - 1),
    *_signed("ESTIMATE", "reward_mean", 32, -(2**26), 2**26 - 1),
    *_signed("ESTIMATE", "value_mean", 40, -(2**26), 2**26 - 1),
    *_signed("ESTIMATE", "result_mean", 44, -(2**26), 2**26 - 1),
    padding("ESTIMATE", 48),
    rule("ESTIMATE", 0, (PHASE, 0), [], [{}], BEFORE["PULL"]),
    rule("ESTIMATE", 0, (PHASE, 0), [{}], []),
    rule("ESTIMATE", 1, (COUNT, 0), [], [{}], (_CLEAR,)),
    rule("ESTIMATE", 1, (COUNT, 0), [{}], [], (_CLEAR, ("PUSH_CODES", {"count": 1}))),
    rule("ESTIMATE", 2, (UNFINISHED, 3), [], [{}], (_CLEAR, ("PUSH_CODES", {"source": _STEP}))),
    rule("ESTIMATE", 2, (UNFINISHED, 1), [], [{}], (_CLEAR, ("PUSH_CODES", {"source": _STEPS}))),
    rule("ESTIMATE", 2, (UNFINISHED, 3), [{}], [], (_CLEAR, ("PUSH_CODES", {"source": _TERMINAL}))),
    lowest("PULL", "count", (COUNT, 0), 1),
    # The fill refuses 65535 as well. 65537 is not taken for 1.
    Case(
        "PULL",
        "count high",
        (COUNT, 0),
        ({"count": 3},),
        tuple({"count": n} for n in (65535, 65536, 65537, 2**31 + 1, 2**32 - 1)),
    ),
    *unused("PULL", "source"),
    padding("PULL", 16),
    rule("PULL", 0, (PHASE, 0), [], [{}], BEFORE["ESTIMATE"]),
    rule("PULL", 0, (PHASE, 0), [{}], []),
    rule("PULL", 1, (COUNT, 0), [{"count": 3}], [{"count": 4}]),
    *footprint("PULL", "destination", 96, 16, count=3),
]

#: Codes of 16 bits, and words: coefficients of 25 bits, means and scales of any number.
MIDDLE = [
    *_coefficients(2**25),
    *_scales(2**26 - 1),
    *_ANY_MEAN,
    *_stack("PUSH", 10),
    highest("PUSH", "code_bits", (FIELD, 48), 16),
    *_stack("PUSH_CODES", 10),
    *footprint("STATISTICS", "source", 144, 16, count=3),
    *footprint("PUSH", "source", 144, 16, count=3),
    *footprint("PUSH_CODES", "source", 144, 16, count=3),
    *footprint("PULL", "destination", 96, 16, count=3),
]
WIDE = [
    *_coefficients(2**25),
    *_unlimited(("reward_scale", "high", 2**32 - 1), ("value_scale", "high", 2**32 - 1)),
    *_ANY_MEAN,
    *_stack("PUSH", 25),
    highest("PUSH", "code_bits", (FIELD, 48), 0),
    *_stack("PUSH_CODES", 25),
    *footprint("STATISTICS", "source", 960, 64, count=3),
    *footprint("STATISTICS", "destination", 128, 64),
    *footprint("PUSH", "source", 960, 64, count=3),
    *footprint("PUSH_CODES", "source", 960, 64, count=3),
    *footprint("PULL", "destination", 384, 64, count=3),
]

CASES = [
    (name, case)
    for name, cases in (("narrow", NARROW), ("middle", MIDDLE), ("wide", WIDE))
    for case in cases
]

"""Words of records at their limits, which are taken, and beyond them, which are refused.

Every number is worked out by hand from what ``registers.md`` says: what one of the
kernel's tables says is the same for hardware and twin, right or wrong.
"""

import numpy as np

from host.learner.hyperparameters import hyperparameter_records
from hw.learner.records import STEP

__all__ = ["BETAS", "LIMITS", "NOT_FINITE", "TAKEN", "WEIGHT", "WEIGHTS", "beta", "check"]
__all__ += ["BYTES", "RIGHT", "WRONG", "inserted", "outcome", "sent", "stepped", "weightless"]

FIELD, NUMBER = 6, 34

#: Of HYPERPARAMETERS, all 32 bits: where the upper ones are cut, some are right.
BETAS = (0x1_0000, 0x1_8000, 0x8000_0000, 0xFFFF_FFFF)
#: Bits of binary32.
NOT_FINITE = {"inf": 0x7F80_0000, "-inf": 0xFF80_0000, "NaN": 0x7FC0_0000, "a NaN": 0xFF80_0001}
#: Importance weights that are none.
WEIGHTS = {**NOT_FINITE, "-0": 0x8000_0000, "-1": 0xBF80_0000, "-subnormal": 0x8000_0001}
#: The place of one in HEADER.
WEIGHT = 2
#: Importance weights beside others of 1: nothing, next to nothing, the largest number.
TAKEN = (0, 1, 0x7F7F_FFFF)
#: In fixed point, 2**100 and -2**100 as a reward or a discount, and their neighbours: the errors.
LIMITS = {0x7180_0000: NUMBER, 0xF180_0000: NUMBER, 0x717F_FFFF: 0, 0xF17F_FFFF: 0}
#: Of a STEP, the bytes of both numbers of max_norm, sweeps, noise and noise_clip, and of the shifts
#: of three networks, which are of one byte.
BYTES = (64, 68, 80, 84, 88, 92, 93, 94)
_INFINITY, _NANS = 0x7F80_0000, (0x7FC0_0000, 0x7F80_0001, 0xFFC0_0000)
#: Next to 0 on both sides, subnormals at their ends, and the least normal numbers.
_LEAST, _SUBNORMAL, _SIGN = 0x0080_0000, (1, 0x007F_FFFF), 0x8000_0000
_ZEROS = (0, _SIGN, *_SUBNORMAL, *(_SIGN | bits for bits in _SUBNORMAL))
_NEGATIVE = (_SIGN | _LEAST, 0xBF80_0000, _SIGN | _INFINITY)
_POSITIVE = (_LEAST, 0x3F80_0000, 0x7F7F_FFFF)
#: Their bits at the limits of their rules.
RIGHT = {
    64: (*_POSITIVE, _INFINITY),
    68: (*_POSITIVE, _INFINITY),
    80: (1, 3, 0xFFFF_FFFF, 0xFFFF_FFFD),
    84: (*_ZEROS, *_POSITIVE),
    88: (*_ZEROS, *_POSITIVE, _INFINITY),
    **dict.fromkeys(BYTES[5:], (8, 0xF8, 0xFF, 1)),
}
WRONG = {
    64: (*_NANS, *_ZEROS, *_NEGATIVE),
    68: (*_NEGATIVE, *_ZEROS, *_NANS),
    80: (0, 2, 0xFFFF_FFFE),
    84: (*_NEGATIVE, *_NANS, _INFINITY),
    88: (*_NANS, *_NEGATIVE),
    **dict.fromkeys(BYTES[5:], (9, 0xF7, 0x7F, 0x80)),
}
#: Records of a batch, and the index of the first: the others follow.
BATCH, FIRST = 5, 70


def stepped(words, step=None):
    """A STEP, or ``step`` itself, whose numbers ``words``, bits by byte, are replaced."""
    if step is None:
        [step] = hyperparameter_records(1, STEP, scale=1, rate=1, noise=0.5, noise_clip=1)
    whole = np.frombuffer(step.tobytes(), np.uint8).copy()
    for byte, bits in words.items():
        size = 1 if byte in BYTES[5:] else 4
        whole[byte : byte + size] = np.frombuffer(bits.to_bytes(size, "little"), np.uint8)
    return whole.view(STEP.dtype)[0]


def beta(bits):
    """``(make, outcome)`` of a LEARN whose second iteration has these bits of beta. SAMPLE, inside
    the kernel, is what refuses them: its beta is at byte 24."""

    def make(source, program):
        steps = source.steps(2)
        steps["beta"][1] = bits
        program.learn(steps, source.records(0), **source.fields(16))

    return make, (FIELD, 24)


def sent(position, word, bits, error=NUMBER):
    """``(make, outcome)`` of a TRAIN of which one word is ``bits``: of HEADER and experience, from
    word 4 on. The detail is the record's index."""

    def make(source, program):
        words = _batch(source)
        words[position, word] = bits
        program.train(source.steps(1), words.view(np.uint8).reshape(1, -1))

    return make, (error, FIRST + position if error else 0)


def weightless(bits):
    """``(make, outcome)`` of a TRAIN whose weights are all ``bits``: the last record is named."""

    def make(source, program):
        words = _batch(source)
        words[:, WEIGHT] = bits
        program.train(source.steps(1), words.view(np.uint8).reshape(1, -1))

    return make, (NUMBER, FIRST + BATCH - 1)


def inserted(position, word, bits, error=NUMBER):
    """``(make, outcome)`` of an INSERT of which a word of the experience at ``position`` and one of
    the last are ``bits``."""

    def make(source, program):
        words = source.records(BATCH).copy().view("<u4")
        words[[position, -1], word] = bits
        program.insert(words.view(np.uint8))

    return make, (error, position if error else 0)


def _batch(source):
    words = source.batches(1, BATCH).copy().reshape(BATCH, -1).view("<u4")
    words[:, 0], words[:, WEIGHT] = np.arange(FIRST, FIRST + BATCH), 0x3F80_0000
    return words


def outcome(shell):
    return int(shell["error"]), int(shell["error_detail"])


def check(run, source, cases):
    """Every case ends as it says, and of those that are refused the parameters are as before, on
    every card that ``run(program, label)`` launches alike; it returns ``(shell, results)``."""

    def stored():
        program = source.PROGRAM(source.granules)
        source.store(program, 15)
        shell, results = run(program, "stored")
        assert shell["error"] == 0
        return results[: source.image(15)].tobytes()

    before = stored()
    for name, (make, expected) in cases.items():
        program = source.PROGRAM(source.granules)
        make(source, program)
        shell, _ = run(program, name)
        assert outcome(shell) == expected, (name, outcome(shell))
        after = stored()
        if expected[0] == NUMBER:
            assert after == before, name
        before = after

"""The learner's records, status block and errors, after those of the replay core.

Numbers of HYPERPARAMETERS and REPORT are binary32, even if the layers compute in fixed point.
"""

import enum
from typing import NamedTuple

from hw.nn.layouts import MAX_SHIFT
from hw.replay.records import GRANULE_BYTES, REPLAY_ERRORS, REPLAY_STATUS
from hw.shell.layout import Field, Layout

__all__ = ["ERRORS", "LEARNER_STATUS", "LearnError", "REPORT", "HYPERPARAMETERS", "STEP"]
__all__ += ["BELOW_LIMIT", "FINITE", "LIMIT", "ONE", "SHIFTED", "WORDS", "WordRule"]
__all__ += ["action_granules", "observation_granules", "record_granules"]
__all__ += ["STEP_ERRORS", "record_words", "word_rules"]

#: 32-bit words of a granule.
WORDS = GRANULE_BYTES // 4
#: Bits of the largest finite binary32, and of 1.
FINITE, ONE = 0x7F7F_FFFF, 0x3F80_0000
#: Where TD errors are finite by construction, rewards and discounts are below LIMIT. The bits of
#: the largest binary32 below it.
LIMIT, BELOW_LIMIT = 2.0**100, 0x717F_FFFF

#: Networks whose errors a STEP can shift.
SHIFTED = 7

HYPERPARAMETERS = Layout(
    "Hyperparameters",
    "What one iteration needs to know; an optimizer does first = first_decay * first + first_gain "
    "* g, second = second_decay * second + second_gain * g**2, w -= rate * first / (sqrt(second) + "
    "floor), target = keep * target + blend * w. A DQN has the first of the pairs alone.",
    (
        Field("scale", "f32", "g = scale * sum of the batch's gradients; 1 / batch for the mean"),
        Field("beta", "u32", "LEARN: as SAMPLE, which refuses it; TRAIN does not read it"),
        Field("clip", "f32", "TD errors beyond it have its gradient (Huber); infinity: none"),
        Field("reserved", "u32", "0"),
        Field("first_decay", "f32", "Adam's beta1; momentum of SGD"),
        Field("first_gain", "f32", "Adam's 1 - beta1; 1 for SGD"),
        Field("second_decay", "f32", "Adam's beta2; RMSProp's alpha"),
        Field("second_gain", "f32", "1 - second_decay"),
        Field("rate", "f32", "learning rate with the bias correction; critic, actor", 2),
        Field("floor", "f32", "epsilon with the bias correction; critic, actor", 2),
        Field("blend", "f32", "0: keep the target; 1: copy; else soft; critic, actor", 2),
        Field("keep", "f32", "1 - blend; critic, actor", 2),
    ),
    size=64,
)

STEP = Layout(
    "Step",
    "HYPERPARAMETERS, and the numbers of limited norms (kernels with `clip_norm`), of delayed "
    "updates, smoothed targets and shifted errors (`td3`); other kernels ignore them. The gradient "
    "of a network, all its g, is scaled down to `max_norm` if its norm, the root of the sum of "
    "g**2, is larger. Errors of a network's outputs are multiplied by 2**-shift before they are "
    "rounded to the format of gradients, and `scale` by 2**shift, so that g stays as it is where "
    "nothing is clipped or rounded. A field that the kernel uses and that breaks its rule ends the "
    "command with `step`; NaN breaks all, subnormals count as 0.",
    (
        *HYPERPARAMETERS.fields,
        Field("max_norm", "f32", "largest norm, above 0; infinity: none; critic, actor", 2),
        Field("seed", "u64", "of this iteration's target noise"),
        Field("sweeps", "u32", "a bit for each sweep of the batch that runs; bit 0 must be 1"),
        Field("noise", "f32", "standard deviation of the noise on target actions, at least 0"),
        Field("noise_clip", "f32", "largest magnitude of that noise, at least 0; infinity: none"),
        Field("shift", "i8", f"of each network, -{MAX_SHIFT}..{MAX_SHIFT}", SHIFTED),
    ),
    size=128,
)

REPORT = Layout(
    "Report",
    "What came of one iteration.",
    (
        Field("loss", "f32", "sum over the batch of weight * Huber loss"),
        Field("td", "f32", "sum over the batch of |TD error|"),
        Field(
            "value",
            "f32",
            "sum over the batch of Q(s, a), of Q(s, actor(s)) for ddpg and td3, whose value is 0 "
            "where the actor is not trained",
        ),
        Field("weight", "f32", "largest importance weight, by which all are divided"),
        Field("saturations", "u32", "since reset: weights, activations, gradients", 3),
        Field("position", "u32", "experiences stored, modulo the capacity, after the iteration"),
        Field("cycles", "u32", "clocks: draw, gather, gradient step, whole iteration", 4),
    ),
    size=64,
)

LEARNER_STATUS = Layout(
    "Learner status",
    "The replay status, then the learner's.",
    (
        *REPLAY_STATUS.fields,
        Field("loaded", "u32", "sets whose LOAD has succeeded; bits as there"),
        Field("iterations", "u64", "gradient steps since reset"),
    ),
    size=192,
)


class LearnError(enum.IntEnum):
    """Numbers of the learner's errors, above the replay core's errors; 38 and 39 are FIXAR's. The
    dicts ``ERRORS`` and ``STEP_ERRORS`` explain each."""

    BATCH, RECORD, NUMBER, DIVERGED, IMAGE, UNLOADED = range(32, 38)
    STEP = 40


ERRORS = {
    **REPLAY_ERRORS,
    LearnError.BATCH: ("batch", "batch is zero, too large or not a multiple of the lanes"),
    LearnError.RECORD: ("record", "SETUP gave experiences another size than the learner reads"),
    LearnError.NUMBER: (
        "number",
        "an experience of a batch has a number that is infinite or NaN, or, in fixed point, a "
        "reward or a discount of 2**100 or more (or of -2**100 or less), or an action that does "
        "not exist, or an importance weight that is infinite, NaN or negative (-0 too), or no "
        "weight "
        "of the batch is above 0 (subnormals count as 0), for which its last experience stands; "
        "the detail is the index; nothing was learned from this batch; or an observation of ACT, "
        "which has written nothing; the detail is its position",
    ),
    LearnError.DIVERGED: (
        "diverged",
        "a TD error is infinite or NaN; the detail is the index of its experience; parameters and "
        "priorities are as before the iteration",
    ),
    LearnError.IMAGE: ("image", "count is not the number of bytes that the sections of sets have"),
    LearnError.UNLOADED: (
        "unloaded",
        "parameters are missing: they were never loaded, or memory failed their last LOAD",
    ),
}

#: Only of kernels whose record is STEP.
STEP_ERRORS = {
    LearnError.STEP: (
        "step",
        "a field of an iteration's STEP breaks its rule; the detail is its byte in the record; "
        "nothing was drawn or learned in this iteration; those before stand",
    ),
}


def record_words(config):
    """Where the fields of an experience lie, as the learner reads them: ``{name: (offset,
    count)}``, both in words of 32 bits, the offset from the begin of the experience without its
    header.

    A discrete action is one u32, all other words are binary32. ``discount`` is gamma**n for an
    n-step return, or 0 if the episode terminated.
    """
    action = 1 if config.discrete else config.action
    words, offset = {}, 0
    for name, count in (
        ("obs", config.observation),
        ("next_obs", config.observation),
        ("action", action),
        ("reward", 1),
        ("discount", 1),
    ):
        words[name] = (offset, count)
        offset += count
    return words


class WordRule(NamedTuple):
    """A rule for a 32-bit word: its bits, read as an unsigned integer, must be at most ``largest``.
    If ``signed``, bit 31 is left out, so that numbers of both signs are allowed."""

    signed: bool
    largest: int


def word_rules(config):
    """A list with a WordRule for each word of an experience, in the order of ``record_words``.

    A binary32 number must be finite; a discrete action must be below ``config.action``. If
    ``config.early_priorities``, rewards and discounts must be in -2**100..2**100, both excluded. If
    ``config.bounded``, actions must be in -1..1 and discounts in 0..1; a discount of -0 breaks the
    rule.
    """
    finite = WordRule(True, FINITE)
    rules = dict.fromkeys(record_words(config), finite)
    if config.discrete:
        rules["action"] = WordRule(False, config.action - 1)
    if config.early_priorities:
        rules |= dict.fromkeys(("reward", "discount"), WordRule(True, BELOW_LIMIT))
    if config.bounded:
        rules |= {"action": WordRule(True, ONE), "discount": WordRule(False, ONE)}
    return [rules[name] for name, (_, count) in record_words(config).items() for _ in range(count)]


def record_granules(config):
    """Granules (16 bytes) of an experience without its header, which SETUP must give."""
    offset, count = record_words(config)["discount"]
    return _granules(offset + count)


def observation_granules(config):
    """Granules (16 bytes) of an observation as ACT takes it, the last one padded."""
    return _granules(config.observation)


def action_granules(config):
    """Granules (16 bytes) of one observation's outputs as ACT writes them, the last one padded."""
    return _granules(config.action)


def _granules(words):
    return -(-4 * words // GRANULE_BYTES)

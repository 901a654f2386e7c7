"""The learner's records, status block and errors, after those of the replay core.

Numbers of HYPERPARAMETERS and REPORT are binary32, also where the tensor units are fixed point.
"""

import enum

from hw.replay.records import GRANULE_BYTES, REPLAY_ERRORS, REPLAY_STATUS
from hw.shell.layout import Field, Layout

__all__ = ["ERRORS", "LEARNER_STATUS", "LearnError", "REPORT", "HYPERPARAMETERS", "record_granules"]
__all__ += ["action_granules", "observation_granules", "record_words"]

HYPERPARAMETERS = Layout(
    "Hyperparameters",
    "What one iteration needs to know; an optimizer does first = first_decay * first + first_gain "
    "* g, second = second_decay * second + second_gain * g**2, w -= rate * first / (sqrt(second) + "
    "floor), target = keep * target + blend * w. A DQN has the first of the pairs alone.",
    (
        Field("scale", "f32", "g = scale * sum of the batch's gradients; 1 / batch for the mean"),
        Field("beta", "u32", "UQ(1, 15), exponent of the importance weights"),
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

REPORT = Layout(
    "Report",
    "What came of one iteration.",
    (
        Field("loss", "f32", "sum over the batch of weight * Huber loss"),
        Field("td", "f32", "sum over the batch of |TD error|"),
        Field("value", "f32", "sum over the batch of Q(s, a), of Q(s, actor(s)) for ddpg"),
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
    """The learner's errors, behind those of the replay core; ``ERRORS`` explains them."""

    BATCH, RECORD, NUMBER, DIVERGED, IMAGE, UNLOADED = range(32, 38)


ERRORS = {
    **REPLAY_ERRORS,
    LearnError.BATCH: ("batch", "batch is zero, too large or not a multiple of the lanes"),
    LearnError.RECORD: ("record", "SETUP gave experiences another size than the learner reads"),
    LearnError.NUMBER: (
        "number",
        "an experience drawn has a number that is infinite or NaN, or an action that does not "
        "exist; the detail is its index; nothing was learned from this batch; or an observation "
        "of ACT, which has written nothing; the detail is its position",
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


def record_words(config):
    """Words of an experience, name -> (offset, count), as the learner reads them.

    All are binary32 but a discrete action (u32). ``discount`` is gamma**n, 0 where terminated.
    """
    action = 1 if config.algorithm == "dqn" else config.action
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


def record_granules(config):
    """Granules of an experience, which SETUP must give."""
    offset, count = record_words(config)["discount"]
    return _granules(offset + count)


def observation_granules(config):
    """Granules of an observation, as ACT takes it."""
    return _granules(config.observation)


def action_granules(config):
    """Granules of what ACT gives for an observation."""
    return _granules(config.action)


def _granules(words):
    return -(-4 * words // GRANULE_BYTES)

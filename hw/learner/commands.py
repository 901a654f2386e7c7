"""The learner's commands, records, status and errors, after those of the replay core.

A kernel ``dqn`` or ``ddpg`` executes the commands of ``hw.replay.commands`` as they stand, and
these. Numbers of a step are binary32, also where the tensor units are fixed point.
"""

from amaranth.lib import enum

from hw.replay.commands import COMMANDS as REPLAY_COMMANDS
from hw.replay.commands import GRANULE_BYTES, REPLAY_ERRORS, REPLAY_STATUS
from hw.shell.layout import Field, Layout
from hw.shell.program import command_layout

__all__ = [
    "COMMANDS",
    "ERRORS",
    "KINDS",
    "LEARNER_STATUS",
    "LearnError",
    "LearnOpcode",
    "REPORT",
    "STEP",
    "record_granules",
    "record_words",
]

#: What a parameter has: itself, its target's, and the optimizer's first and second moment.
KINDS = ("online", "target", "first", "second")


class LearnOpcode(enum.Enum, shape=8):
    LEARN = 32
    LOAD = 33
    STORE = 34


_COMMANDS = [
    command_layout(
        LearnOpcode.LEARN,
        "`count` iterations; each draws `batch` experiences, trains on them, gives them their new "
        "priorities, then stores the next `inserts` experiences (PEARL IV-C). A STEP of operands "
        "for each from `source` on, a REPORT of results for each from `destination` on.",
        (
            Field(
                "step", "u64", "as SAMPLE: 2**48, or floor(2**48 / batch) for one draw a stratum"
            ),
            Field("batch", "u32", "experiences a gradient step, a multiple of the lanes"),
            Field("alpha", "u32", "as UPDATE"),
            Field("epsilon", "u32", "as UPDATE"),
            Field("inserts", "u32", "experiences stored after each draw, or 0"),
            Field("experiences", "u32", "byte offset in operands of the first, a multiple of 64"),
            Field("reserved", "u32", "0"),
        ),
    ),
    command_layout(
        LearnOpcode.LOAD,
        "Parameters from operands: for each network, layer and kind of `kinds`, in this order, "
        "a section (`hw.learner.image`). `count` is the bytes of all sections.",
        (Field("kinds", "u32", "bits: online, target, first moment, second moment"),),
    ),
    command_layout(
        LearnOpcode.STORE,
        "Parameters to results, as LOAD.",
        (Field("kinds", "u32", "bits: online, target, first moment, second moment"),),
    ),
]

COMMANDS = {**REPLAY_COMMANDS, **{LearnOpcode[layout.name]: layout for layout in _COMMANDS}}

STEP = Layout(
    "Step",
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
        Field("reserved", "u32", "0"),
        Field("iterations", "u64", "gradient steps since reset"),
    ),
    size=192,
)


class LearnError(enum.IntEnum):
    BATCH, RECORD, NUMBER, DIVERGED, IMAGE = range(32, 37)


ERRORS = {
    **REPLAY_ERRORS,
    LearnError.BATCH: ("batch", "batch is zero, too large or not a multiple of the lanes"),
    LearnError.RECORD: ("record", "the experiences of SETUP are not the learner's"),
    LearnError.NUMBER: (
        "number",
        "an experience drawn has an infinite number, one that is none, or an action that there is "
        "not; item is its index; nothing was learned from this batch",
    ),
    LearnError.DIVERGED: (
        "diverged",
        "a TD error is infinite or not a number; item is its index; parameters are as before",
    ),
    LearnError.IMAGE: ("image", "count is not the bytes of the sections of kinds"),
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
    return -(-4 * (offset + count) // GRANULE_BYTES)

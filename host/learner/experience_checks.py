"""What a learner's kernel would refuse, found before a launch, and its errors in words."""

import warnings

import numpy as np

from host.cards.kernel import Kernel
from host.replay.experience import Fields, record_dtype, same_words
from hw.designs import DESIGNS
from hw.errors import UsageError
from hw.learner.records import LIMIT

__all__ = [
    "check_actions",
    "check_batch",
    "check_drawn",
    "check_experiences",
    "checked_fields",
    "learner_fields",
    "warn_of_clipped",
    "wrong_number",
]


def learner_fields(kernel: Kernel) -> Fields:
    """``{name: (dtype, shape)}`` of an experience, as the learner of ``kernel`` reads it.

    The fields are obs and next_obs, each f32 [observation]; action, u32 for dqn, f32 [action] for
    ddpg and fixar; reward; and discount, gamma**n, or 0 if the episode terminated.
    """
    return DESIGNS[kernel.description.name].config_type.from_dict(kernel.description.config).fields


def checked_fields(kernel: Kernel, fields: Fields | None) -> Fields:
    """``fields`` of an experience, or, if they are None, the learner's. ValueError unless they have
    the same words in memory: an observation may have any shape of as many numbers."""
    own = learner_fields(kernel)
    if fields is None:
        return own
    if not same_words(record_dtype(fields), record_dtype(own)):
        raise UsageError(f"fields must be the learner's ({own}), not {fields}")
    return fields


def check_actions(learner, actions):
    """ValueError for a discrete action that does not exist."""
    wrong = ~((actions >= 0) & (actions < learner.action))
    if wrong.any():
        bad = int(np.argmax(wrong))
        raise UsageError(
            f"action must be in 0..{learner.action - 1}, not {actions[bad]} at position {bad}"
        )


def check_batch(learner, batch_size):
    """ValueError unless ``batch_size`` is a positive multiple of the learner's lanes, and at most
    the learner's batch."""
    limit, lanes = learner.batch, learner.lanes
    if (
        not isinstance(batch_size, (int, np.integer))
        or not 1 <= batch_size <= limit
        or batch_size % lanes
    ):
        raise UsageError(
            f"batch_size must be a multiple of {lanes} (the kernel's lanes) in 1..{limit} "
            f"(its batch), not {batch_size!r}"
        )


def check_experiences(learner, records):
    """ValueError if a record has a number that the kernel of ``learner``, a LearnerConfig, refuses;
    its text has the position of the first such record in ``records``."""
    position = _first_wrong(learner, records)
    if position is not None:
        name, rule, value = wrong_number(learner, records[position])
        raise UsageError(f"{name} must be {rule}, not {value} at position {position}")


def check_drawn(learner, records, indexes):
    """As ``check_experiences``, for ``records`` that were drawn from a replay memory, where they
    have these ``indexes``; its text has the index of the first such record."""
    position = _first_wrong(learner, records)
    if position is not None:
        name, rule, value = wrong_number(learner, records[position])
        raise UsageError(
            f"{name} of experience {indexes[position]} must be {rule}, not {value}; nothing was "
            "learned from the batch that drew it"
        )


def _first_wrong(learner, records):
    """Position of the first record with a number that the kernel refuses; None if there is none."""
    bad = np.zeros(len(records), bool)
    for name in records.dtype.names:
        right = _rule(learner, name, records.dtype[name].base)[1](records[name])
        bad |= ~right.all(axis=tuple(range(1, right.ndim)))
    return int(np.argmax(bad)) if bad.any() else None


def wrong_number(learner, record):
    """``(name, rule, value)`` of the first field of ``record`` with a number that the kernel of
    ``learner``, a LearnerConfig, refuses: the field's name, the rule in words, the first such
    number. None if all are right."""
    for name in record.dtype.names:
        rule, right = _rule(learner, name, record.dtype[name].base)
        values = np.atleast_1d(record[name])
        if not right(values).all():
            return name, rule, values[~right(values)][0]
    return None


def _rule(learner, name, dtype):
    """``(rule, right)`` of the numbers of a field, as ``hw.learner.records.word_rules``."""
    if dtype.kind == "u":
        return f"in 0..{learner.action - 1}", lambda x: x < learner.action
    if learner.bounded and name == "action":
        return "in -1..1", lambda x: abs(x) <= 1
    if learner.bounded and name == "discount":
        return "in 0..1", lambda x: (x <= 1) & ~np.signbit(x)
    if learner.early_priorities and name in ("reward", "discount"):
        return "in -2**100..2**100, both excluded", lambda x: abs(x) < LIMIT
    return "finite", np.isfinite


def warn_of_clipped(weights, activations, gradients):
    """Gives a RuntimeWarning that so many ``weights``, ``activations`` and ``gradients`` were
    clipped. It points at the line of the user's program that asked for the launch."""
    warnings.warn(
        f"{weights} weights, {activations} activations and {gradients} gradients were "
        "clipped to their fixed-point formats; formats with more integer bits "
        "(learner.arithmetic of dqn, ddpg and td3), or larger shifts of errors (td3) or of 16-bit "
        "codes (fixar), avoid it",
        RuntimeWarning,
        stacklevel=5,
    )

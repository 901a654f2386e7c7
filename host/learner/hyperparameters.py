"""The record that each iteration of a learner reads: HYPERPARAMETERS or STEP of
``hw.learner.records``."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hw.arith.power import SCALE_FORMAT
from hw.errors import Failure, UsageError
from hw.learner.records import HYPERPARAMETERS, STEP
from hw.nn.optimizers import optimizer_of
from hw.replay.commands import FIELDS

__all__ = ["Diverged", "check_optimizer", "checked_hyperparameters", "hyperparameter_records"]


class Diverged(Failure):
    """A TD error was infinite or NaN; parameters and priorities are as before this iteration.

    ``index`` : index of the experience in the replay memory, or its position if batches were sent.
    """

    def __init__(self, index):
        self.index = index
        super().__init__(
            f"td_error of experience {index} must be finite, not infinite or NaN: training "
            "diverged; parameters are as before (a smaller rate, or a smaller clip, may help)"
        )


_TINY = np.finfo(np.float32).tiny
#: Bits of infinity, the largest of numbers that are not negative, and of the largest finite one.
_INFINITE, _FINITE = 0x7F80_0000, 0x7F7F_FFFF
_BETA = HYPERPARAMETERS.offsets["beta"] // 4
#: Fields that may be infinite.
_UNLIMITED = ("clip", "max_norm")
_NAMES = tuple(name for name in STEP.dtype.names if name != "reserved")


def _largest_words(record):
    """The largest word at each place of a record of numbers that are right, but of its beta."""
    words = np.full(record.size // 4, 0xFFFF_FFFF, np.uint32)
    for field in record.fields:
        if field.name != "reserved":
            begin = record.offsets[field.name] // 4
            most = _INFINITE if field.name in _UNLIMITED else _FINITE
            words[begin : begin + field.count] = most
    return words


_MOST = {record.dtype: _largest_words(record) for record in (HYPERPARAMETERS, STEP)}


def hyperparameter_records(count: int, **values: ArrayLike) -> NDArray[np.void]:
    """An array of HYPERPARAMETERS records, [count], one for each iteration of a launch; of STEP
    records with ``max_norm``, which a kernel whose learner has ``clip_norm`` takes.

    Parameters
    ----------
    count : int
        Iterations.
    **values
        Fields of a record (``hw.learner.records``): each a number for all iterations, or an array
        [count]. ``rate``, ``floor``, ``blend``, ``keep`` and ``max_norm`` are pairs (critic,
        actor): a number for both, or [2], or [count, 2].

    ``scale`` and ``rate`` must be given. ``beta`` is a float in 0..1 here. By default ``beta``,
    ``first_decay``, ``second_decay``, ``floor`` and ``blend`` are 0, ``clip`` is infinity,
    ``first_gain`` is 1 - ``first_decay``, ``second_gain`` is 1 - ``second_decay``, and ``keep`` is
    1 - ``blend``. ValueError for another name or shape, and for a number that is negative or,
    except for ``clip`` and ``max_norm``, not finite.
    """
    record = STEP if "max_norm" in values else HYPERPARAMETERS
    for name in values:
        if name not in _NAMES:
            raise UsageError(f"{name} must be one of {', '.join(_NAMES)}, not unknown")
    for name in ("scale", "rate"):
        if name not in values:
            raise UsageError(f"{name} must be given, not missing")
    values = {name: np.asarray(value, np.float64) for name, value in values.items()}
    values.setdefault("clip", np.float64(np.inf))
    for name, of in (
        ("first_gain", "first_decay"),
        ("second_gain", "second_decay"),
        ("keep", "blend"),
    ):
        values.setdefault(name, 1 - values.get(of, np.float64(0)))
    steps = np.zeros(count, record.dtype)
    for name, value in values.items():
        field = steps[name]
        if value.ndim and value.shape not in (field.shape, field.shape[1:]):
            shape = " or ".join(str(list(x)) for x in dict.fromkeys((field.shape, field.shape[1:])))
            raise UsageError(f"{name} must have shape {shape}, not {list(value.shape)}")
        if name == "beta":
            if not ((value >= 0) & (value <= 1)).all():
                raise UsageError(f"beta must be in 0..1, not {value}")
            value = SCALE_FORMAT.quantize(value)[0]
        field[...] = value
    return checked_hyperparameters(steps, record)


def checked_hyperparameters(steps, record=HYPERPARAMETERS):
    """``steps`` as a contiguous array of a ``record``, HYPERPARAMETERS or STEP. ValueError for
    another dtype or shape, for a number that is negative or, except for ``clip`` and ``max_norm``,
    not finite, and for a beta above 1."""
    steps = np.ascontiguousarray(steps)
    if steps.dtype != record.dtype or steps.ndim != 1:
        known = {HYPERPARAMETERS.dtype: "HYPERPARAMETERS", STEP.dtype: "STEP (with max_norm)"}
        found = known.get(steps.dtype, steps.dtype)
        raise UsageError(
            f"steps must be a list of {known[record.dtype]}, not {found} of shape {steps.shape}"
        )
    largest = FIELDS["beta"].high
    if _are_usual(steps, largest):
        return steps
    if (steps["beta"] > largest).any():
        raise UsageError(f"beta must be in 0..{largest}, not {steps['beta'].max()}")
    for name in _NAMES:
        if name == "beta" or name not in record.dtype.names:
            continue
        values = steps[name]
        right = (values >= 0) & (np.isfinite(values) | (name in _UNLIMITED))
        if not right.all():
            value = values[~right][0]
            raise UsageError(f"{name} must be a number of at least 0, not {value}")
    return steps


def _are_usual(steps, largest):
    """Whether surely all records are right: one pass over their words, mostly floats."""
    most = _MOST[steps.dtype]
    words = steps.view(np.uint32).reshape(-1, len(most))
    # A float in 0..largest finite number is a word in 0..the bits of that.
    usual = words <= most
    usual[:, _BETA] = words[:, _BETA] <= largest
    return bool(usual.all())


def check_optimizer(steps, learner):
    """ValueError for hyperparameters with which the optimizer of ``learner``, a LearnerConfig,
    cannot compute.

    Except for SGD, ``floor`` must be a normal number above 0: while a second moment is zero, the
    floor alone is the divisor. A fixed-point optimizer also has limits for the decays. ``steps`` is
    as ``checked_hyperparameters`` returns it.
    """
    floor = steps["floor"][:, : len(learner.networks)]
    if learner.optimizer != "sgd" and (floor < _TINY).any():  # a subnormal is a zero
        raise UsageError(f"floor must be above 0 with {learner.optimizer}, not {floor.min()}")
    for name, least in optimizer_of(learner.arithmetic).LEAST_DECAYS.items():
        decay = steps[name]
        wrong = (decay > 1) | ((decay > 0) & (decay < least))
        if wrong.any():
            rule = f"0 or in {least}..1" if least else "in 0..1"
            raise UsageError(f"{name} must be {rule} in fixed point, not {decay[wrong][0]}")

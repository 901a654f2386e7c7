"""The record that each iteration of a learner reads: ``hw.learner.records.HYPERPARAMETERS``, or the
longer ``STEP``."""

from functools import cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hw.arith.power import SCALE_FORMAT
from hw.errors import Failure, UsageError
from hw.learner.records import HYPERPARAMETERS, STEP
from hw.nn.layouts import MAX_SHIFT
from hw.nn.optimizers import optimizer_of
from hw.replay.commands import FIELDS
from hw.shell.layout import Layout

__all__ = ["Diverged", "check_steps", "checked_hyperparameters", "hyperparameter_records"]


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
#: Fields that may be infinity, and those that are integers.
_LIMITS, _INTEGERS = ("clip", "max_norm", "noise_clip"), ("seed", "sweeps", "shift")


@cache
def _largest(record):
    """The largest word of a usual record: uint32 [words]; beta is checked by itself."""
    most = np.full(record.size // 4, 0xFFFF_FFFF, np.uint32)
    for name, offset in record.offsets.items():
        if name not in ("reserved", *_INTEGERS):
            words = record.dtype[name].itemsize // 4
            most[offset // 4 : offset // 4 + words] = _INFINITE if name in _LIMITS else _FINITE
    return most


def _names(record):
    return tuple(name for name in record.dtype.names if name != "reserved")


def hyperparameter_records(
    count: int, record: Layout = HYPERPARAMETERS, **values: ArrayLike
) -> NDArray[np.void]:
    """An array of records, [count], one for each iteration of a launch.

    Parameters
    ----------
    count : int
        Iterations.
    record : Layout
        ``step_record`` of the learner's config: HYPERPARAMETERS or STEP.
    **values
        Fields of a record (``hw.learner.records``): each a number for all iterations, or an array
        [count]. ``rate``, ``floor``, ``blend``, ``keep`` and ``max_norm`` are pairs (critic,
        actor): a number for both, or [2], or [count, 2]. ``shift`` has one of -8..8 for each
        network, [7] or [count, 7].

    ``scale`` and ``rate`` must be given. ``beta`` is a float in 0..1 here. By default ``beta``,
    ``first_decay``, ``second_decay``, ``floor`` and ``blend`` are 0, ``clip`` is infinity,
    ``first_gain`` is 1 - ``first_decay``, ``second_gain`` is 1 - ``second_decay``, and ``keep`` is
    1 - ``blend``; of a STEP, ``max_norm`` is infinity, all ``sweeps`` run, and seed, ``noise``,
    ``noise_clip`` and ``shift`` are 0. ValueError for another name or shape, for another shift, and
    for any other number that is negative or, except for ``clip``, ``max_norm`` and ``noise_clip``,
    not finite.
    """
    for name in values:
        if name not in _names(record):
            raise UsageError(f"{name} must be one of {', '.join(_names(record))}, not unknown")
    for name in ("scale", "rate"):
        if name not in values:
            raise UsageError(f"{name} must be given, not missing")
    values = {
        name: _integers(name, value, record) if name in _INTEGERS else np.asarray(value, np.float64)
        for name, value in values.items()
    }
    defaults = {"clip": np.inf, "max_norm": np.inf, "sweeps": 0xFFFF_FFFF}
    for name in defaults.keys() & _names(record):
        values.setdefault(name, np.asarray(defaults[name]))
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
    """``steps`` as a contiguous array of ``record``. ValueError for another dtype or shape, for a
    number that is negative or, except for ``clip``, ``max_norm`` and ``noise_clip``, not finite,
    for a beta above 1, and for a shift that is not in -8..8."""
    steps = np.ascontiguousarray(steps)
    if steps.dtype != record.dtype or steps.ndim != 1:
        name = record.name.upper()
        raise UsageError(
            f"steps must be a list of {name}, not {steps.dtype} of shape {steps.shape}"
        )
    if "shift" in record.offsets:
        _integers("shift", steps["shift"], record)
    largest = FIELDS["beta"].high
    if _are_usual(steps, record, largest):
        return steps
    if (steps["beta"] > largest).any():
        raise UsageError(f"beta must be in 0..{largest}, not {steps['beta'].max()}")
    for name in _names(record):
        if name == "beta" or name in _INTEGERS:
            continue
        values = steps[name]
        right = (values >= 0) & (np.isfinite(values) | (name in _LIMITS))
        if not right.all():
            value = values[~right][0]
            raise UsageError(f"{name} must be a number of at least 0, not {value}")
    return steps


def _integers(name, value, record):
    """``value`` as an array; UsageError unless it has integers that the field ``name`` can have."""
    value, field = np.asarray(value), record.dtype[name].base
    if value.dtype.kind not in "iu":
        raise UsageError(f"{name} must be integers, not {value.dtype}")
    low, high = (-MAX_SHIFT, MAX_SHIFT) if name == "shift" else (0, np.iinfo(field).max)
    wrong = (value < low) | (value > high)
    if wrong.any():
        raise UsageError(f"{name} must be in {low}..{high}, not {value[wrong].flat[0]}")
    return value


def _are_usual(steps, record, largest):
    """Whether surely all records are right: one pass over their words, mostly floats."""
    words, beta = steps.view(np.uint32).reshape(-1, record.size // 4), record.offsets["beta"] // 4
    # A float in 0..largest finite number is a word in 0..the bits of that; a clip may be infinity.
    usual = words <= _largest(record)
    usual[:, beta] = words[:, beta] <= largest
    return bool(usual.all())


def check_steps(steps, learner):
    """ValueError for records that the kernel of ``learner``, a LearnerConfig, refuses, or with
    which its optimizer cannot compute.

    Except for SGD, ``floor`` must be a normal number above 0: while a second moment is zero, the
    floor alone is the divisor. A fixed-point optimizer also has limits for the decays. Limited
    norms need a ``max_norm`` that is a normal number above 0 or infinity, and a plan with several
    sweeps always has the first. ``steps`` is as ``checked_hyperparameters`` returns it.
    """
    if learner.clip_norm:
        limits = steps["max_norm"][:, learner.rates]
        if not (limits >= _TINY).all():
            raise UsageError(f"max_norm must be above 0, not {limits.min()}")
    if learner.step_record is STEP and learner.plan.sweeps > 1:
        without = steps["sweeps"] % 2 == 0
        if without.any():
            raise UsageError(f"sweeps must have bit 0, not {steps['sweeps'][without][0]:#x}")
    floor = steps["floor"][:, learner.rates]
    if learner.optimizer != "sgd" and (floor < _TINY).any():  # a subnormal is a zero
        raise UsageError(f"floor must be above 0 with {learner.optimizer}, not {floor.min()}")
    for name, least in optimizer_of(learner.arithmetic).LEAST_DECAYS.items():
        decay = steps[name]
        wrong = (decay > 1) | ((decay > 0) & (decay < least))
        if wrong.any():
            rule = f"0 or in {least}..1" if least else "in 0..1"
            raise UsageError(f"{name} must be {rule} in fixed point, not {decay[wrong][0]}")

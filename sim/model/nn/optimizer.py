"""Bit-exact reference for the optimizers.

For ``hw.nn.optimizer`` it uses binary32 operations in the same order, with subnormal results
flushed at every step: a compiled loop over the parameters, with the operations of
``float32_steps``. A NaN leaves as 0x7fc00000. For ``hw.nn.fixed_optimizer`` it calls
``fixed_update``.
"""

from functools import cache
from typing import NamedTuple

import numpy as np

from hw.nn.optimizer_config import COEFFICIENTS
from sim.compiled import compiled
from sim.model.arith.float32_steps import ONE, ZERO, flush, leave, product
from sim.model.nn.fixed_optimizer import fixed_update

__all__ = ["Updated", "coefficients", "update"]


class Updated(NamedTuple):
    """The results of an optimizer step, as new arrays of the shape of the given ones.

    weight, target : float32, or int64 raw in fixed point.
    first, second : moments, float32; None for a moment that the optimizer lacks.
    saturations : how many weights were clipped; 0 in binary32.
    """

    weight: np.ndarray
    target: np.ndarray
    first: np.ndarray | None
    second: np.ndarray | None
    saturations: int


def coefficients(step, network):
    """A tuple of np.float32 in the order of ``COEFFICIENTS``, from the record ``step``
    (HYPERPARAMETERS), for network number ``network``: 0 is Q or the critic, 1 the actor."""
    return tuple(np.frombuffer(step.tobytes(), "<f4")[_places(step.dtype, network)])


@cache
def _places(record, network):
    """Where a network's coefficients are among the 4-byte numbers of a dtype ``record``: of a pair
    its own number, else the only one."""
    fields = [record.fields[name] for name in COEFFICIENTS.members]
    return np.array([at // 4 + (network if kind.shape else 0) for kind, at in fields])


def update(config, values, gradient, weight, target, first=None, second=None):
    """One optimizer step; returns ``Updated`` and leaves the given arrays as they are. The formulas
    are in ``hw.nn.optimizer`` for binary32, in ``hw.nn.fixed_optimizer`` for fixed point.

    Parameters
    ----------
    config : LayerConfig or LearnerConfig, or another with optimizer, arithmetic and batch
        Which formulas, and in which formats.
    values : tuple of np.float32
        ``coefficients(step, network)``.
    gradient : array
        Sum over the batch: float32, or raw integers in fixed point.
    weight, target : arrays of the same shape
        float32, or int64 raw of ``config.arithmetic.weight`` in fixed point.
    first, second : float32 arrays
        Moments; ignored if the optimizer does not have them.
    """
    return Updated(
        *_UPDATES[config.arithmetic.kind](config, values, gradient, weight, target, first, second)
    )


def _float_update(config, values, gradient, weight, target, first, second):
    shape = gradient.shape
    gradient, weight, target = (each.reshape(-1) for each in (gradient, weight, target))
    first = None if config.optimizer == "rmsprop" else first.reshape(-1)
    second = None if config.optimizer == "sgd" else second.reshape(-1)
    scale, first_decay, first_gain, second_decay, second_gain, rate, floor, blend, keep = values
    moments = (first_decay, first_gain, second_decay, second_gain)
    steps, first, second = _steps(scale, moments, rate, floor, gradient, first, second)
    weight, target = _move_float(weight, target, steps, blend, keep)
    return (
        weight.reshape(shape),
        target.reshape(shape),
        None if first is None else first.reshape(shape),
        None if second is None else second.reshape(shape),
        0,
    )


_UPDATES = {"float32": _float_update, "fixed": fixed_update, "dual": fixed_update}


@compiled
def _steps(scale, moments, rate, floor, gradient, first, second):
    """``rate * u`` of every parameter, and the new moments."""
    scale, rate, floor = flush(scale), flush(rate), flush(floor)
    first_decay, first_gain = flush(moments[0]), flush(moments[1])
    second_decay, second_gain = flush(moments[2]), flush(moments[3])
    steps = np.empty_like(gradient)
    new_first = None if first is None else np.empty_like(gradient)
    new_second = None if second is None else np.empty_like(gradient)
    for k in range(gradient.size):
        g = product(scale, flush(gradient[k]))
        u = g
        if first is not None:
            u = flush(product(first_decay, flush(first[k])) + product(first_gain, g))
            new_first[k] = leave(u)
        if second is not None:
            square = product(second_gain, product(g, g))
            v = flush(product(second_decay, flush(second[k])) + square)
            new_second[k] = leave(v)
            # In float64 the reciprocal root rounds as if it were exact: see arith.float32.
            inverse = flush(np.float32(1.0 / np.sqrt(np.float64(v))))
            root = ZERO if v == ZERO else product(v, inverse)
            u = product(u, flush(ONE / flush(root + floor)))
        steps[k] = product(rate, u)
    return steps, new_first, new_second


@compiled
def _move_float(weight, target, steps, blend, keep):
    blend, keep = flush(blend), flush(keep)
    new_weight, new_target = np.empty_like(weight), np.empty_like(target)
    for k in range(weight.size):
        w = flush(flush(weight[k]) - steps[k])
        new_weight[k] = leave(w)
        new_target[k] = leave(flush(product(keep, flush(target[k])) + product(blend, w)))
    return new_weight, new_target

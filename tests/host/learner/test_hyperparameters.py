"""host.learner.hyperparameters and learner: numbers of a step, and what was clipped in it."""

import re
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from learner import random_plan
from learner.modelled import DQN

from host.learner.hyperparameters import (
    check_steps,
    checked_hyperparameters,
    hyperparameter_records,
)
from host.learner.learning_replay import LearningReplay
from hw.learner.config import LearnerConfig
from hw.learner.records import STEP


@pytest.mark.parametrize("beta", [-0.1, 1.1, [0.5, -0.1], float("nan")])
def test_beta_is_a_fraction(beta):
    with pytest.raises(ValueError, match=r"^beta must be in 0\.\.1, not "):
        hyperparameter_records(2, scale=1, rate=0.1, beta=beta)


def test_the_floor_of_a_network_that_is_not_there_may_be_0():
    for floor, right in ([1e-8, 0.0], True), ([0.0, 1e-8], False):
        steps = hyperparameter_records(3, scale=1, rate=0.1, second_decay=0.999, floor=floor)
        if right:
            check_steps(steps, DQN.learner)
        else:
            with pytest.raises(ValueError, match="^floor must be above 0 with adam, not 0.0$"):
                check_steps(steps, DQN.learner)


def test_floors_are_of_the_rates_of_networks(monkeypatch):
    """A plan's only network may have the second."""
    for names, key, value in random_plan.entries(69):
        monkeypatch.setitem(names, key, value)
    learner = LearnerConfig(algorithm="random_69", observation=3, action=2, optimizer="rmsprop")
    needed = dict(scale=1, rate=0.1, second_decay=0.9)
    check_steps(hyperparameter_records(1, floor=(0, 1e-8), **needed), learner)
    with pytest.raises(ValueError, match=r"^floor must be above 0 with rmsprop, not 0\.0$"):
        check_steps(hyperparameter_records(1, floor=(1e-8, 0), **needed), learner)


#: Of each kernel, what its card would refuse, and the line.
REFUSED = [
    ("dqn", True, dict(max_norm=(0, 1)), "max_norm must be above 0, not 0.0"),
    ("ddpg", True, dict(max_norm=(1, 1e-39)), "max_norm must be above 0, not 1.0000"),
    ("td3", True, dict(max_norm=(1, -0.0)), "max_norm must be above 0, not -0.0"),
    ("td3", False, dict(sweeps=0), "sweeps must have bit 0, not 0x0"),
    ("td3", False, dict(sweeps=[3, 0xFFFF_FFFE]), "sweeps must have bit 0, not 0xfffffffe"),
]


@pytest.mark.parametrize("algorithm, clips, values, message", REFUSED)
def test_steps_that_the_card_would_refuse(algorithm, clips, values, message):
    """In one line, before a launch."""
    learner = LearnerConfig(algorithm=algorithm, clip_norm=clips)
    needed = dict(scale=1, rate=0.1, floor=1e-8)
    check_steps(hyperparameter_records(2, STEP, **needed), learner)
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        check_steps(hyperparameter_records(2, STEP, **needed | values), learner)


#: Of a record whose limits are numbers: then words alone tell that all is usual.
PLAIN = dict(scale=1, rate=0.1, clip=1, max_norm=1, noise=0.5, noise_clip=1)


@pytest.mark.parametrize("wrong", [np.inf, np.nan, -0.5])
@pytest.mark.parametrize("name", [
    "scale", "rate", "clip", "first_decay", "first_gain", "second_decay", "second_gain", "floor",
    "blend", "keep", "max_norm", "noise", "noise_clip",
])  # fmt: skip
def test_a_number_is_not_negative_and_finite(name, wrong):
    """A limit may be infinite. The second of a pair counts as the first."""
    steps = hyperparameter_records(3, STEP, **PLAIN)
    steps[name][(-1,) * steps[name].ndim] = wrong
    if wrong == np.inf and name in ("clip", "max_norm", "noise_clip"):
        assert checked_hyperparameters(steps, STEP) is not None
        return
    with pytest.raises(ValueError, match=f"^{name} must be a number of at least 0, not {wrong}$"):
        checked_hyperparameters(steps, STEP)


@pytest.mark.parametrize("wrong", [9, -9, 128, 2**40])
def test_a_shift_that_no_step_has(wrong):
    message = f"^shift must be in -8..8, not {wrong}$"
    needed, shift = dict(scale=1, rate=0.1), np.zeros((2, 7), np.int64)
    shift[:, :2] = 8, -8
    steps = hyperparameter_records(2, STEP, shift=shift, **needed)
    assert steps["shift"].tolist() == [[8, -8, 0, 0, 0, 0, 0]] * 2
    shift[1, 6] = wrong
    with pytest.raises(ValueError, match=message):
        hyperparameter_records(2, STEP, shift=shift, **needed)
    if abs(wrong) < 128:
        steps["shift"][1, 6] = wrong
        with pytest.raises(ValueError, match=message):
            checked_hyperparameters(steps, STEP)


def test_a_shift_is_an_integer_of_each_network():
    needed = dict(scale=1, rate=0.1)
    with pytest.raises(ValueError, match=r"^shift must have shape \[2, 7\] or \[7\], not \[2\]$"):
        hyperparameter_records(2, STEP, shift=[1, 2], **needed)


@pytest.mark.parametrize("name", ["seed", "sweeps", "shift"])
def test_integers_are_not_rounded(name):
    for wrong in (0.5, np.nan, True, "1"):
        with pytest.raises(ValueError, match=f"^{name} must be integers, not "):
            hyperparameter_records(1, STEP, scale=1, rate=0.1, **{name: wrong})


@pytest.mark.parametrize("name, bits", [("seed", 64), ("sweeps", 32)])
def test_integers_are_not_cut(name, bits):
    hyperparameter_records(1, STEP, scale=1, rate=0.1, **{name: 2**bits - 1})
    for wrong in (-1, *([2**bits] if bits < 64 else ())):
        with pytest.raises(ValueError, match=f"^{name} must be in 0..{2**bits - 1}, not {wrong}$"):
            hyperparameter_records(1, STEP, scale=1, rate=0.1, **{name: wrong})


@pytest.mark.parametrize("algorithm, clips, values", [
    ("dqn", True, dict(max_norm=(np.inf, 0), sweeps=0)),
    ("ddpg", True, dict(max_norm=(1e-37, np.inf), sweeps=2)),
    ("td3", False, dict(max_norm=0, sweeps=[1, 3])),
])  # fmt: skip
def test_what_a_kernel_does_not_use_may_be_anything(algorithm, clips, values):
    steps = hyperparameter_records(2, STEP, scale=1, rate=0.1, floor=1e-8, **values)
    check_steps(steps, LearnerConfig(algorithm=algorithm, clip_norm=clips))


def test_what_was_clipped_is_told_once():
    """As many as have come; of counts that stay, nothing."""
    buffer = SimpleNamespace(saturations=np.array([5, 6, 7]), _warned=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        LearningReplay._count_saturations(buffer, np.uint32([5, 6, 7]))
    words = "^1 weights, 0 activations and 3 gradients were clipped"
    with pytest.warns(RuntimeWarning, match=words):
        LearningReplay._count_saturations(buffer, np.uint32([6, 6, 10]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        LearningReplay._count_saturations(buffer, np.uint32([7, 7, 11]))
    assert buffer.saturations.tolist() == [7, 7, 11]

"""host.learner.hyperparameters and learner: numbers of a step, and what was clipped in it."""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from learner.modelled import DQN

from host.learner.hyperparameters import check_optimizer, hyperparameter_records
from host.learner.learning_replay import LearningReplay


@pytest.mark.parametrize("beta", [-0.1, 1.1, [0.5, -0.1], float("nan")])
def test_beta_is_a_fraction(beta):
    with pytest.raises(ValueError, match=r"^beta must be in 0\.\.1, not "):
        hyperparameter_records(2, scale=1, rate=0.1, beta=beta)


def test_the_floor_of_a_network_that_is_not_there_may_be_0():
    for floor, right in ([1e-8, 0.0], True), ([0.0, 1e-8], False):
        steps = hyperparameter_records(3, scale=1, rate=0.1, second_decay=0.999, floor=floor)
        if right:
            check_optimizer(steps, DQN.learner)
        else:
            with pytest.raises(ValueError, match="^floor must be above 0 with adam, not 0.0$"):
                check_optimizer(steps, DQN.learner)


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

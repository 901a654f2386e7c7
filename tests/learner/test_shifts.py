"""Shifts of errors in a plan: whose numbers they are, and plans that are refused."""

import pytest
from learner.test_pass_plan import A, D, plan, refused

from hw.errors import UsageError
from hw.learner.algorithms.plan import Plan
from hw.learner.algorithms.td3 import TD3
from hw.learner.config import LearnerConfig
from hw.learner.records import HYPERPARAMETERS


@pytest.mark.parametrize("shifts", [{"q": 0}, {"c": 0}, {"q": 0, "c": 1, "b": 0}])
def test_shifts_are_of_the_networks_that_a_sweep_trains(shifts):
    made = plan({"a": A, "c": D}, "q c", c=(3, 1))
    made.losses[0].shifts = shifts
    refused(made, "the plan of dqn must have shifts of c, q in sweep 0, or none")


def test_a_step_has_shifts_of_seven_networks():
    names = "bcdefgh"
    passes = {"a": A} | {name: D._replace(network=name) for name in names}
    for last, taken in ((0, True), (7, False)):
        made = plan(passes, f"q {' '.join(names)}", **dict.fromkeys(names, (3, 1)))
        # One number for all, or another one for the eighth network.
        made.losses[0].shifts = dict.fromkeys(made.networks, 0) | {"h": last}
        if taken:
            made.check("dqn", dict(obs=3, next_obs=3), 2)
        else:
            refused(made, "the plan of dqn must have shifts of the first 7 networks only")


def test_a_shift_is_that_of_the_first_network_of_a_gradient():
    made = plan({"a": A, "b": D._replace(network="b"), "c": D}, "q b c", b=(3, 1), c=(3, 1))
    assert made.shifts == () and [made.shift_of(name) for name in "qbc"] == [None] * 3
    made = plan(made.passes, "q b c", b=(3, 1), c=(3, 1))
    made.losses[0].shifts = {"c": 1, "b": 0, "q": 1}
    assert [made.shift_of(name) for name in "qbc"] == [2, 1, 2] and made.shifts == (1, 2)


def test_td3_shifts_each_network_by_its_own_number():
    learner = LearnerConfig(algorithm="td3", observation=3, action=1)
    assert [learner.plan.shift_of(name) for name in learner.networks] == [0, 1, 2]
    assert learner.alike == (("critic",), ("critic_2",), ("actor",))


def test_shifts_need_their_numbers(monkeypatch):
    monkeypatch.setattr(TD3, "record", HYPERPARAMETERS)
    monkeypatch.setattr(Plan, "smooths", False)
    with pytest.raises(UsageError, match="^record must be STEP for shifted errors, not Hyper"):
        LearnerConfig(algorithm="td3", observation=3, action=1)

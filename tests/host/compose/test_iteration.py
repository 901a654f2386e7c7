"""Our model of a launch: what adds up, what runs beside it, and what binds."""

import pytest

from host.compose.iteration import borrowed, iteration
from host.compose.plans import Plan
from host.compose.profile import Profile

PARTS = {
    "environments": 130.0,
    "policy": 40.0,
    "packing": 20.0,
    "memory": 57.0,
    "device": 900.0,
    "learning": 350.0,
    "other": 10.0,
}


def test_the_card_of_the_profile_works_in_turn():
    found = iteration(PARTS)
    assert (found.acting, found.memory, found.learning) == (200.0, 57.0, 350.0)
    assert found.whole == sum(PARTS.values()) == 1507.0
    assert found.bound_by == "card"


def test_threads_cost_what_a_run_takes_more():
    found = iteration(PARTS, run=1600.0)
    assert (found.threads, found.whole, found.bound_by) == (93.0, 1600.0, "card")
    assert iteration(PARTS, run=1600.0, card_us=12.0, beside=True).whole == 607.0


@pytest.mark.parametrize(
    "card, launch, beside, whole, bound_by",
    [
        (12.0, 60.0, True, 607.0, "learning"),  # software binds, and learning is most of it
        (12.0, 600.0, True, 612.0, "launch"),
        (700.0, 60.0, True, 760.0, "card"),
        (12.0, 60.0, False, 679.0, "learning"),
        (12.0, 400.0, False, 1019.0, "launch"),
    ],
)
def test_a_card_of_silicon(card, launch, beside, whole, bound_by):
    found = iteration(PARTS, card_us=card, launch_us=launch, beside=beside)
    assert (found.whole, found.bound_by) == (whole, bound_by)


def test_acting_binds():
    assert iteration(PARTS | {"device": 0.0, "learning": 199.0}).bound_by == "acting"


def test_the_memory_binds():
    assert iteration(PARTS | {"device": 0.0, "memory": 351.0}).bound_by == "memory"


def profile(**parts):
    return Profile(updates=1.0, parts=PARTS | parts, run=1600.0, p10=1.0, p50=2.0, p90=3.0)


PLANS = [
    Plan("cpu", "cpu", "none"),
    Plan("card", "cpu", "replay"),
    Plan("cpu", "cuda", "none"),
    Plan("card", "cuda", "replay"),
    Plan("card", "card", "dqn"),
]


def test_parts_of_other_plans():
    tree, card, _, gpu, _ = PLANS
    profiles = {
        tree.name: profile(memory=30.0, device=0.0, learning=350.0),
        gpu.name: profile(memory=57.0, learning=800.0),
    }
    found = borrowed(PLANS[2], PLANS, profiles)
    assert (found["memory"], found["device"], found["learning"]) == (30.0, 0.0, 800.0)
    found = borrowed(card, PLANS, profiles)
    assert (found["memory"], found["device"], found["learning"]) == (57.0, 900.0, 350.0)


def test_what_no_profile_has_is_unknown():
    tree, card, cuda, gpu, both = PLANS
    only = {tree.name: profile()}
    assert borrowed(card, PLANS, only) is None  # no memory on a card
    assert borrowed(cuda, PLANS, only) is None  # no gradient step on cuda
    whole = {each.name: profile() for each in (tree, card, gpu)}
    assert borrowed(both, PLANS, whole) is None  # a card that learns does all in one launch


@pytest.mark.parametrize("rm", ["cpu", "card"])
def test_a_memory_beside_a_learner_on_the_card_is_another(rm):
    """The host's side of launches that also learn is not the time of a memory."""
    other_rm = "cpu" if rm == "card" else "card"
    learner, other = Plan(other_rm, "cpu", "none"), Plan(rm, "cuda", "none")
    plan, beside = Plan(rm, "cpu", "none"), Plan(rm, "card", "dqn")
    plans = [beside, learner, plan, other]
    profiles = {beside.name: profile(memory=5.0), learner.name: profile()}
    assert borrowed(plan, plans, profiles) is None
    profiles[other.name] = profile(memory=30.0)
    assert borrowed(plan, plans, profiles)["memory"] == 30.0

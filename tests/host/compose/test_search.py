"""The search over a machine's devices, with profiles of round numbers."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from host.compose.assignment import Sizes
from host.compose.machine import Device, Link, Machine
from host.compose.plans import Plan
from host.compose.profile import Profile
from host.compose.search import compose
from hw.errors import UsageError
from hw.learner.config import LearnerConfig
from hw.learner.parameters.parameter_image import set_bytes

TASK = SimpleNamespace(family="replay", batch=32, words=12)
SIZES = Sizes(batch=32, inserts=32, words=12)
TREE, CARD, BOTH = (
    Plan("cpu", "cpu", "none", config="tree"),
    Plan("card", "cpu", "replay", config="card"),
    Plan("card", "card", "dqn", config=SimpleNamespace(act="card")),
)
SENT = Plan("cpu", "card", "dqn", config=SimpleNamespace(act="card"))
NO_RM = Plan("cuda", "cpu", "none", refused="a replay memory must be on a cpu or a card, not cuda")


def profile(memory, device, learning, updates=2.0):
    parts = {"environments": 100.0, "policy": 0.0, "packing": 0.0, "other": 0.0}
    parts |= {"memory": memory, "device": device, "learning": learning}
    return Profile(updates=updates, parts=parts, run=sum(parts.values()), p10=1.0, p50=1.0, p90=1.0)


PROFILES = {
    TREE.name: profile(50.0, 0.0, 300.0),
    CARD.name: profile(70.0, 400.0, 300.0),
    BOTH.name: profile(60.0, 1000.0, 0.0),
}


def machine(*devices, watts=None, clock=None):
    made = [Device(name=f"{kind}0", kind=kind, watts=watts, source="test",
                   clock_mhz=clock if kind == "card" else None) for kind in devices]  # fmt: skip
    pairs = [(each.name, each.name) for each in made]
    pairs += [("cpu0", each.name) for each in made if each.name != "cpu0"]
    links = [Link(a=a, b=b, latency_us=1, gb_per_s=10, source="test") for a, b in pairs]
    return Machine(devices=tuple(made), links=tuple(links))


@pytest.fixture
def clocks(monkeypatch):
    """Every kernel takes 10 000 clocks a launch; the function says for what it was asked."""
    asked = []

    def plan_clocks(task, plan, kernel, updates, inserts):
        asked.append((plan, updates, inserts))
        return 10_000.0

    monkeypatch.setattr("host.compose.search.kernel_config", lambda task, plan, board: board)
    monkeypatch.setattr("host.compose.search.plan_clocks", plan_clocks)
    return asked


def found(plans, *devices, profiles=PROFILES, metric="throughput", **options):
    return compose(TASK, plans, machine(*devices, **options), profiles, SIZES, metric=metric)


def test_the_twin_takes_the_time_of_its_profile(clocks):
    result = found([TREE, CARD, BOTH], "cpu", "card")
    assert [(each.rm, each.learner, each.iteration.whole) for each in result.candidates] == [
        ("cpu0", "cpu0", 450.0),
        ("card0", "cpu0", 870.0),
        ("card0", "card0", 1160.0),
    ]
    assert result.choice.plan is TREE and result.choice.gps == pytest.approx(2e6 / 450)
    assert result.choice.clocks is None and not clocks


def test_a_card_of_silicon_works_beside_the_rest(clocks):
    result = found([TREE, CARD, BOTH], "cpu", "card", clock=250.0)
    tree, card, both = result.candidates
    # 10 000 clocks at 250 MHz are 40 us; software is 100 + 60, and 100 + 70 + 300.
    assert both.iteration.card == 40.0 and both.iteration.whole == 160.0
    assert card.iteration.whole == 470.0 and tree.iteration.whole == 450.0
    assert result.choice is both
    assert clocks == [(CARD, 2.0, 64.0), (BOTH, 2.0, 64.0)]


def test_transfers_are_in_the_launch(clocks):
    result = found([CARD, BOTH], "cpu", "card", clock=250.0)
    card, both = result.candidates
    # To the card 64 experiences of 48 bytes; back 2 batches, or a word for each of their TD errors.
    assert both.iteration.launch == pytest.approx(2 + (64 * 48 + 64 * 4) / 10_000)
    assert card.iteration.launch == pytest.approx(2 + (64 * 48 + 64 * 4 + 64 * 52) / 10_000)


def test_a_learner_on_the_card_gets_batches(clocks):
    profiles = PROFILES | {SENT.name: profile(80.0, 500.0, 0.0)}
    [sent] = found([SENT], "cpu", "card", clock=250.0, profiles=profiles).candidates
    assert sent.iteration.launch == pytest.approx(2 + (64 * 52 + 64 * 4) / 10_000)


@pytest.mark.parametrize("rm", ["cpu", "card"])
def test_weights_come_back_every_weights_interval_launches(rm, clocks, monkeypatch):
    """To a policy on the cpu; a launch bears its share of them."""
    learner = LearnerConfig(hidden=(8,))
    kernel = SimpleNamespace(learner=learner)
    monkeypatch.setattr("host.compose.search.kernel_config", lambda *_: kernel)

    def launch_us(**config):
        plan = Plan(rm, "card", "dqn", config=SimpleNamespace(**config))
        profiles = {plan.name: PROFILES[BOTH.name]}
        [one] = found([plan], "cpu", "card", clock=250.0, profiles=profiles).candidates
        return one.iteration.launch

    never = launch_us(act="card", weights_interval=1)
    for interval in (1, 4):
        weights = (launch_us(act="cpu", weights_interval=interval) - never) * 10_000
        assert weights == pytest.approx(set_bytes(learner) / interval) and weights > 0


def test_efficiency_is_another_choice(clocks):
    devices = machine("cpu", "card", watts=100.0)
    fast = {TREE.name: profile(50.0, 0.0, 300.0), BOTH.name: profile(60.0, 190.0, 0.0)}
    told = dict(profiles=fast)
    assert compose(TASK, [TREE, BOTH], devices, told["profiles"], SIZES).choice.plan is BOTH
    chosen = compose(TASK, [TREE, BOTH], devices, fast, SIZES, metric="efficiency").choice
    assert chosen.plan is TREE and chosen.watts == 100.0


def test_efficiency_needs_watts(clocks):
    with pytest.raises(UsageError, match="for metric efficiency, not empty for cpu0, "):
        found([TREE, BOTH], "cpu", "card", metric="efficiency")


def test_refused_pairs_have_a_reason(clocks):
    result = found([TREE, NO_RM], "cpu", "cuda")
    assert [(each.rm, each.learner) for each in result.refused] == [("cuda0", "cpu0")]
    assert "must be on a cpu or a card, not cuda" in result.refused[0].reason


def test_a_run_has_one_card(clocks):
    two = machine("cpu", "card")
    second = Device(name="card1", kind="card", source="test")
    links = [
        Link(a=a, b="card1", latency_us=1, gb_per_s=10, source="test") for a in ("cpu0", "card1")
    ]
    two = Machine(devices=(*two.devices, second), links=(*two.links, *links))
    result = compose(TASK, [BOTH], two, PROFILES, SIZES)
    assert [(each.rm, each.learner) for each in result.candidates] == [
        ("card0", "card0"),
        ("card1", "card1"),
    ]
    assert result.choice.rm == "card0"  # equal ones: the first
    assert "must be on one card, not on card0 and card1" in result.refused[0].reason


def test_no_plan_is_known(clocks):
    with pytest.raises(UsageError, match="a plan's time must be known, not none"):
        found([BOTH], "cpu", "card", profiles={TREE.name: PROFILES[TREE.name]})


def test_a_plan_without_a_profile_has_parts_of_others(clocks):
    gpu = Plan("card", "cuda", "replay", config="gpu")
    tree = Plan("cpu", "cuda", "none", config="tree")
    profiles = PROFILES | {gpu.name: profile(70.0, 400.0, 30.0)}
    [candidate] = [
        each
        for each in found(
            [TREE, CARD, gpu, tree], "cpu", "card", "cuda", profiles=profiles
        ).candidates
        if each.plan is tree
    ]
    assert candidate.iteration.whole == 180.0 and candidate.source == "profiles of other plans"


def test_efficiency_needs_the_watts_of_a_card_that_has_no_part(clocks):
    """That of advantages, whose learner is on the cpu."""
    task = SimpleNamespace(family="rollouts", batch=32, words=12)
    advantages = Plan(None, "cpu", "gae", config="ppo")
    cpu, card = machine("cpu", "card", watts=50.0).devices
    devices = machine("cpu", "card")
    devices = replace(devices, devices=(cpu, replace(card, watts=None)))
    profiles = {advantages.name: profile(0.0, 10.0, 300.0)}
    assert compose(task, [advantages], devices, profiles, SIZES).choice.watts is None
    with pytest.raises(UsageError, match="for metric efficiency, not empty for card0$"):
        compose(task, [advantages], devices, profiles, SIZES, metric="efficiency")

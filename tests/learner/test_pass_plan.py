"""The plan of passes: what it says of networks, what it refuses, and four networks in two sweeps on
the simulated card."""

from dataclasses import replace

import pytest
from amaranth import *
from learner import random_plan
from learner.learning import kernel_config
from learner.quartet import ENTRIES, ClimbRule, PairLoss, TdRule
from learner.test_kernel import compare

from hw.arith.arithmetic import Arithmetic
from hw.designs import DESIGNS
from hw.errors import UsageError
from hw.learner.algorithms.plan import Feed, Network, Pass, Plan, Take, of_sweep
from hw.learner.algorithms.td3 import TD3
from hw.learner.config import LearnerConfig
from hw.learner.network.loss import Loss
from hw.learner.placed_layers import merge_latency, merges, placed
from hw.learner.records import HYPERPARAMETERS
from hw.learner.samples.sample_reader import ReaderClocks
from hw.learner.schedule import schedule, step_units
from hw.learner.step_clocks import (
    acting_clocks,
    pace,
    scalars_ahead,
    step_clocks,
)
from hw.nn.td_loss import TdLoss

#: Of a small kernel: to the last TD error, and to the end of the step.
CLOCKS = (140, 484)


@pytest.fixture
def quartet(monkeypatch):
    for names, key, value in ENTRIES:
        monkeypatch.setitem(names, key, value)


def test_paths():
    plan = LearnerConfig(algorithm="ddpg", observation=3, action=2).plan
    assert plan.order == ("actor", "critic") and plan.ends == ("critic",)
    assert plan.paths["critic"] == (("q", "value", "bootstrap"),)
    assert plan.weights("critic") == (("online", "online", "target"),)
    assert (plan.errors("critic"), plan.errors("actor")) == ((2,), (1,))


def test_paths_follow_errors_however_passes_are_listed():
    """Gradients are those of the first path."""
    plan = LearnerConfig(algorithm="ddpg", observation=3, action=2).plan
    turned = replace(plan, passes=dict(reversed(plan.passes.items())))
    assert turned.paths == plan.paths and turned.errors("critic") == (2,)


def test_links_and_feeds():
    plan = LearnerConfig(algorithm="ddpg", observation=3, action=2).plan
    assert plan.taken("critic") == ({1: 0, 2: 1},) and plan.returned("critic") == ({0: 1},)
    assert plan.feeds("critic") == {
        "obs": (0, (0b011,)), "action": (3, (0b001,)), "next_obs": (0, (0b100,)),
    }  # fmt: skip


def test_outputs_that_a_network_takes_twice_return_errors_once():
    """Through the pass that has errors."""
    passes = {"b": B, "x": Pass("b", "target", SEEN, Take("a", 3))}
    made = plan(passes, "b", b=(5, 1))
    assert made.taken("b") == ({0: 0, 1: 0},) and made.returned("b") == ({0: 0},)


def test_paths_of_two_sweeps(quartet):
    plan = LearnerConfig(algorithm="quartet", observation=3, action=2).plan
    assert plan.order == ("value", "actor", "critic", "critic_2")
    assert plan.ends == ("value", "critic", "critic_2")
    assert plan.weights("actor") == (("target",), ("online",))
    assert plan.weights("critic") == (("online", "target"), ("online", None))
    assert plan.errors("actor") == (0, 1) and plan.errors("value") == (1, 0)


def test_links_of_two_sweeps(quartet):
    plan = LearnerConfig(algorithm="quartet", observation=3, action=2).plan
    assert plan.taken("critic_2") == ({1: 0}, {0: 0})
    assert plan.returned("critic_2") == ({}, {0: 0})
    assert [plan.trained_in(name) for name in plan.networks] == [0, 0, 0, 1]


@pytest.mark.long
@pytest.mark.parametrize("lanes, kind", [(2, "fixed"), (1, "float32")])
def test_four_networks_and_two_sweeps(quartet, lanes, kind):
    """Whole iterations: hardware is twin, with the clocks of the formula."""
    config = kernel_config(
        algorithm="quartet", observation=3, action=2, hidden=(6,), multipliers=2, update_units=2,
        batch=16, lanes=lanes, arithmetic=Arithmetic(kind=kind),
    )  # fmt: skip
    cycles = compare(config, batch=16)
    assert (cycles[:, 2] == step_clocks(config.learner, 16).step).all()


SEEN, LATER = (Feed("obs", 0),), (Feed("next_obs", 0),)
TRAINS = dict(errors=True, trains=True)
A = Pass("q", "online", SEEN, **TRAINS)
#: Of a second network, which takes the outputs of the first, as the only one that trains.
B = Pass("b", "online", SEEN, Take("a", 3), **TRAINS)
C = B._replace(network="c")
#: Of a network of its own.
D = Pass("c", "online", SEEN, **TRAINS)
NEXT = dict(sweep=1)
NOISY = Pass("q", "target", LATER, smoothed=True)


def plan(passes, *losses, acts="a", q=None, **networks):
    """A Plan with a network q, which the pass a trains, and ``networks``, {name: (inputs,
    outputs)}. ``losses``: the networks that each takes, q alone if there are none."""
    made = {name: Network(*sizes, "linear") for name, sizes in networks.items()}
    rules = [
        type("Rule", (), {"numbers": dict.fromkeys(names.split(), ("q",)), "shifts": {}})()
        for names in losses or ("q",)
    ]
    return Plan({"q": q or Network(3, 2, "linear"), **made}, {"a": A, **passes}, tuple(rules), acts)


# fmt: off
BAD_PASSES = {
    "be of q, not of r": A._replace(network="r"),
    "have weights online or target, not 'first'": A._replace(weights="first"),
    "run in one of 1 sweeps, each with a loss, not in 1": A._replace(sweep=1),
    "have online weights, since it has errors": A._replace(weights="target"),
    "have errors, since it trains": A._replace(errors=False),
    "train or take outputs of a pass with errors, since it has errors": A._replace(trains=False),
    "be taken by another pass and have no errors, since it is smoothed": A._replace(smoothed=True),
    "read some of obs, next_obs, not ()": A._replace(feeds=()),
    "have each of its 3 inputs once, not [1, 2, 3]": A._replace(feeds=(Feed("obs", 1),)),
}
BAD_TAKES = {
    "have each of its 5 inputs once, not [0, 1, 2]": B._replace(take=None),
    "take outputs of a pass of another network in the same sweep, not of 'c'":
        B._replace(take=Take("c", 3)),
    "take outputs as its last inputs, not from 2 on": B._replace(take=Take("a", 2)),
}
BAD_PLANS = {
    "rates of 0..1, not 2 of q": plan({}, q=Network(3, 2, "linear", rate=2)),
    "0..1 free outputs, not 2 of q": plan({}, q=Network(3, 2, "linear", free=2)),
    "0..1 free outputs, not -1 of q": plan({}, q=Network(3, 2, "linear", free=-1)),
    "linear outputs of q, since some are free, not tanh":
        plan({}, q=Network(3, 2, "tanh", free=1)),
    "one pass of q that trains": plan({"x": A}),
    "smoothed passes of q in one sweep": plan(
        {"x": NOISY, "y": Pass("b", "online", SEEN, Take("x", 3), **TRAINS),
         "z": NOISY._replace(**NEXT), "w": Pass("b", "online", SEEN, Take("z", 3), **NEXT)},
        "b", "b", b=(5, 1)),
    "each field at the same inputs of b in all its passes": plan({
        "b": Pass("b", "online", (Feed("obs", 0), Feed("next_obs", 3)), **TRAINS),
        "c": Pass("b", "online", (Feed("obs", 3), Feed("next_obs", 0)))}, b=(6, 1)),
    "a loss of q, b in sweep 0, not of ['q']": plan({"b": B._replace(take=None)}, b=(3, 1)),
    "a loss of b in sweep 0, not of ['q']": plan({"b": B}, b=(5, 1)),
    "errors for each pass of q in sweep 0 that has some": plan(
        {"b": B._replace(take=Take("c", 3)), "c": Pass("q", "target", SEEN)}, "b", b=(5, 1)),
    "a pass that trains in sweep 1": plan(
        {"x": Pass("q", "target", SEEN, **NEXT)}, "q", "q"),
    "a pass in sweep 1 that takes what q gives": plan(
        {"b": B, "x": Pass("q", "target", SEEN, **NEXT), "c": D._replace(**NEXT)},
        "b", "c", b=(5, 1), c=(3, 1)),
    "a take of b in each sweep in which it runs, and not in 1": plan(
        {"b": B, "x": Pass("b", "target", (*SEEN, Feed("pair", 3)), **NEXT),
         "c": D._replace(**NEXT)}, "b", "c b", b=(5, 1), c=(3, 1)),
    "one network whose outputs b takes, at the same inputs": plan(
        {"b": B, "c": D, "d": Pass("b", "online", SEEN, Take("c", 3))}, "b c", b=(5, 1), c=(3, 2)),
    "networks of equal sizes that take what q gives": plan(
        {"b": B, "c": C}, "b c", b=(5, 1), c=(5, 2)),
    "no network that takes what one of b, c gives": plan(
        {"b": B, "c": C, "d": Pass("d", "online", SEEN, Take("b", 3), **TRAINS)},
        "c d", b=(5, 1), c=(5, 1), d=(4, 1)),
    "no cycle, as of b, c": plan(
        {"b": B._replace(take=Take("c", 3)), "c": C._replace(take=Take("b", 3))},
        b=(4, 1), c=(4, 1)),
    "the same fields for b and c, whose errors are added": plan(
        {"b": B, "c": C._replace(feeds=LATER)}, "b c", b=(5, 1), c=(5, 1)),
    # The one between returns none there.
    "the same fields for b and d, whose errors are added": plan(
        {"b": B, "c": Pass("c", "online", SEEN, Take("a", 3)),
         "d": B._replace(network="d", feeds=LATER),
         "x": Pass("q", "target", SEEN, **NEXT), "y": C._replace(take=Take("x", 3), **NEXT)},
        "b c d", "c", b=(5, 1), c=(5, 1), d=(5, 1)),
}
BAD_ACTS = {
    "x": plan({"x": Pass("q", "target", SEEN)}, acts="x"),
    "b": plan({"b": B._replace(take=None)}, "q b", acts="b", b=(3, 1)),
    "c": plan({"b": B}, "b", acts="c", b=(5, 2)),
    "d": plan({"d": B._replace(network="b")}, "b", acts="d", b=(5, 2)),
    "e": plan({"e": Pass("q", "online", LATER)}, acts="e"),
}
GOOD = [
    plan({}),
    plan({"b": B}, "b", b=(5, 1)),
    plan({"b": B, "c": C}, "b c", b=(5, 1), c=(5, 1)),
    # A chain of three.
    plan({"b": B, "c": C._replace(take=Take("b", 3))}, "c", b=(5, 1), c=(4, 1)),
]
# fmt: on


def refused(plan, text, **fields):
    with pytest.raises(UsageError) as error:
        plan.check("dqn", dict(obs=3, next_obs=3, **fields), 2)
    assert str(error.value) == text


@pytest.mark.parametrize("rule", BAD_PASSES)
def test_passes_that_cannot_be_built(rule):
    refused(plan({"x": BAD_PASSES[rule]}), f"pass x of dqn must {rule}")


@pytest.mark.parametrize("rule", BAD_TAKES)
def test_takes_that_cannot_be_built(rule):
    refused(plan({"b": BAD_TAKES[rule]}, b=(5, 1)), f"pass b of dqn must {rule}")


def test_a_take_of_a_later_pass_without_a_network():
    passes = {"b": B._replace(take=Take("x", 3)), "x": A._replace(network="r")}
    refused(plan(passes, b=(5, 1)), "pass x of dqn must be of q, b, not of r")


@pytest.mark.parametrize("source, sweep", [("a", 1), ("c", 0)])
def test_a_take_of_another_sweep_or_of_the_network_itself(source, sweep):
    passes = {
        "b": B._replace(take=Take(source, 3), sweep=sweep),
        "c": B._replace(trains=False, errors=False),
    }
    refused(
        plan(passes, "b", "b", b=(5, 2)),
        "pass b of dqn must take outputs of a pass of another network in the same sweep, not of "
        f"{source!r}",
    )


def test_takers_have_equally_many_free_outputs_and_rates_of_their_own():
    made = plan({"b": B, "c": C}, "b c", b=(5, 2), c=(5, 2))
    made.networks["c"] = made.networks["b"]._replace(rate=1)
    made.check("dqn", dict(obs=3, next_obs=3), 2)
    made.networks["c"] = made.networks["b"]._replace(free=1)
    refused(made, "the plan of dqn must have networks of equal sizes that take what q gives")


@pytest.mark.parametrize("rule", BAD_PLANS)
def test_plans_that_cannot_be_built(rule):
    fields = dict(pair=2) if "each sweep in which" in rule else {}
    refused(BAD_PLANS[rule], f"the plan of dqn must have {rule}", **fields)


def test_noise_needs_its_numbers(monkeypatch):
    monkeypatch.setattr(TD3, "record", HYPERPARAMETERS)
    with pytest.raises(UsageError, match="^record must be STEP for smoothed passes, not Hyper"):
        LearnerConfig(algorithm="td3", observation=3, action=1)


@pytest.mark.parametrize("name", BAD_ACTS)
def test_passes_that_cannot_act(name):
    refused(
        BAD_ACTS[name],
        "acts must be a pass with online weights that reads observations and gives as many numbers "
        f"as there are actions, without the free ones, not {name!r} of dqn",
    )


@pytest.mark.parametrize("good", GOOD, ids=["one", "two", "both take", "a chain"])
def test_plans_that_can_be_built(good):
    good.check("dqn", dict(obs=3, next_obs=3), 2)


def test_words_of_networks_that_take_the_same_outputs(quartet):
    options = dict(algorithm="quartet", observation=3, action=2, hidden=(6,))
    words = ((2, 3, 1), (1, 2, 1), (2, 3, 1), (4, 3, 2))
    config = LearnerConfig(**options, words=words)
    assert config.networks["critic"] == config.networks["critic_2"]
    fitted = LearnerConfig(**options, multipliers=7).networks
    assert fitted["critic"] == fitted["critic_2"]
    wrong = (*words[:2], (2, 4, 1), words[3])
    with pytest.raises(
        UsageError,
        match=r"^words of critic_2 must be those of critic, \(2, 3, 1\), as both take actor's "
        r"outputs, not \(2, 4, 1\); the nearest such words are "
        r"2:3:1,1:2:1,2:3:1,4:3:2$",
    ):
        LearnerConfig(**options, words=wrong)


def test_the_schedule_of_two_sweeps(quartet):
    learner = LearnerConfig(algorithm="quartet", observation=3, action=2, hidden=(6,), batch=16)
    text = schedule(learner, 4)
    assert f"takes {step_clocks(learner, 4).step} clocks" in text
    assert "actor 0 update, sweep 1" in text and "critic 0 update, sweep 1" not in text


def test_a_kernel_and_its_estimate(quartet):
    config = kernel_config(algorithm="quartet", observation=3, action=2, hidden=(6,), batch=16)
    one = kernel_config(algorithm="ddpg", observation=3, action=2, hidden=(6,), batch=16)
    design = DESIGNS["quartet"]
    assert design.describe(config).name == "quartet"
    assert design.estimate(config).dsp > design.estimate(one).dsp > 0


def test_a_choice_by_sweep():
    """No multiplexer where all sweeps agree."""
    sweep = Signal(range(3))
    assert isinstance(of_sweep(sweep, (5, 5, 5)), Const) and of_sweep(sweep, (5, 5, 5)).value == 5
    assert not isinstance(of_sweep(sweep, (0, 1, 0)), Const)
    assert len(of_sweep(sweep, (0, 9, 2))) == 4


def test_data_paths_of_placed_layers(quartet):
    layers = placed(LearnerConfig(algorithm="quartet", observation=3, action=2, hidden=(6,)))
    sources = {layer.network: layer.weight_sources for layer in layers}
    assert sources["actor"] == ("either",) and sources["critic"] == ("online", "target")


def test_layers_in_order(quartet):
    layers = placed(LearnerConfig(algorithm="quartet", observation=3, action=2, hidden=(6,)))
    assert [layer.before for layer in layers] == [None, 0, None, 2, 3, 4, 3, 6]
    assert [layer.takers for layer in layers] == [(1,), (), (3,), (4, 6), (5,), (), (7,), ()]
    assert [layer.runs(1) for layer in layers] == [False] * 2 + [True] * 6


def test_dqn_and_ddpg_choose_nothing_by_sweep():
    for algorithm in ("dqn", "ddpg"):
        for layer in placed(LearnerConfig(algorithm=algorithm)):
            assert "either" not in layer.weight_sources


def test_words_of_several_networks_hold_up_reads():
    """Clocks in which words come are sorted, however they are found."""
    reader = ReaderClocks(LearnerConfig(algorithm="ddpg", observation=8))
    for words in ([20, 21], [40, 41], [24, 25]):
        reader.take(words)
    assert list(reader.taken) == [20, 21, 24, 25, 40, 41]


def test_the_loss_of_a_later_sweep(quartet):
    """It has no TD errors to send, and takes other networks."""
    learner = LearnerConfig(algorithm="quartet", observation=3, action=2, hidden=(6,))
    first, second = Loss(learner), Loss(learner, 1)
    assert first.networks == ("value", "critic", "critic_2")
    assert second.networks == ("critic", "critic_2")


def test_a_program_is_the_loss_of_every_sweep_or_of_none(quartet, monkeypatch):
    """Here the first sweep's loss has one, the second's has not."""
    monkeypatch.setattr(TdRule, "pipeline", TdLoss)
    options = dict(algorithm="quartet", observation=3, action=2, loss_unit="program")
    assert LearnerConfig(**options).has_loss_program
    monkeypatch.setattr(ClimbRule, "pipeline", PairLoss)
    with pytest.raises(UsageError, match="^loss_unit must be pipeline for quartet, whose loss is "):
        LearnerConfig(**options)


def test_td_errors_leave_the_first_loss(quartet):
    first, second = (Loss(both()[1], sweep) for sweep in range(2))
    assert "td" in first.signature.members and "td" not in second.signature.members
    assert first.passes == {"value": (1, 1), "critic": (2, 1), "critic_2": (2, 1)}


def test_clocks_of_two_sweeps(quartet):
    """Clocks that the long test of the trainer holds to the hardware."""
    learner = LearnerConfig(
        algorithm="quartet", observation=3, action=2, hidden=(4,), batch=8, multipliers=2,
        update_units=2, lanes=2, arithmetic=Arithmetic(kind="fixed"),
    )  # fmt: skip
    assert step_clocks(learner, 8)[:2] == CLOCKS
    units = step_units(learner, 4)
    assert max(end for spans in units.values() for _, end in spans) < CLOCKS[1]


def test_random_plans_keep_the_pace(monkeypatch):
    """No super-sample of any plan waits for a slot: the slowest unit decides."""
    for seed in range(30):
        for names, key, value in random_plan.entries(seed):
            monkeypatch.setitem(names, key, value)
        learner = replace(random_plan.random_config(seed), batch=256)
        few, many = (step_clocks(learner, count * learner.lanes).step for count in (48, 64))
        sweeps = learner.plan.sweeps
        assert many - few <= 16 * sweeps * pace(learner), seed


def both(**options):
    """A LearnerConfig of ddpg and one of quartet, whose critics and actors are alike."""
    sizes = dict(observation=3, action=2, hidden=(6,), words=((2, 3, 1), (1, 3, 2))) | options
    ddpg = LearnerConfig(algorithm="ddpg", **sizes)
    critic, actor = sizes["words"]
    words = (critic, (1, 3, 1), critic, actor)
    return ddpg, LearnerConfig(algorithm="quartet", **sizes | dict(words=words))


def test_an_act_passes_the_network_that_acts_alone(quartet):
    ddpg, four = both()
    assert [acting_clocks(four, count) for count in (1, 7)] == [
        acting_clocks(ddpg, count) for count in (1, 7)
    ]


def test_scalars_wait_as_long_as_the_longest_way_takes(quartet):
    """From actor to critic, as of ddpg, whatever the value network does."""
    ddpg, four = both()
    assert scalars_ahead(four) == scalars_ahead(ddpg)


def test_errors_that_are_added_come_later(quartet):
    _, four = both()
    add = four.arithmetic.add_latency
    assert [merge_latency(four, placed(four)[k]) for k in (4, 6, 5)] == [add, add, 0]


def test_adders_of_errors_are_estimated(quartet):
    one, more = (merges(config, "actor") for config in both())
    assert (one, more) == (False, True)


def test_the_first_sweep_is_the_longer_one(quartet):
    """It trains two critics and a value network, behind two networks in a row."""
    td, step, _ = step_clocks(both()[1], 32)
    assert td < step_clocks(both()[0], 32).step < step < 3 * td


def test_a_network_that_stands_still_has_no_clocks(quartet):
    units = step_units(both()[1], 3)
    assert "value 0 forward" in units and "value 0 forward, sweep 1" not in units
    assert "actor 0 backward" not in units and "actor 0 backward, sweep 1" in units


def test_a_step_ends_with_the_last_unit(monkeypatch):
    """Networks that the last sweep does not train have no update in it."""
    for seed in range(30):
        for names, key, value in random_plan.entries(seed):
            monkeypatch.setitem(names, key, value)
        learner = random_plan.random_config(seed)
        ends = [end for spans in step_units(learner, 2).values() for _, end in spans]
        later = 1 + (learner.plan.sweeps > 1)
        assert step_clocks(learner, 2 * learner.lanes).step == max(ends) + later, seed

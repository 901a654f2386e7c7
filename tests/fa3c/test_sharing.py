"""hw.fa3c.sharing: what the schedules of A3C, GA3C and PAAC leave, against plain loops of their
updates in NumPy; and the clocks of their rounds on card sim."""

from dataclasses import replace
from itertools import islice

import numpy as np
import pytest
from fa3c import modelled
from fa3c.networks import network
from fa3c.test_kernel import SMALL
from replay.kernels import opened

from host.a3c.card_network import ActorCritic, Sync, Train
from host.a3c.parameter_image import observation_rows, padded, to_image
from host.explore.round_clocks import random_parameters, tasks_of
from hw.errors import UsageError
from hw.fa3c.config import Fa3cConfig
from hw.fa3c.round_clocks import clocks_of_launch, period_clocks, works_of
from hw.fa3c.rows import ROW
from hw.fa3c.sharing import SHARINGS, schedule_of
from hw.shell.memory_clocks import latencies
from sim.card.memory import MemoryConfig
from sim.model.arith.float32 import add, multiply, rsqrt
from sim.model.fa3c.layer import LayerTwin

VECTORS = network(
    height=1, width=1, channels=5, convolutions=(), hidden=(17,), binary32=True, lanes=1,
    steps=6, agents=6, snapshots=6, batch=2, tasks=16, units=("infer", "train", "any"),
)  # fmt: skip


class Plain:
    """The network with one theta, in rows as in memory, and RMSProp."""

    def __init__(self, config, parameters):
        self.config = config
        self.layers = [LayerTwin(config, number) for number in range(len(config.layers))]
        self.theta = to_image(config, parameters).view(np.float32).reshape(-1, ROW)
        self.squares = np.zeros_like(self.theta)

    def part(self, rows, number):
        layer, base = self.config.layers[number], self.config.parameter_bases[number]
        return rows[base : base + layer.rows].reshape(layer.groups, layer.group_rows, ROW)

    def forward(self, theta, observations):
        """Inputs of each layer [samples, ...], then the outputs."""
        maps = [self.layers[0].numbers(observation_rows(self.config, observations))]
        for number, layer in enumerate(self.layers):
            maps.append(layer.forward(self.part(theta, number), maps[-1]))
        return maps

    def gradient(self, theta, samples, errors):
        """Rows of d: ``samples``, lists of the inputs of each layer; ``errors`` of each sample."""
        d, errors = np.zeros_like(theta), padded(self.config, errors)
        for number in reversed(range(len(self.layers))):
            layer, inputs = self.layers[number], np.stack([each[number] for each in samples])
            depth = self.config.layers[number].depth + 1
            self.part(d, number)[:, :depth] = layer.gradient(inputs, errors)
            if number:
                errors = layer.backward(self.part(theta, number), errors, inputs)
        return d

    def update(self, d, task):
        rate, decay, gain, epsilon = np.float32(
            [task.rate, task.decay, 1 - task.decay, task.epsilon]
        )
        self.squares = add(multiply(decay, self.squares), multiply(gain, multiply(d, d)))
        step = multiply(rate, multiply(d, rsqrt(add(self.squares, epsilon))))
        self.theta = add(self.theta, -step)


class Loop:
    """The updates of a ``sharing``: in each round the trainings, then the inferences."""

    def __init__(self, plain, sharing):
        self.plain, self.sharing = plain, sharing
        self.own, self.samples = {}, {}

    def round(self, plan, tasks):
        """The outputs of the inferences."""
        now, outputs = self.plain.theta.copy(), []
        works = [task for task in tasks if not isinstance(task, Sync)]
        for planned, task in zip((*plan.trainings, *plan.inferences), works, strict=True):
            if isinstance(task, Train):
                self.train(planned.agents, task, now)
                continue
            for agent in planned.agents:
                if planned.step == 0 or self.sharing != "a3c":
                    self.own[agent] = now
            theta = self.own[planned.agents[0]]
            *inputs, found = self.plain.forward(theta, task.observations)
            outputs.append(found[:, : self.plain.config.outputs])
            for place, agent in enumerate(planned.agents):
                if planned.step is not None:
                    kept = self.samples.setdefault(agent, [])
                    assert len(kept) == planned.step
                    kept.append([each[place] for each in inputs])
        return outputs

    def train(self, agents, task, now):
        rollouts = [self.samples.pop(agent) for agent in agents]
        samples = [rollout[step] for step in range(len(rollouts[0])) for rollout in rollouts]
        theta = self.own[agents[0]] if self.sharing == "a3c" else now
        self.plain.update(self.plain.gradient(theta, samples, task.errors), task)


def run(kernel, config, schedule, sharing, periods):
    """Runs rounds on ``kernel`` and in a ``Loop``; returns clocks of launches, counted and worked
    out, and how often theta has changed."""
    rng = np.random.default_rng(7)
    parameters, critic = random_parameters(config, rng), ActorCritic(kernel)
    critic.load(parameters)
    loop, clocks, trained = Loop(Plain(config, parameters), sharing), [], 0
    for plan in islice(schedule.plans(), periods * schedule.period):
        tasks, before = tasks_of(config, plan, rng), critic.device_cycles
        if not tasks:
            continue
        found = [each for each in critic.run(tasks) if each is not None]
        for one, other in zip(found, loop.round(plan, tasks), strict=True):
            np.testing.assert_array_equal(one.view(np.uint32), other.view(np.uint32))
        trained += len(plan.trainings)
        if before is not None:
            worked_out = clocks_of_launch(config, tuple(works_of(plan)))
            clocks.append((critic.device_cycles - before, worked_out))
    state = critic.state_dict()
    for name in ("theta", "squares"):
        own = np.ascontiguousarray(getattr(loop.plain, name)).view(np.uint32)
        np.testing.assert_array_equal(np.ravel(state[name]), np.ravel(own))
    return clocks, trained


@pytest.mark.parametrize(
    "sharing, agents, group",
    [
        ("a3c", 5, 2),
        ("a3c", 5, 1),
        ("ga3c", 5, 2),
        ("ga3c", 5, 1),
        ("ga3c", 6, None),
        ("paac", 3, None),
        ("paac", 6, None),
        ("paac", 1, None),
        ("paac", 4, None),
    ],
)
def test_updates_on_model(sharing, agents, group):
    schedule = schedule_of(VECTORS, agents, group, sharing)
    with modelled.opened(VECTORS) as kernel:
        _, trained = run(kernel, VECTORS, schedule, sharing, 3)
    assert trained >= (2 if sharing == "paac" else agents)


@pytest.mark.parametrize(
    "sharing, agents, group", [("a3c", 3, 1), ("ga3c", 4, 2), ("paac", 3, None)]
)
def test_updates_on_sim(sharing, agents, group):
    """Each round takes the clocks that are worked out, to a percent."""
    schedule = schedule_of(SMALL, agents, group, sharing)
    assumed = {f"{name}_latency": clocks for name, clocks in latencies(SMALL.engine).items()}
    with opened("sim", SMALL, memory=MemoryConfig(**assumed)) as kernel:
        clocks, trained = run(kernel, SMALL, schedule, sharing, 2)
    assert trained >= 2
    for counted, worked_out in clocks:
        assert abs(counted - worked_out) < 0.01 * counted


PAIR = Fa3cConfig(agents=16, snapshots=8, units=("infer", "train"))


def rate(config, agents, sharing):
    """Inferences a clock, bootstraps not counted."""
    schedule = schedule_of(config, agents, sharing=sharing)
    return schedule.active * schedule.steps / sum(period_clocks(config, schedule))


@pytest.mark.parametrize("agents", [1, 4, 16])
def test_rates(agents):
    """A snapshot that all read has to be made after the trainings of each round, and a step of PAAC
    has its inferences one after the other; with one agent the three are alike."""
    merged = replace(PAIR, steps=agents * min(5, 32 // agents))
    own, shared, one = (
        rate(config, agents, sharing)
        for config, sharing in zip((PAIR, PAIR, merged), SHARINGS, strict=True)
    )
    if agents == 1:
        assert [shared, one] == pytest.approx([own, own], rel=0.005)
    else:
        assert 0.85 * own < shared < own and one < 0.75 * own


def test_the_fastest_groups_are_chosen():
    chosen = rate(PAIR, 16, "ga3c")
    for size in (1, 2, 3, 4):  # with any number of groups
        fixed = schedule_of(PAIR, 16, size, "ga3c")
        assert fixed.active == 16
        assert 16 * 5 / sum(period_clocks(PAIR, fixed)) <= chosen


def test_plans_of_ga3c():
    """A round reads the snapshot that the round before has made last, and makes the other one."""
    schedule, made = schedule_of(PAIR, 16, 4, "ga3c"), set()
    for number, plan in enumerate(islice(schedule.plans(), 20)):
        made |= set(plan.syncs)
        assert plan.syncs == (() if number else (0,))
        [now] = set(plan.snapshots)
        assert now in made and len(plan.snapshots) == len(schedule.groups)
        assert plan.renewed == (1 - now,)
        made = set(plan.renewed)
    assert schedule.snapshots == 2


@pytest.mark.parametrize("units", [("infer", "train") * 2, ("any",)])
def test_plans_of_paac(units):
    """All steps of all agents, all bootstraps in batches over all units, and one training."""
    config = replace(PAIR, units=units, steps=17, batch=3)
    schedule = schedule_of(config, 8, sharing="paac")
    assert (schedule.steps, schedule.period, schedule.clocks_of_all(5)) == (2, 18, 5)
    plans = list(islice(schedule.plans(), 2 * 18))
    assert plans[:18] == plans[18:]
    *steps, bootstraps, training = plans[:18]
    for number, plan in enumerate(steps):
        [inference] = plan.inferences
        assert (inference.rollouts, inference.sample) == ((0,), number)
        assert (inference.step, inference.agents) == (number // 8, (number % 8,))
        assert plan.syncs == ((0,) if number == 0 else ())
    parts = [inference.agents for inference in bootstraps.inferences]
    assert sum(parts, ()) == tuple(range(8)) and max(map(len, parts)) <= 3
    assert {inference.unit for inference in bootstraps.inferences} == set(schedule.inferrers)
    assert all(i.step is None and i.sample is None for i in bootstraps.inferences)
    [task] = training.trainings
    assert (task.agents, task.rollout, task.samples) == (tuple(range(8)), 0, 16)
    assert task.unit in schedule.trainers and not training.inferences


@pytest.mark.parametrize(
    "changes, agents, group, sharing, message",
    [
        ({}, 4, None, "gorila", "sharing must be a3c, ga3c, paac, not 'gorila'"),
        ({}, 17, None, "ga3c", r"agents must be an integer in 1..16 \(config.agents\), not 17"),
        ({}, 0, None, "paac", r"agents must be an integer in 1..16 \(config.agents\), not 0"),
        ({}, 8, 5, "ga3c", "group must be an integer in 1..4, not 5"),
        (dict(snapshots=1), 4, 4, "ga3c", "snapshots must be at least 2, one to read and one to "),
        ({}, 6, None, "paac", r"agents must be at most 5 \(steps, the samples of a training\), "),
        ({}, 4, 2, "paac", "group must be None with sharing paac, not 2"),
    ],
)
def test_errors(changes, agents, group, sharing, message):
    with pytest.raises(UsageError, match=message):
        schedule_of(replace(PAIR, **changes), agents, group, sharing)


def test_all_agents_of_the_config():
    assert [schedule_of(VECTORS, sharing=each).agents for each in SHARINGS] == [6, 6, 6]

"""host.a3c.round_learner: the tasks of each round, checked by what they say."""

from collections import Counter

import numpy as np
import pytest

from host.a3c.card_network import Infer, RoundLaunch, Sync, Train
from host.a3c.round_collector import RoundCollector
from host.a3c.round_learner import RoundLearner
from host.agents.evaluation import Copies
from host.algorithms.config import Clock
from host.environments.environment import make_envs
from host.environments.spec import Spec
from host.phases import Phases
from host.runs.run_kinds import family_of
from host.runs.session import Session
from hw.fa3c.schedule import Schedule
from tests.host.round_parts import *

#: Groups of 2, 2 and 1 agents; the step size falls, the other numbers are no defaults.
RATES = dict(learning_rate=0.5, learning_rate_final=0.01, learning_rate_steps=200)
CONFIG = configured(
    env=NUMBERED, env_count=10, agent=RATES | dict(decay=0.9, optimizer_epsilon=0.2)
)
KINDS = [Sync, Train, Infer]


def outputs_of(obs):
    value = value_of(obs.reshape(len(obs), 3))
    return np.stack([np.sin(value), np.cos(value), value], axis=1).astype(np.float32)


class Policy:
    """Chooses by the value."""

    spec = Spec(shape=(3,), dtype="float32", discrete=True, action_count=2)

    def flat(self, obs):
        return obs

    def choose(self, outputs, *, greedy=False, steps=0):
        return outputs[:, -1].astype(int) % 2


class Executor:
    """Answers by what is seen, and keeps the rounds; ``kernel`` finds them right."""

    device_cycles = None

    def __init__(self, kernel):
        self.kernel, self.rounds = kernel, []

    def prepare(self, tasks):
        RoundLaunch(self.kernel, tasks)
        return tasks

    def run(self, tasks):
        self.rounds.append(tasks)
        return [outputs_of(t.observations) if type(t) is Infer else None for t in tasks]

    def abort(self):
        pass

    close = abort


class Rig:
    """A Session with an executor of ``Executor``'s kind."""

    def __init__(self, config, executor, errors, make=RoundLearner, units=("any", "any")):
        self.kernel = kernel_of(config, units=units)
        self.schedule = Schedule(self.kernel, config.population, config.group_size)
        self.clock, self.policy = Clock(), Policy()
        self.policy.config = config.agent
        counts = family_of(config).environments(config)
        envs = [make_envs(config.env, count, config.algorithm) for count in counts]
        phases = Phases()
        self.collector = RoundCollector(
            envs, self.schedule, populations=config.populations, seed=40, phases=phases
        )
        options = dict(populations=config.populations, phases=phases)
        parts = self.policy, self.clock, executor(self.kernel), errors, self.schedule
        self.learner = make(*parts, **options)
        self.executor, self.measured = self.learner.executor, []
        self.session = Session(
            config,
            policy=self.policy,
            collector=self.collector,
            learner=self.learner,
            clock=self.clock,
            copies=Copies(config.env, 1, config.algorithm),
            phases=phases,
        )
        self.flying, self.close = self.session._flying, self.session.close

    def iterate(self):
        """The round that was begun."""
        self.measured.append(self.session.iterate().measured)
        return self.session._pending


def as_outputs(agent, rollout):
    """Errors by which a rollout is known."""
    assert agent.batch_size == len(rollout.reward)
    return rollout.outputs, {"loss": float(rollout.reward.mean())}


@pytest.mark.parametrize("units", [("any", "any"), ("infer", "train")])
def test_rounds(units):
    """Tasks in order; each rollout is trained once, with its own errors and snapshot and the step
    size of then; populations and guests have places of their own."""
    rig = Rig(CONFIG, Executor, as_outputs, units=units)
    steps, requests, seen = [], [], Counter()
    for _ in range(120):
        steps.append(rig.clock.steps)
        requests.append(rig.iterate())
    while rig.flying:
        rig.learner.end(rig.flying.popleft())
    versions, rollouts, place = Counter(), {}, 0
    for number, tasks in enumerate(rig.executor.rounds):
        population, request = number % 2, requests[number]
        plan = rig.schedule.plan(number // 2)
        first, snapshots = 5 * population, 3 * population
        assert [type(t) for t in tasks] == sorted(map(type, tasks), key=KINDS.index)
        inferences = [t for t in tasks if type(t) is Infer]
        own, guests = (inferences[: len(plan.inferences)], inferences[len(plan.inferences) :])
        assert [t.snapshot - snapshots for t in tasks if type(t) is Sync] == list(plan.syncs)
        for task, planned in zip(own, plan.inferences, strict=True):
            assert task.agents == tuple(first + agent for agent in planned.agents)
            assert (task.unit, task.step) == (planned.unit, planned.step)
        for task in tasks:
            if type(task) is Sync:
                versions[task.snapshot] += 1
            elif type(task) is Train:
                kept = rollouts.pop(task.agent)
                assert {each[0] for each in kept} == {(task.snapshot, versions[task.snapshot])}
                wanted = np.concatenate([outputs_of(obs) for _, obs in kept])
                np.testing.assert_array_equal(task.errors, wanted)
                assert (task.decay, task.epsilon) == (0.9, 0.2)
                assert task.rate == CONFIG.agent.learning_rate_at(steps[number])
                seen["trained"] += 1
        assert sum(type(t) is Train for t in tasks) == len(plan.trainings)
        for task in own:
            assert task.snapshot == snapshots + (task.agents[0] - first) // 2
            for agent, obs in zip(task.agents, task.observations, strict=True):
                kept = rollouts.setdefault(agent, [])
                assert len(kept) == (3 if task.step is None else task.step)
                if task.step is not None:
                    kept.append(((task.snapshot, versions[task.snapshot]), obs[None]))
        place = 10
        assert [t.snapshot - snapshots for t in guests] == [group for group, _ in request.guests]
        for task, (_, obs) in zip(guests, request.guests, strict=True):
            assert task.step is None
            assert task.agents == tuple(range(place, place + len(obs)))
            np.testing.assert_array_equal(task.observations.reshape(obs.shape), obs)
            place += len(obs)
            seen["guests"] += 1
    assert seen["trained"] == rig.clock.updates > 60 and seen["guests"] > 10
    assert rig.learner.progress() == {"learning_rate": pytest.approx(0.01)}
    rewards = [[r.reward.mean() for r in request.finished.values()] for request in requests]
    for found, wanted in zip(rig.measured[1:], rewards, strict=False):
        assert found == ({"loss": pytest.approx(np.mean(wanted))} if wanted else {})
    rig.close()


def test_evaluations_have_places_of_their_own():
    """Of any number of rows: agents that are no population's, a snapshot that is no group's."""
    rig = Rig(CONFIG, Executor, as_outputs)
    rig.iterate()
    obs = np.random.default_rng(1).integers(9, size=(12, 3)).astype(np.float32)
    with rig.learner.actor() as actor:
        found = actor.act(obs, greedy=True)
    np.testing.assert_array_equal(found, Policy().choose(outputs_of(obs)))
    sync, *asked = rig.executor.rounds[1:]
    assert [t.snapshot for t in sync] == [6]
    tasks = [task for tasks in asked for task in tasks]
    assert {task.snapshot for task in tasks} == {6} and {task.step for task in tasks} == {None}
    assert [len(t.agents) for t in tasks] == [2, 2, 1, 2, 2, 1, 2]
    assert min(min(t.agents) for t in tasks) == 10 and max(max(t.agents) for t in tasks) == 14
    assert {task.unit for task in tasks} == {0, 1}, "every unit has some"
    with rig.learner.actor("the best") as actor:
        assert actor == "the best", "which acts by its own weights"
    rig.close()


NOT_FINITE = [
    ("rewards", lambda request: rollout_of(request).reward.__setitem__((1, 0), np.inf)),
    ("outputs", lambda request: rollout_of(request).outputs.__setitem__((1, 0, 2), np.nan)),
    ("outputs", lambda request: rollout_of(request).bootstrap.__setitem__(1, -np.inf)),
    ("outputs", lambda request: rollout_of(request).follows.__setitem__((0, 0), np.nan)),
    ("errors", lambda request: rollout_of(request).reward.__setitem__((0, 0), 3e38)),
]


def rollout_of(request):
    return next(iter(request.finished.values()))


@pytest.mark.parametrize("name, spoil", NOT_FINITE)
def test_what_is_not_finite(name, spoil):
    """Is named, and no round has it."""

    def errors(agent, rollout):
        with np.errstate(over="ignore"):
            return rollout.outputs + np.float32(2) * rollout.reward[..., None], {}

    rig = Rig(CONFIG, Executor, errors)
    collect = rig.collector.collect

    def spoilt(*arguments):
        request, episodes = collect(*arguments)
        if request.finished:
            spoil(request)
        return request, episodes

    rig.collector.collect = spoilt
    words = rf"^{name} must be finite, not -?(nan|inf) \(step \d+[;)]"
    with pytest.raises(ValueError, match=words) as caught:
        for _ in range(40):
            rig.iterate()
    rate = CONFIG.agent.learning_rate_at(rig.clock.launched)
    hint = "" if name == "rewards" else f"; learning_rate {rate:g} may be too high"
    assert str(caught.value).endswith(f"(step {rig.clock.steps}{hint})")
    rig.close()
    assert len(rig.executor.rounds) == rig.session.launches > 5
    assert not any(type(task) is Train for tasks in rig.executor.rounds for task in tasks)

"""Experiences and rollouts of actors: the same as of collectors that a test steps by hand."""

import re
from contextlib import closing
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from host.actors.actor_collectors import _Actors
from host.actors.local_transport import InlineTransport
from host.actors.messages import ActorLoss, ActorRequest, Launch, Message, WorkerPlan, sealed
from host.actors.placement import Actors
from host.actors.worker import CollectingWorker, SteppingWorker, worker_of
from host.advantages.rollout import Rollout, RolloutCollector
from host.agents.registry import ALGORITHMS
from host.algorithms.config import Clock
from host.algorithms.normalizer import Normalizer
from host.environments.environment import make_envs
from host.environments.spec import Spec
from host.phases import ACTORS, Phases
from host.replay.nstep import NStep, NStepCollector
from host.runs.family import RunParts
from host.runs.session import Seeds
from tests.host.actors.acted import INLINE, config_of


def collector_of(config, actors=INLINE):
    """``(collector, policy)`` of a run, without its learner."""
    config = config.in_run(10_000)
    algorithm, seeds = config.algorithm, Seeds(config.seed)
    with closing(make_envs(config.env, 1, algorithm)) as envs:
        spec = Spec.of(envs)
    policy = algorithm.policy(config.agent, spec)
    phases = Phases(more=ACTORS)
    told = dict(config=config, spec=spec, policy=policy, clock=Clock(), phases=phases)
    pool = RunParts(**told, seeds=seeds, envs=[envs], updater=None, actors=actors).actor_pool
    replay = algorithm.learns_from == "replay"
    return pool.experiences() if replay else pool.rollouts(), policy


class LastFirst(InlineTransport):
    """Of several answers the last one is there first."""

    def ready(self, tickets, timeout):
        return [len(tickets) - 1]


LAST_FIRST = Actors(transport=LastFirst())


def test_what_a_trainer_changes_while_it_acts_is_sent():
    """An evaluation may change a trainer's attributes; gradient steps change all policies."""
    shared = []
    pool = SimpleNamespace(share=shared.append, call=lambda *_: None)
    for steady, wanted in ((True, "ac"), (False, "abc")):
        collector, policy = (
            _Actors(pool, None),
            SimpleNamespace(STEADY=steady, weights_steps=1, snapshot="a"),
        )
        for policy.snapshot, updates in (("a", 1), ("b", 1), ("c", 2)):
            collector._ask(0, policy, Clock(updates=updates))
        assert "".join(shared) == wanted
        shared.clear()


class ByHand:
    """An actor of a test: environments, policy and collector, seeded as that of a run."""

    def __init__(self, config, index, generation=0):
        config = config.in_run(10_000)
        self.config, algorithm = config, config.algorithm
        exploration, seed = Seeds(config.seed).actor(index, generation)
        self.envs = make_envs(config.env, config.env_count // config.actors, algorithm)
        spec = Spec.of(self.envs)
        self.policy = algorithm.policy(config.agent, spec, exploration=exploration)
        if algorithm.learns_from == "replay":
            windows = NStep.of(config.agent, spec, self.envs.num_envs)
            steps = config.steps_per_launch * config.actors
            self.collector = NStepCollector(self.envs, steps, windows=windows, seed=seed)
        else:
            self.collector = RolloutCollector(self.envs, config.steps_per_launch, seed=seed)

    def message(self, parameters, launches, steps):
        """As an actor makes it; exploration goes by the steps of all actors."""
        self.policy.load_parameters(parameters)
        found, actors, taken = [], self.config.actors, 0
        own = self.envs.num_envs

        class All:
            @property
            def steps(self):
                return steps + actors * taken

            @steps.setter
            def steps(self, value):
                nonlocal taken
                taken += own

        clock = All()
        for _ in range(launches):
            found.append(self.collector.collect(self.policy, clock))
        return found


def test_experiences():
    """Messages in turn; requests of two messages ahead, with the weights of the turn before."""
    config = config_of("dqn", launches_per_message=2, epsilon_steps=200, steps_per_launch=2)
    collector, policy = collector_of(config)
    hands, clock = [ByHand(config, index) for index in range(2)], Clock()

    def weights(number):
        return {name: array + number for name, array in first.items()}

    first = {name: array.copy() for name, array in policy.parameters.items()}
    # (steps, weights) of the requests of each actor
    requests = [[(0, 0)] * 2, [(0, 0)] * 2]
    for turn in range(6):
        for part in range(2):
            if not part:
                steps, number = requests[turn % 2].pop(0)
                message = hands[turn % 2].message(weights(number), 2, steps)
                requests[turn % 2].append((clock.steps, clock.updates))
            experience, episodes = collector.collect(policy, clock)
            wanted, ended = message[part]
            assert experience.tobytes() == wanted.tobytes() and episodes == ended
            assert clock.steps == 8 * (2 * turn + part + 1)
            clock.updates += 1
            policy.load_parameters(weights(clock.updates))
    found = collector.progress()
    assert found["actors_alive"] == 2 and found["actor_losses"] == 0
    assert found["message_bytes"] > 0 and 0 <= found["idle_actors"] <= 1
    # The first requests had no updates; a later one is answered four messages later.
    assert found["staleness"] == pytest.approx(np.mean([*range(8), 8, 9, 8, 9]))
    assert collector.progress()["staleness"] is None, "means are those since the call before"
    collector.close()


@pytest.mark.parametrize("count, interval", [(1, 1), (2, 1), (2, 3)])
def test_staleness_counts_from_the_weights_that_were_sent(count, interval):
    """A learner on the card has newer ones than the host, where they are fetched now and then."""
    config = config_of("dqn", launches_per_message=1)
    collector, policy = collector_of(config)
    policy.weights_steps, clock, wanted = count * interval, Clock(), []
    asked = [[0, 0], [0, 0]]
    for launch in range(14):
        collector.collect(policy, clock)
        wanted.append(clock.updates - asked[launch % 2].pop(0))
        asked[launch % 2].append(clock.updates - clock.updates % (count * interval))
        clock.updates += count
    assert collector.progress()["staleness"] == pytest.approx(np.mean(wanted))
    collector.close()


def test_messages_as_they_come():
    """Without an order, the actor that answers first is taken first, again and again."""
    config = config_of("dqn", actor_order="free", launches_per_message=1)
    collector, policy = collector_of(config, LAST_FIRST)
    hands, clock = [ByHand(config, index) for index in range(2)], Clock()
    parameters, steps = dict(policy.parameters), [[0, 0], [0, 0]]
    for _ in range(6):
        [wanted] = hands[1].message(parameters, 1, steps[1].pop(0))
        steps[1].append(clock.steps)
        assert collector.collect(policy, clock)[0].tobytes() == wanted[0].tobytes()
    collector.close()


def test_what_is_saved_of_messages():
    """A new collector returns first what the old one would have returned, and takes turns on."""
    config = config_of("dqn", launches_per_message=3)
    for actors, order in ((INLINE, "fixed"), (LAST_FIRST, "free")):
        config = replace(config, actor_order=order)
        collector, policy = collector_of(config, actors)
        clock = Clock()
        for _ in range(4):  # one of the second message is taken
            collector.collect(policy, clock)
        state = collector.state_dict()
        again, _ = collector_of(config, actors)
        again.load_state_dict(state)
        other = replace(clock)
        for _ in range(2 + 2 * 2 * 3):
            (old, ended), (new, found) = (
                each.collect(policy, its) for each, its in ((collector, clock), (again, other))
            )
            assert old.tobytes() == new.tobytes() and ended == found
        assert again.progress()["staleness"] == collector.progress()["staleness"] == 0
        assert (
            again.pool.generations == [1, 1]
            and again.state_dict()["turn"] == (collector.state_dict()["turn"])
        )
        collector.close()
        again.close()


def test_what_is_saved_of_an_actor():
    """Its random numbers go on; its windows are the first experiences, as if truncated."""
    worker, other = (
        CollectingWorker(plan(epsilon_start=1.0, n_step=5), np.random.SeedSequence(k), 5 + k)
        for k in range(2)
    )
    worker.open()
    other.open()
    parameters = dict(worker._policy.parameters)
    [launch] = worker.collect(ActorRequest(0, 0, 1), parameters).launches
    state = worker.state()
    assert "parameters" not in state["policy"]
    windows = worker._collector._windows.flush()
    assert len(windows) > 0 and other.load_state(state)
    assert other._policy.state_dict()["rng"] == state["policy"]["rng"]
    [after] = other.collect(ActorRequest(0, 0, 1), parameters).launches
    assert after.experience[: len(windows)].tobytes() == windows.tobytes()


@pytest.mark.parametrize("actors", [INLINE, LAST_FIRST])
@pytest.mark.parametrize("normalized", [False, True])
def test_rollouts(normalized, actors):
    """Parts are joined in the order of the actors, whoever answers first."""
    config = config_of("ppo", normalize_observations=normalized)
    collector, policy = collector_of(config, actors)
    hands, clock = [ByHand(config, index) for index in range(2)], Clock()
    counted = Normalizer(policy.spec.size)
    for _ in range(3):
        parameters = {name: array.copy() for name, array in policy.parameters.items()}
        parts = [hand.message(parameters, 1, clock.steps)[0] for hand in hands]
        rollout, episodes = collector.collect(policy, clock)
        clock.updates += 3
        for name in Rollout.__dataclass_fields__:
            wanted = np.concatenate([getattr(part, name) for part, _ in parts], axis=1)
            assert getattr(rollout, name).tobytes() == wanted.tobytes(), name
        assert rollout.obs.shape[:2] == (16, 4)
        assert episodes == parts[0][1] + parts[1][1]
    assert clock.steps == 3 * 64 and collector.progress()["staleness"] == 0
    if normalized:
        assert policy.normalizer.count == 3 * 64
        assert (policy.normalizer.variance > 0).all() and counted.count == 0
    collector.close()


def test_join_of_statistics():
    """As if one normalizer had seen all observations."""
    rng = np.random.default_rng(0)
    parts = [rng.normal(k, 1 + k, (5 + k, 3)) for k in range(4)]
    whole, joined = Normalizer(3), Normalizer(3)
    whole.update(np.concatenate(parts))
    for part in parts:
        one = Normalizer(3)
        one.update(part)
        joined.join(*one.arrays.values())
    for name in ("mean", "variance", "count"):
        np.testing.assert_allclose(getattr(joined, name), getattr(whole, name), rtol=1e-12)


def plan(env="CartPole-v1", algo="dqn", sizes=(2,), **agent):
    made = ALGORITHMS["dqn"].config(**dict(hidden=(8,), n_step=1) | agent).in_run(100)
    fields = dict(algo=algo, agent=made.to_dict(), env=env, sizes=sizes, steps=2, actors=3)
    return WorkerPlan(**fields)


def test_worker():
    """Nobody can write what it sends, wherever it is; a loss closes the environments."""
    transport = InlineTransport()
    worker = transport.make(CollectingWorker, plan(), np.random.SeedSequence(1), 5)
    assert "pid" in transport.call(worker, "begin")
    assert transport.call(worker, "open") is True
    own = {name: array.copy() for name, array in worker._policy.parameters.items()}
    parameters = transport.share(own)
    own["q"][:] += 1
    assert not np.array_equal(parameters["q"], own["q"]), "as they were"
    message = transport.call(worker, "collect", ActorRequest(7, 0, 2), parameters)
    assert message.version == 7 and message.loss is None and message.busy_s > 0
    assert [launch.steps for launch in message.launches] == [12, 12]
    assert message.bytes == sum(launch.experience.nbytes for launch in message.launches)
    assert not message.launches[0].experience.flags.writeable
    worker._envs[0].step, tried = lambda _: 1 / 0, []
    worker._envs[0].close = lambda: (tried.append(1), 1 / 0)
    message = transport.call(worker, "collect", ActorRequest(7, 0, 2), parameters)
    assert message.loss.kind == "raised" and "ZeroDivisionError" in message.loss.text
    assert tried, "its environments are closed, as far as they can be"
    assert "1 / 0" in message.loss.traceback


@pytest.mark.parametrize(
    ("changes", "kind", "text"),
    [
        (dict(env="no_such_module:X-v0"), "env", "no_such_module"),
        (dict(algo="no_such_module:X"), "algo", "no_such_module"),
        (dict(env="Pendulum-v1"), "env", "Discrete"),
        (dict(env="OfTheRun-v0"), "env", "registered in the run alone: .* MODULE:OfTheRun-v0"),
    ],
)
def test_what_cannot_be_made(changes, kind, text):
    worker = CollectingWorker(replace(plan(), **changes), np.random.SeedSequence(1), 5)
    loss = worker.open()
    assert loss.kind == kind and re.search(text, loss.text)


def test_stepping_worker():
    worker = SteppingWorker(plan(sizes=(2, 1)), np.random.SeedSequence(1), 5)
    worker.open()
    first = worker.reset({0: 3, 1: 4})
    assert first[0][0].shape == (2, 4) and first[1][0].shape == (1, 4)
    again = worker.reset({1: 4})
    np.testing.assert_array_equal(again[1][0], first[1][0])
    taken = worker.step({1: np.array([1]), 0: np.array([0, 1])})
    assert taken[0][1].shape == (2,) and taken[1][0].shape == (1, 4)
    worker._envs[1].step = lambda _: 1 / 0
    assert isinstance(worker.step({1: np.array([1])}), ActorLoss)
    worker.close()


def test_kinds():
    assert worker_of(ALGORITHMS["a3c"]) is SteppingWorker
    assert worker_of(ALGORITHMS["ppo"]) is worker_of(ALGORITHMS["sac"]) is CollectingWorker


def test_sealed():
    arrays = np.zeros(3), np.zeros((2, 2))
    rollout = Rollout(*[array.copy() for array in arrays * 4])
    sealed(Message(0, [Launch(arrays[0], [], 1), Launch(rollout, [], 1), Launch(None, [], 0)]))
    assert not arrays[0].flags.writeable and not rollout.bootstrap.flags.writeable

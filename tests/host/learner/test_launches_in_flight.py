"""ReplayLearner and CardLearner on card ``model`` with several launches under way: what is learned
from which, update numbers, checkpoints."""

from contextlib import contextmanager
from dataclasses import replace
from functools import partial

import gymnasium
import numpy as np
import pytest
from learner.modelled import kernel_config, learner_values, opened
from replay.kernels import WIDE

from host import checkpoint
from host.algorithms.config import Clock
from host.learner.card_learner import steps_of
from host.learner.learning_replay import LearningReplay
from host.replay.prioritized_buffer import PrioritizedReplayBuffer
from host.runs.assembly import build
from host.runs.replay_runs import OffPolicyConfig

LEARNERS = pytest.mark.parametrize("learner", ["cpu", "card"])
DEPTHS = pytest.mark.parametrize("depth", [1, 2, 3])


class Bandit(gymnasium.Env):
    """Episodes of one step from one observation: new ones begin as those that were broken off, so
    that a resumed run is the uninterrupted one."""

    observation_space = gymnasium.spaces.Box(-1, 1, (3,), np.float32)
    action_space = gymnasium.spaces.Discrete(4)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.float32([1, 0, 0.5]), {}

    def step(self, action):
        return np.float32([0, 1, action / 4]), 1 - abs(action - 2) / 2, True, False, {}


gymnasium.register("rlfabric-tests/Bandit-v0", entry_point=Bandit)


def configured(learner, depth, **run):
    agent = dict(hidden=[8, 6], batch_size=16, n_step=1, max_gradient_norm=None)
    agent |= dict(beta_start=1.0, epsilon_end=0.5, target_interval=3)
    run = dict(env_count=3, capacity=100, learning_starts=20, evaluation_episodes=1) | run
    if learner == "card":
        run |= dict(updates_per_launch=2)
    run |= dict(env="rlfabric-tests/Bandit-v0", learner=learner, launches_in_flight=depth)
    return OffPolicyConfig.from_dict(run | {"agent": agent})


@contextmanager
def session_of(config):
    kernel, name, kind = WIDE, "replay", PrioritizedReplayBuffer
    if config.learner == "card":
        wanted = learner_values(config) | {"batch": 16}
        name, kind = wanted.pop("algorithm"), LearningReplay
        kernel = kernel_config(name, capacity=200, **wanted)
    with opened(kernel, name) as loaded:
        # Its programs are read here.
        session = build(config, partial(kind, loaded, by_programs=True))
        try:
            yield session
        finally:
            session.close()


def spied(owner, name):
    """``[(arguments, options, result), ...]`` of the calls of a method from now on."""
    method, calls = getattr(owner, name), []

    def call(*arguments, **options):
        result = method(*arguments, **options)
        calls.append((arguments, options, result))
        return result

    setattr(owner, name, call)
    return calls


def settle(session):
    """Wait for what is under way."""
    for launch in session._flying:
        launch.result()


@DEPTHS
def test_td_errors_go_with_a_later_launch(depth):
    """Those of launch k with launch k + depth, and the experience of iteration k with k + 1."""
    with session_of(configured("cpu", depth)) as session:
        steps, learned = spied(session.learner.buffer, "step"), spied(session.learner, "learned")
        collected = spied(session.collector, "collect")
        updated = spied(session.learner.updater, "update")
        for _ in range(30):
            session.iterate()
        settle(session)
        updates = session.clock.updates
    assert len(collected) == 30 and len(learned) == 31 - depth
    batches = [result for *_, result in steps]
    first = next(i for i, batch in enumerate(batches) if batch is not None)
    assert 3 * first >= 20 > 3 * (first - 1), "the launch that brings the 20th experience"
    assert updates == len(updated) == 31 - depth - first
    for k, ((experience, errors, sample), _, _) in enumerate(steps):
        assert experience is (collected[k - 1][2][0] if k else None)
        assert sample == ([(16, 1.0)] if k >= first else None)
        assert (errors is None) == (k - depth < first)
        if errors is not None:
            (batch, clock), _, (found, _) = updated[k - depth - first]
            assert [batch] == batches[k - depth] and clock is session.clock
            np.testing.assert_array_equal(errors[0], batch["indexes"])
            np.testing.assert_array_equal(errors[1], found)


@pytest.mark.parametrize("depth", [1, 2])
def test_several_updates_of_a_launch(depth):
    """One at most was possible off the card (host 9). Draws and new priorities are in the order of
    the updates: a launch is the update, the insert and the draws one after the other."""
    with session_of(configured("cpu", depth, updates_per_launch=3)) as session:
        steps, updated = spied(session.learner.buffer, "step"), []
        update = session.learner.updater.update

        def called(batch, clock):
            updated.append((clock.updates, batch, update(batch, clock)))
            return updated[-1][2]

        session.learner.updater.update = called
        while len(updated) < 12:
            measured = session.iterate().measured
        settle(session)
        drawn = [batch for *_, batches in steps for batch in batches or ()]
        assert [number for number, *_ in updated] == list(range(12))
        assert all(batch is drawn[i] for i, (_, batch, _) in enumerate(updated))
        losses = [loss["loss"] for *_, (_, loss) in updated]
        assert measured["loss"] == pytest.approx(np.mean(losses[-3:])) and len(set(losses)) == 12
        seen = [errors for (_, errors, _), *_ in steps if errors is not None]
        for k, (indexes, errors) in enumerate(seen):
            three = updated[3 * k : 3 * k + 3]
            found = np.concatenate([td for *_, (td, _) in three])
            np.testing.assert_array_equal(errors, found)
            found = np.concatenate([batch["indexes"] for _, batch, _ in three])
            np.testing.assert_array_equal(indexes, found)
        assert len(seen) == 3 and session.clock.updates == 12


@DEPTHS
def test_updates_on_the_card_are_numbered_as_they_begin(depth):
    """Not as their results come; and weights act ``depth - 1`` launches later."""
    config = configured("card", depth)
    with session_of(config) as session:
        learns = spied(session.learner.buffer, "learn")
        acting = []
        for _ in range(30):
            session.iterate()
            acting.append(session.policy.networks["q"].parameters.copy())
        settle(session)
        counted = session.clock.updates
    steps = np.concatenate([arguments[0] for arguments, *_ in learns])
    wanted = steps_of(config.agent, Clock(), len(steps))
    assert steps.tobytes() == wanted.tobytes() and len(set(steps["floor"][:, 0])) == len(steps)
    first = 30 - len(learns)
    assert first == 7 and counted == 2 * (len(learns) - depth + 1)
    for k, (_, options, learned) in enumerate(learns[: 1 - depth or None]):
        assert options["store"] == ("online",)
        layers = [layer["online"] for layer in learned.parameters["q"]]
        flat = np.concatenate([part.ravel() for w, b in layers for part in (w.T, b)])
        np.testing.assert_array_equal(acting[first + k + depth - 1], flat)


def launches(session, count):
    """Programs and operands of ``count`` iterations, as bytes and texts; and what was measured."""
    calls = spied(session.learner.buffer.launcher, "run")
    measured = [session.iterate().measured for _ in range(count)]
    settle(session)
    texts = []
    for (program, *rest), options, _ in calls:
        operands = rest[0] if rest else options.get("operands", ())
        texts.append((repr(program), [(at, array.tobytes()) for at, array in operands]))
    return texts, measured


@pytest.mark.parametrize("first", ["largest", "td_error"])
@DEPTHS
@LEARNERS
def test_a_checkpoint_of_launches_in_flight(tmp_path, learner, depth, first):
    """Equal bytes in all launches that follow, equal losses, equal weights; from a file."""
    config = configured(learner, depth, first_priority=first)
    with session_of(config) as session:
        for _ in range(25):
            session.iterate()
        state = session.state_dict()
        assert len(state["flying"]) == depth - 1
        checkpoint.save(tmp_path / "file.npz", "training", {}, state)
        wanted, losses = launches(session, 9)
        weights, clock = session.policy.parameters["q"].copy(), replace(session.clock)
    _, saved = checkpoint.load(tmp_path / "file.npz", "training", {})
    with session_of(config) as session:
        session.load_state_dict(saved)
        found, measured = launches(session, 9)
        assert session.clock == clock and clock.updates > 20
        np.testing.assert_array_equal(session.policy.parameters["q"], weights)
    assert measured == losses and all(losses)
    assert len(found) == len(wanted) >= 9
    assert found == wanted


@LEARNERS
def test_the_next_launch_of_a_run_whose_episodes_are_longer(learner):
    """CartPole's do begin anew: the launch that takes what was collected before is the same."""
    config = configured(learner, 3, env="CartPole-v1")
    config = replace(config, env="CartPole-v1")
    with session_of(config) as session:
        for _ in range(40):
            session.iterate()
        state = session.state_dict()
        wanted, losses = launches(session, 1)
    with session_of(config) as session:
        session.load_state_dict(state)
        assert launches(session, 1) == (wanted, losses) and len(wanted) == 1

"""Short trainings: their parts, and that launches in line learn the same as those beside."""

import time
from dataclasses import replace

import numpy as np
import pytest

from host.compose import primitive_times
from host.compose import trial as trials
from host.compose.primitive_times import learner_us, memory_us, synthetic
from host.compose.profile import measured
from host.compose.task import Task
from host.compose.trial import PARTS, trial
from host.runs.preset import preset
from hw.errors import Failure

DQN = preset("dqn", "card", env="CartPole-v1")
SMALL = replace(DQN, agent=replace(DQN.agent, hidden=(8,), batch_size=8), capacity=1024)
ON_CPU = replace(SMALL, learner="cpu", memory="tree")


def names_of(row):
    return dict(zip(PARTS, row, strict=True))


def test_parts_of_a_card_that_learns():
    with trial(SMALL) as short:
        short.warm(3)
        assert short.session.clock.updates == 4  # the first, and three more
        micros, updates = short.run(5)
    assert micros.shape == (5, len(PARTS)) and updates == 5
    parts = names_of(micros.mean(axis=0))
    assert (
        min(parts[name] for name in ("environments", "policy", "packing", "device", "memory")) > 0
    )
    assert (micros >= 0).all()


def test_parts_without_a_card():
    with trial(ON_CPU) as short:
        short.warm(1)
        micros, _ = short.run(3)
    parts = names_of(micros.mean(axis=0))
    assert parts["device"] == 0 and min(parts["memory"], parts["learning"]) > 0


def test_learning_begins_early():
    late = replace(ON_CPU, capacity=1 << 15, learning_starts=20_000)
    with trial(late) as short:
        short.warm(0)
        assert 1000 <= short.session.clock.steps < 1200


def test_a_task_that_never_learns(monkeypatch):
    monkeypatch.setattr(trials, "_PATIENCE", 3)
    with trial(ON_CPU) as short, pytest.raises(Failure, match="must learn within 3 launches"):
        short.warm(1)


def learned(config, inline):
    with trial(config, inline=inline) as short:
        short.warm(5)
        microseconds, updates = short.elapsed(5)
        assert updates == 5 and microseconds > 0
        short.session.learner.fetch()
        return [each.parameters.copy() for each in short.session.policy.networks.values()]


@pytest.mark.parametrize("config", [SMALL, ON_CPU], ids=["card", "cpu"])
def test_in_line_as_beside(config):
    """The same weights: ``Learner.inline`` changes when a launch runs, not what it does."""
    for apart, beside in zip(learned(config, True), learned(config, False), strict=True):
        np.testing.assert_array_equal(apart, beside)


def test_rounds_and_rollouts():
    rounds = replace(preset("a3c", "card", env="CartPole-v1"), env_count=4, populations=1)
    ppo = preset("ppo", "cpu", env="CartPole-v1")
    rollouts = replace(ppo, steps_per_launch=8, agent=replace(ppo.agent, batch_size=16, epochs=1))
    for config in (rounds, rollouts):
        with trial(config) as short:
            short.warm(1)
            micros, updates = short.run(4)
        parts = names_of(micros.mean(axis=0))
        assert updates > 0 and parts["device"] > 0 and parts["environments"] > 0


def test_time_is_the_processors():
    """Unless the card is a real one: then waiting for it counts."""
    with trial(ON_CPU) as short:
        assert short.phases._clock is time.process_time


def test_a_profile():
    found = measured({"tree": (ON_CPU, {})}, launches=4, rounds=2)["tree"]
    assert found.updates == 1 and list(found.parts) == list(PARTS)
    assert 0 < found.p10 <= found.p50 <= found.p90 and found.run > 0


def test_a_plan_that_has_no_run_is_left_out(capsys):
    odd = replace(SMALL, agent=replace(SMALL.agent, batch_size=7))
    found = measured({"odd": (odd, {}), "tree": (ON_CPU, {})}, launches=2, rounds=1)
    assert list(found) == ["tree"]
    assert "profile: not odd: batch" in capsys.readouterr().err


def test_primitives():
    for uniform in (False, True):
        task = Task(SMALL, uniform, {})
        found = memory_us(task, 4, iterations=3)
        assert list(found) == ["sample_us", "insert_us", "update_us"] and min(found.values()) > 0
    assert learner_us(task, iterations=2) > 0


def test_primitives_are_timed_in_a_full_memory(monkeypatch):
    sizes = []

    class Ring(primitive_times.RingMemory):
        def step(self, *arguments, **named):
            sizes.append(len(self))
            return super().step(*arguments, **named)

    monkeypatch.setattr(primitive_times, "RingMemory", Ring)
    memory_us(Task(SMALL, True, {}), 4, iterations=2)
    assert sizes[0] == 0 and sizes[-1] == SMALL.capacity


@pytest.mark.parametrize("algo, env", [("dqn", "CartPole-v1"), ("ddpg", "Pendulum-v1")])
def test_synthetic_experiences(algo, env):
    task = Task(preset(algo, "card", env=env), False, {})
    made = synthetic(task, np.random.default_rng(0), 100)
    assert {name: (each.dtype, each.shape) for name, each in made.items()} == {
        name: (np.dtype(dtype), (100, *shape)) for name, (dtype, shape) in task.spec.fields.items()
    }
    if algo == "dqn":
        assert set(made["action"].tolist()) == {0, 1}

"""Tasks: their sizes, and the ratio of environment steps to gradient steps."""

from dataclasses import replace

import pytest

from host.compose.task import Task, with_ratio
from host.runs.preset import preset
from hw.errors import UsageError

DQN = replace(preset("dqn", "card", env="CartPole-v1"), env_count=8, steps_per_launch=4)


def sizes(config):
    return config.steps_per_launch, config.updates_per_launch


@pytest.mark.parametrize(
    "ratio, expected",
    [
        (32, (4, 1)),
        (16, (4, 2)),
        (1, (4, 32)),
        (8, (4, 4)),
        (64, (8, 1)),
        (24, (3, 1)),
        (40, (5, 1)),
    ],
)
def test_the_ratio_is_held_exactly(ratio, expected):
    found = with_ratio(DQN, ratio)
    assert sizes(found) == expected
    assert found.env_count * found.steps_per_launch == ratio * found.updates_per_launch


def test_at_most_64_gradient_steps_of_a_launch():
    many = replace(DQN, env_count=64, steps_per_launch=4)
    assert sizes(with_ratio(many, 4)) == (4, 64)
    with pytest.raises(UsageError, match="must divide the 256 steps .* or be a multiple of 64"):
        with_ratio(many, 2)


@pytest.mark.parametrize("ratio", [3, 12, 33, 100])
def test_no_launch_has_it(ratio):
    with pytest.raises(UsageError, match=f"a multiple of 8 .env_count., not {ratio}"):
        with_ratio(DQN, ratio)


@pytest.mark.parametrize("ratio", [0, -1, 1 << 17, 1.5, "8"])
def test_no_ratio(ratio):
    with pytest.raises(UsageError, match="ratio must be an integer in 1..65536"):
        with_ratio(DQN, ratio)


def test_sizes():
    task = Task(DQN, False, {})
    # Two observations of 4 numbers, action, reward, discount.
    assert (task.family, task.batch, task.words) == ("replay", 32, 11)
    assert task.steps_of_update(1) == 32 and task.steps_of_update(4.0) == 8
    pendulum = Task(preset("ddpg", "card", env="Pendulum-v1"), False, {})
    assert pendulum.words == 3 + 3 + 1 + 2


def test_rounds_and_rollouts():
    rounds = Task(preset("a3c", "card", env="CartPole-v1"), False, {})
    assert rounds.family == "rounds"
    assert rounds.batch == rounds.config.agent.batch_size == rounds.steps_of_update(2.0)
    rollouts = Task(preset("ppo", "cpu", env="CartPole-v1"), False, {})
    config = rollouts.config
    assert rollouts.family == "rollouts"
    assert rollouts.steps_of_update(2) == config.env_count * config.steps_per_launch / 2

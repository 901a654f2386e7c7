"""bench.learning.chance: what random actions return, measured and kept."""

import numpy as np
import pytest

from bench.learning import chance
from bench.learning.interval import Sample
from bench.learning.job import jobs_of
from tests.bench.learning.tiny import *


def config(**changes):
    (job,) = jobs_of(claim(**changes), "runs").values()
    return job.config


def test_random_actions_in_cartpole_and_pendulum():
    """CartPole's poles fall after some 22 steps; a pendulum of random torques costs 1200."""
    found = chance.measure(config(), 60)
    assert 18 < found["mean"] < 27 and 8 < found["deviation"] < 16 and found["episodes"] == 60
    assert chance.measure(config(), 60)["mean"] == found["mean"], "of the same seeds"
    box = chance.measure(config(algo="ddpg", env="Pendulum-v1"), 20)
    assert -1450 < box["mean"] < -1000


def test_random_actions_are_all_of_the_agents(monkeypatch):
    """Each action as often as any other, boxes from -1 to 1; no episode is longer than those of
    evaluations, and the deviation is that of a sample."""
    seen, given = [], np.array([1.0, 2.0, 6.0])

    def evaluate(policy, copies, *, seed, limit):
        seen.append(policy.act(np.zeros((4000, 3)), greedy=True))
        assert (copies.episodes, seed, limit) == (3, 0, 77)
        return given

    monkeypatch.setattr(chance, "evaluate", evaluate)
    fields = SHORT | {"evaluation_steps": 77}
    found = chance.measure(config(fields=fields), 3)
    assert (found["mean"], found["deviation"], found["episodes"]) == (3, round(7**0.5, 4), 3)
    chance.measure(config(algo="ddpg", env="Pendulum-v1", fields=fields), 3)
    discrete, box = seen
    assert set(discrete) == {0, 1} and abs(discrete.mean() - 0.5) < 0.05
    assert box.shape == (4000, 1) and -1 <= box.min() < -0.99 and 0.99 < box.max() <= 1
    assert abs(box.mean()) < 0.05


def test_what_is_kept_is_a_sample(tmp_path):
    assert chance.read(tmp_path) == {}
    values = dict(mean=1.5, deviation=2.0, episodes=16)
    chance.write(tmp_path, {"b": values, "a": values})
    assert [*chance.read(tmp_path)] == ["a", "b"]
    sample = chance.sample(chance.read(tmp_path)["a"])
    assert isinstance(sample, Sample) and (sample.mean, sample.error) == (1.5, 0.25)


def test_an_environment_that_is_not_installed(monkeypatch):
    with pytest.raises(ValueError, match="^env must "):
        chance.measure(config(env="ALE/Nothing-v5", algo="a3c", fields={}), 2)

"""bench.learning.chance: what random actions return, measured and kept."""

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

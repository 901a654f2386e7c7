"""bench.learning.library: stable-baselines3's runs end, are judged and go on as ours do. Long: an
extra that `make test` does not install."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from bench.learning.job import jobs_of
from bench.learning.peers import PEERS, PeerPlan
from bench.learning.run import perform
from host.interrupt import INTERRUPTED
from tests.bench.learning.tiny import *

pytestmark = pytest.mark.long

WATCH = dict(evaluation_interval_steps=400, evaluation_episodes=2)
DDPG = PeerPlan(
    algorithm="DDPG",
    steps=900,
    arguments=dict(learning_starts=100, policy_kwargs=dict(net_arch=[8])),
    noise=["ornstein-uhlenbeck", 0.5],
)
PPO = dict(env_count=2, steps_per_launch=64, batch_size=32, steps=1024, learning_rate_final=1e-5)


@pytest.fixture
def peer(tmp_path):
    """The one job of a peer ``name`` beside ``algo`` on ``env``, and its state.json."""
    pytest.importorskip("stable_baselines3")

    def make(name, algo, env, fields, **changes):
        kinds = (kind(), kind("peer", peer=name, counts=False))
        every = jobs_of(claim(algo=algo, env=env, kinds=kinds, fields=fields, **changes), tmp_path)
        job = every["peer", 0]
        return job, lambda: json.loads(Path(job.folder, "state.json").read_text())

    return make


CASES = {
    "ppo": ("ppo", "Pendulum-v1", WATCH | PPO, 1024),
    "ddpg": ("ddpg", "Pendulum-v1", WATCH, 900),
}


@pytest.mark.parametrize("algo", CASES)
def test_a_peer_is_judged_and_goes_on_where_it_was_cut(peer, monkeypatch, algo):
    monkeypatch.setitem(PEERS, "ddpg", lambda config: DDPG)
    algo, env, fields, steps = CASES[algo]
    job, state = peer(algo, algo, env, fields, episodes=5)
    assert perform(job, Signalling(file=open(os.devnull, "w"))) == INTERRUPTED
    assert job.cut and state()["steps"] < steps
    assert (Path(job.folder) / "replay.pkl").exists() == (algo == "ddpg")
    assert perform(job, quiet()) == 0
    result = job.result
    assert result["steps"] == steps and [point[0] for point in result["curve"]] == [400, 800]
    assert -2000 < result["mean_return"] < 0 and result["seconds"] > 0
    # DDPG: one for each step after the first hundred; PPO: 10 epochs of four, for each of eight.
    assert result["updates"] == (320 if algo == "ppo" else steps - 100)


def test_a_dqn_sees_planes(peer):
    """stable-baselines3's own convolutions are of larger images."""
    pytest.importorskip("minatar")
    fields = WATCH | dict(steps=2000, learning_starts=500, epsilon_steps=500)
    job, _ = peer("dqn", "dqn", "MinAtar/Breakout-v1", fields, episodes=3, threshold=1.0)
    assert perform(job, quiet()) == 0
    assert job.result["steps"] == 2000 and job.result["updates"] == (2000 - 500) // 4


def test_it_goes_on_with_what_it_had(peer, monkeypatch):
    """Weights, counts, memory and curve are those of the first part."""
    monkeypatch.setitem(PEERS, "ddpg", lambda config: DDPG)
    from bench.learning import library

    job, state = peer("ddpg", "ddpg", "Pendulum-v1", WATCH)

    class Late(Signalling):
        """Strikes when the run is past its first evaluation."""

        def print(self, text, **options):
            if "best greedy -" in text and not text.endswith("-"):
                super().print(text, **options)

    monkeypatch.setattr("bench.learning.library.progress_bar", lambda console: Every(console))
    assert perform(job, Late(file=open(os.devnull, "w"))) == INTERRUPTED
    left = state()
    assert 400 <= left["steps"] < 900 and len(left["curve"]) == 1
    model, kept = library._model(job.config, job.plan, Path(job.folder), True)
    assert kept == left and model.num_timesteps == left["steps"]
    assert model._n_updates == left["steps"] - 100
    assert model.replay_buffer.size() == left["steps"]
    assert model.action_noise is not None
    again = library._model(job.config, job.plan, Path(job.folder), True)[0]
    weights = [each.policy.state_dict() for each in (model, again)]
    for name, value in weights[0].items():
        np.testing.assert_array_equal(value, weights[1][name])


class Every:
    """A progress bar that prints each update."""

    def __init__(self, console):
        self._console = console

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def add_task(self, *_, **__):
        return 0

    def update(self, task, *, completed, state):
        self._console.print(state)


@pytest.mark.parametrize("threshold, solved", [(1.0, True), (1e6, False)])
def test_until_solved_ends_with_a_confirmed_solution(peer, threshold, solved):
    fields = {**WATCH, **PPO, "steps": 1024}
    job, state = peer("ppo", "ppo", "CartPole-v1", fields, threshold=threshold, until_solved=True)
    assert perform(job, quiet()) == 0
    assert state()["solved"] == solved and job.result["steps"] == (400 if solved else 1024)
    assert (job.result["mean_return"] == state()["confirmed"]) == solved


def test_a_solution_that_is_not_confirmed_is_none(peer, monkeypatch):
    means = [60, 40, 70, 55, 80]
    monkeypatch.setattr("bench.learning.library._mean", lambda *_: means.pop(0))
    job, state = peer(
        "ppo", "ppo", "CartPole-v1", {**WATCH, **PPO}, threshold=50.0, until_solved=True
    )
    assert perform(job, quiet()) == 0
    assert job.result["curve"] == [[400, 60], [800, 70]] and means == [80]
    assert job.result["mean_return"] == state()["confirmed"] == 55


def test_one_without_an_evaluation_has_one_at_its_end(peer):
    job, state = peer("ppo", "ppo", "CartPole-v1", {**WATCH, **PPO, "steps": 256})
    assert perform(job, quiet()) == 0
    assert [point[0] for point in job.result["curve"]] == [256] and state()["best"] > 0

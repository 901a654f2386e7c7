"""Schedules belong to the run (host 1, 18): as long as it is, never over before it ends, and kept
when it is resumed."""

import warnings
from dataclasses import replace
from io import StringIO
from unittest.mock import Mock

import numpy as np
import pytest
from gymnasium.spaces import Discrete
from rich.console import Console

from host.a3c.agent import A3CUpdater
from host.agents.registry import ALGORITHMS
from host.algorithms.autodiff import TrainingNetwork
from host.learner.learning_replay import LearningReplay
from host.runs import loop
from host.runs import start_run as module
from host.runs.assembly import build
from host.runs.preset import preset
from tests.host.corridor import NAME
from tests.host.experience import kind_of
from tests.host.short_training import Recorder, run, sigint, small

RATE = 2e-3


def short(algo, steps, learner="cpu", **agent):
    """A run of four environments whose step size falls to 0."""
    algorithm = ALGORITHMS[algo]
    env = "CartPole-v1" if algorithm.actions == (Discrete,) else NAME
    kind, config = kind_of(algorithm), preset(algo, learner)
    options = dict(env=env, steps=steps, env_count=4, evaluation_episodes=1) | kind.run
    rates = dict(learning_rate=RATE, learning_rate_final=0.0)
    if hasattr(config.agent, "actor_learning_rate"):
        rates["actor_learning_rate"] = RATE
    agent = dict(hidden=(8, 6)) | rates | kind.agent | agent
    return replace(config, **options, agent=replace(config.agent, **agent))


@pytest.fixture
def stepped(monkeypatch):
    """``[(step size, whether parameters moved), ...]`` of all gradient steps by torch."""
    found = []

    def watch(kind, name, rate_of, trained_of):
        method = getattr(kind, name)

        def call(self, argument):
            trained = trained_of(self)
            before = trained.parameters.clone()
            method(self, argument)
            found.append((rate_of(argument), not trained.parameters.equal(before)))

        monkeypatch.setattr(kind, name, call)

    watch(TrainingNetwork, "descend", float, lambda trained: trained)
    watch(A3CUpdater, "_train", lambda task: task.rate, lambda updater: updater._trained)
    return found


@pytest.mark.parametrize("steps", [150, 260, 410])
@pytest.mark.parametrize("algo", ALGORITHMS)
def test_the_step_size_lasts_as_long_as_the_run(stepped, algo, steps):
    """The last update is within a launch of the end, of the schedule's step size there, and moves
    the parameters; fixed lengths left the rest of a longer run with steps of 0 (host 1)."""
    config = short(algo, steps)
    session, began = build(config, kind_of(config.algorithm).factory), []
    try:
        while session.clock.steps < steps:
            began.append(session.clock.steps)
            session.iterate()
        session.learner.fetch()
    finally:
        session.close()
    rates = np.array([rate for rate, _ in stepped])
    at = steps * (1 - rates / RATE)  # a falling line of this length
    assert np.abs(at[:, None] - began).min(1).max() < 1e-6, "each is of where a launch began"
    launch = 64 if algo == "ppo" else 20  # a rollout, of all environments
    assert 0 < round(steps - at[-1]) <= launch and stepped[-1][1]
    assert len(rates) >= 5


@pytest.mark.filterwarnings("ignore:.* were clipped")
@pytest.mark.parametrize("algo", ["dqn", "ddpg"])
def test_the_same_on_the_card(tmp_path, monkeypatch, algo):
    monkeypatch.setattr(module, "BUILD_DIRECTORY", tmp_path / "build")
    learn, sent = LearningReplay.learn, []

    def spy(self, steps, **options):
        sent.append(steps["rate"].copy())
        return learn(self, steps, **options)

    monkeypatch.setattr(LearningReplay, "learn", spy)
    config = short(algo, 400, "card", optimizer="sgd")
    module.run(config, card="model", out=tmp_path / "run", console=Console(quiet=True))
    rates = np.concatenate(sent)[:, 0]
    assert (rates > 0).all() and (np.diff(rates) <= 0).all() and len(rates) > 10
    launch = config.env_count * config.steps_per_launch
    assert rates[-1] == pytest.approx(RATE * launch / 400, rel=1e-5)


def test_lengths_are_shares_of_the_run():
    """Unless they were given, of a run's config and nothing else's."""
    lengths = dict(learning_rate_steps=3000, beta_steps=3000)
    for algo, more in (
        ("dqn", dict(epsilon_steps=150)),
        ("ddpg", dict(noise_steps=375, quantization_delay=1500)),
        ("sac", {}),
    ):
        config = replace(preset(algo, "cpu", env="nothing-v0"), steps=3000)
        assert set(config.agent.schedules) == set(lengths | more)
        assert all(getattr(config.agent, name) is None for name in lengths | more)
        found = config.in_run().agent
        assert found == replace(config.agent, **lengths, **more)
        assert found.in_run(10**6) == found, "given"
        assert config.in_run(6000).agent.beta_steps == 6000
    config = replace(preset("dqn", "cpu").agent, epsilon_share=0.5, epsilon_steps=7)
    assert config.in_run(100).epsilon_steps == 7
    assert replace(config, epsilon_steps=None).in_run(7).epsilon_steps == 3, "no step too many"
    config = replace(preset("ddpg", "cpu").agent, noise_share=0.5)
    assert config.in_run(100).noise_steps == 50


def test_a_rate_of_0_is_warned_of(tmp_path, monkeypatch):
    """For more than a hundredth of the run."""

    def begin(**agent):
        with pytest.raises(InterruptedError):
            run(small(steps=400, agent=agent), tmp_path, said=StringIO())

    monkeypatch.setattr(loop, "build", Mock(side_effect=InterruptedError))
    words = "^learning_rate is 0 from step 300 on: the run learns nothing in the other 100 of its"
    with pytest.warns(RuntimeWarning, match=words):
        begin(learning_rate_final=0.0, learning_rate_steps=300)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        begin(learning_rate_final=0.0)
        begin(learning_rate_final=0.0, learning_rate_steps=396)
        begin(learning_rate_final=None, learning_rate_steps=300)
        begin(learning_rate_final=1e-9, learning_rate_steps=300)


def test_a_resumed_run_keeps_its_schedule(tmp_path, stepped):
    """However many steps it has now: the step size is where it ended (host 18)."""
    config = small(steps=400, agent=dict(learning_rate=1e-2, learning_rate_final=1e-3))
    run(config, tmp_path)
    assert stepped[-1][0] == pytest.approx(1e-2 - 9e-3 * 396 / 400)
    stepped.clear()
    run(replace(config, steps=800), tmp_path, resume=True)
    assert len(stepped) == 100 and {rate for rate, _ in stepped} == {1e-3}


def test_a_resumed_run_keeps_its_switch(tmp_path, monkeypatch):
    """Half of the run that it began as (host 18)."""
    config = replace(short("ddpg", 300, precision="qat"), checkpoint_interval_steps=10**6)
    sessions = []

    def kept(*arguments, **options):
        sessions.append(build(*arguments, **options))
        return sessions[-1]

    monkeypatch.setattr(loop, "build", kept)
    strike = Recorder(at=12, strike=sigint)
    assert run(config, tmp_path, strike).exit_code == 130
    with pytest.warns(RuntimeWarning, match="a resumed run keeps the schedule that it began with"):
        run(replace(config, steps=500), tmp_path, resume=True)
    before, after = (session.learner.updater.schedule for session in sessions)
    assert sessions[0].clock.steps < before.delay == after.delay == 150
    assert before.shifts is None and after.shifts is not None

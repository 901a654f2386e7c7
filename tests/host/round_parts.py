"""Environments, runs and kernels of agents that take rounds, whose every number is known."""

from contextlib import contextmanager
from functools import partial

import gymnasium
import numpy as np
from fa3c.modelled import opened

from host.a3c.card_network import ActorCritic
from host.programs.launcher import CommandError
from host.runs.assembly import build
from host.runs.round_runs import RoundsConfig
from host.runs.run_config import spec_of
from hw.fa3c.config import Fa3cConfig
from hw.fa3c.records import Error

__all__ = ["NUMBERED", "Numbered", "break_down", "configured", "kernel_of", "session_of"]
__all__ += ["value_of"]

NUMBERED = "rlfabric-tests/Numbered-v0"


class Numbered(gymnasium.Env):
    """Observes (number, episode, time). Episode e ends after ``2 + (number + e) % 4`` steps: in
    turn by termination, by truncation, and by both at once. The reward of a step is the action
    plus a tenth of the time."""

    observation_space = gymnasium.spaces.Box(-1e6, 1e6, (3,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self):
        self.episode = -1

    def _obs(self):
        return np.array([self.number, self.episode, self.time], np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        if seed is not None:
            self.number, self.episode = seed % 1000, -1
        self.episode, self.time = self.episode + 1, 0
        return self._obs(), {}

    def step(self, action):
        self.time += 1
        turn = self.number + self.episode
        end, kind = self.time == 2 + turn % 4, turn % 3
        return self._obs(), action + self.time / 10, end and kind != 1, end and kind != 0, {}


gymnasium.register(NUMBERED, entry_point=Numbered)


def value_of(obs):
    """A number of its own of each observation [rows, 3] of a Numbered: exact in float32."""
    return (obs @ np.array([1000, 20, 1])).astype(np.float32)


def configured(**changes):
    """A RoundsConfig of CartPole: two populations of two groups of two agents, a small network."""
    agent = dict(hidden=[16], batch_size=3) | changes.pop("agent", {})
    run = dict(env_count=8, populations=2, group=2, evaluation_episodes=2, learner="card")
    every = dict(evaluation_interval_steps=1 << 30, log_interval_steps=400)
    return RoundsConfig.from_dict(run | every | changes | {"agent": agent})


def kernel_of(config, **changes):
    """Fa3cConfig of a run, with as little hardware as there can be."""
    small = dict(lanes=1, units=("any", "any"), rms_units=1, drain_words=1, parameter_rows=256)
    values = config.kernel_values(spec_of(config))
    return Fa3cConfig(**small | values | changes)


@contextmanager
def session_of(config, **kernel):
    """A Session on card ``model``, or with learner cpu on none."""
    if config.learner == "cpu":
        session = build(config, lambda: None)
        try:
            yield session
        finally:
            session.close()
        return
    with opened(kernel_of(config, **kernel)) as loaded:
        session = build(config, partial(ActorCritic, loaded))
        try:
            yield session
        finally:
            session.close()


def break_down(executor, monkeypatch):
    """From now on memory fails in every round that trains."""
    launcher, run = executor.network.launcher, executor.run

    def fail(program, operands=(), results_bytes=0):
        command = launcher.design.commands[program[0][0]]
        raise CommandError(Error.AXI, launcher.design.errors, 0, 0, command.name, command.doc)

    def run_or_fail(work):
        with monkeypatch.context() as patched:
            if work.trains:
                patched.setattr(launcher, "run", fail)
            return run(work)

    monkeypatch.setattr(executor, "run", run_or_fail)

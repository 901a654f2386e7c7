"""The three kinds of experience that algorithms learn from, as tests need them: ``KINDS`` has each
by its name in ``Algorithm.learns_from``."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from fake_estimator import FakeEstimator
from fake_replay import FakeReplay

from host.a3c.agent import A3CUpdater
from host.a3c.round_collector import GroupRollout
from host.a3c.round_learner import RoundLearner
from host.advantages.advantage_learner import AdvantageLearner
from host.learner.card_learner import CardLearner
from host.replay.replay_learner import ReplayLearner
from hw.fa3c.config import Fa3cConfig
from hw.learner.config import LearnerConfig
from tests.host import agent_parts as agents
from tests.host import ppo_parts

__all__ = ["KINDS", "kind_of", "make_group"]


@dataclass(frozen=True)
class Kind:
    """
    factory : makes what stands for the card where the CPU learns
    learners : where it learns -> class of the learner that is made
    kernel : config with the fields that ``Algorithm.kernel`` gives, if there are any
    run, agent : fields of a run of four environments that learns within a hundred steps
    measure : ``measure(algorithm)`` learns once, and gives what was measured
    """

    factory: Callable
    learners: dict
    kernel: type | None
    run: dict
    agent: dict
    measure: Callable


def make_group(rng, steps=5, agents=4, outputs=4):
    """A GroupRollout of random numbers, in which no episode ends."""
    shape = steps, agents
    return GroupRollout(
        outputs=rng.normal(size=(*shape, outputs)).astype(np.float32),
        action=rng.integers(outputs - 1, size=shape),
        reward=rng.normal(size=shape).astype(np.float32),
        terminated=np.zeros(shape, bool),
        truncated=np.zeros(shape, bool),
        valid=np.ones(shape, bool),
        follows=np.zeros(shape, np.float32),
        bootstrap=rng.normal(size=agents).astype(np.float32),
    )


def _replay(algorithm):
    agent = agents.make(algorithm.name)
    td, measured = agent.learn(agents.make_batch(agent.policy.spec))
    assert td.shape == (32,) and td.dtype == np.float32
    return measured


def _rollout(algorithm):
    agent = ppo_parts.make()
    return agent.learn(ppo_parts.make_rollout(agent))


def _rounds(algorithm):
    rollout = make_group(np.random.default_rng(1))
    errors, measured = A3CUpdater.errors(algorithm.config(), rollout)
    assert errors.shape == rollout.outputs.shape and errors.dtype == np.float32
    return measured


KINDS = {
    "replay": Kind(
        FakeReplay,
        {"cpu": ReplayLearner, "card": CardLearner},
        LearnerConfig,
        dict(steps_per_launch=2, capacity=256, learning_starts=64),
        dict(batch_size=16, max_gradient_norm=None),
        _replay,
    ),
    "rollouts": Kind(
        FakeEstimator,
        {"cpu": AdvantageLearner},
        None,
        dict(steps_per_launch=16),
        dict(batch_size=16),
        _rollout,
    ),
    "rounds": Kind(
        lambda: None, dict.fromkeys(("cpu", "card"), RoundLearner), Fa3cConfig, {}, {}, _rounds
    ),
}


def kind_of(algorithm):
    """That of an Algorithm."""
    return KINDS[algorithm.learns_from]

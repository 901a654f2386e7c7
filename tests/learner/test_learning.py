"""Agents in training with everything on the card: equal on both cards."""

from functools import partial

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box
from learner.learning import kernel_config, without_cycles
from learner.modelled import learner_values
from learner.test_kernel import same
from replay.kernels import opened

from host.learner.learning_replay import LearningReplay
from host.runs.assembly import build
from host.runs.preset import preset
from hw.arith.arithmetic import Arithmetic

FIXED = Arithmetic(kind="fixed")


class Blind(gymnasium.ObservationWrapper):
    """CartPole without the speed of its tip: three numbers, as the small kernel takes."""

    def __init__(self):
        super().__init__(gymnasium.make("CartPole-v1"))
        space = self.env.observation_space
        self.observation_space = Box(space.low[:3], space.high[:3], dtype=space.dtype)

    def observation(self, observation):
        return observation[:3]


gymnasium.register("rlfabric-tests/Blind-v0", entry_point=Blind, max_episode_steps=500)

#: its kernel is that of the first case of test_kernel.py: one build for both
SHORT = dict(
    env="rlfabric-tests/Blind-v0",
    capacity=300,
    learning_starts=100,
    agent=dict(hidden=(8,), activation="relu", double=True, batch_size=16),
)
SHORT_KERNEL = dict(lanes=1, batch=16, multipliers=4)

#: the demo's networks and kernel
LONG = dict(capacity=4096, agent=dict(hidden=(32, 32)))
LONG_KERNEL = dict(lanes=1, batch=32, multipliers=16, update_units=4)


def configured(changes):
    base = preset("dqn", "card").to_dict()
    return preset("dqn", "card").from_dict(
        {**base, "evaluation_episodes": 1, **changes, "agent": base["agent"] | changes["agent"]}
    )


def trained(card, config, launches, options):
    """Everything that a run of ``launches`` leaves: reports with TD sums, parameters, priorities,
    the random stream, and the weights that acted."""
    learner = learner_values(config) | options
    kernel = kernel_config(512, config.capacity, arithmetic=FIXED, **learner)
    with opened(card, kernel) as loaded:
        session = build(config, partial(LearningReplay, loaded))
        buffer = session.learner.buffer
        learn, reports = buffer.learn, []

        def recorded(*arguments, **values):
            learned = learn(*arguments, **values)
            reports.append(learned.reports.copy())
            return learned

        buffer.learn = recorded
        returns = [session.iterate().episodes for _ in range(launches)]
        reports = np.concatenate(reports)
        result = {
            "returns": [value for episodes in returns for value, _ in episodes],
            "reports": without_cycles(reports),
            "parameters": buffer.store(),
            "priorities": buffer.priorities(),
            "random": buffer.status["state"].copy(),
            "acting": session.policy.parameters["q"].copy(),
        }
        session.close()
    return result, reports["cycles"]


def compare(config, launches, options, *, updates):
    model, _ = trained("model", config, launches, options)
    assert len(model["reports"]) >= updates and len(model["returns"]) > 5
    sim, cycles = trained("sim", config, launches, options)
    same(sim["reports"], model["reports"], "reports")
    same(sim, model)
    assert (cycles > 0).all()


def test_an_agent_trains_alike_on_both_cards():
    """32 steps a launch: the ring is full and wraps after ten."""
    compare(configured(SHORT), 40, SHORT_KERNEL, updates=35)


@pytest.mark.long
def test_a_whole_training_is_alike_on_both_cards():
    """Past the solution, and 16 times around the ring."""
    compare(configured(LONG), 2050, LONG_KERNEL, updates=2000)

"""Sessions whose replay memory is on the CPU: as those with the card's, and as without a break."""

from contextlib import ExitStack

import numpy as np
import pytest
from learner.modelled import equal, opened

from host.learner.learning_replay import LearningReplay
from host.learner.sent_replay import SentReplay
from host.runs.assembly import build
from host.runs.run_kinds import family_of
from tests.host.learner.test_card_learner import CARTPOLE, SPECS, configured, kernel_of


def session_of(kernel, config):
    return build(config, family_of(config).factory(config, kernel))


def learned(session, updates):
    """What was measured up to so many updates."""
    measured = []
    while session.clock.updates < updates:
        measured.append(session.iterate().measured)
    session.learner.fetch()
    return measured


@pytest.mark.parametrize(
    "algo, env, total, updates, act",
    [
        ("dqn", "CartPole-v1", 200, 1, "cpu"),
        ("dqn", "CartPole-v1", 60, 3, "card"),
        ("ddpg", "Pendulum-v1", 60, 2, "cpu"),
    ],
)
def test_updates_of_a_run(algo, env, total, updates, act):
    """Memory tree, learner card: all that memory card ends with, byte for byte."""
    run = CARTPOLE | dict(env=env, alpha=0.6, updates_per_launch=updates, env_count=4, act=act)
    found = []
    for memory in ("card", "tree"):
        config = configured(algo, memory=memory, **run)
        with opened(kernel_of(config, SPECS[env])) as kernel:
            session = session_of(kernel, config)
            measured = learned(session, total)
            state, buffer = session.state_dict(), session.learner.buffer
            assert type(buffer) is {"card": LearningReplay, "tree": SentReplay}[memory]
            kept = buffer.state_dict() if memory == "card" else buffer.memory.state_dict()
            progress = session.progress()
            found.append((measured, buffer.store(), state["policy"], progress, kept))
            session.close()
    (card, tree), kept = (each[:4] for each in found), [each[4] for each in found]
    equal(card, tree)
    for name in ("experiences", "priorities", "random", "position", "maximum"):
        np.testing.assert_array_equal(*(each[name] for each in kept))


@pytest.mark.parametrize("memory", ["tree", "ring"])
@pytest.mark.parametrize("learner", ["card", "cpu"])
def test_a_resumed_session_learns_the_same(memory, learner):
    run = CARTPOLE | dict(env_count=4, memory=memory, updates_per_launch=2)
    config = configured("dqn", **run)
    if learner == "cpu":
        agent = config.agent.to_dict()
        config = type(config).from_dict({**config.to_dict(), "learner": "cpu", "agent": agent})
    with ExitStack() as stack:
        kernel = None
        if learner == "card":
            kernel = stack.enter_context(opened(kernel_of(config, SPECS[config.env])))
        session = session_of(kernel, config)
        learned(session, 20)
        state = session.state_dict()
        wanted = session.iterate().measured
        session.close()
        assert wanted["td_error"] > 0
        session = session_of(kernel, config)
        session.load_state_dict(state)
        assert session.iterate().measured == wanted
        session.close()

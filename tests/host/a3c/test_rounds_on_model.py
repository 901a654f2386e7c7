"""host.a3c.round_learner on card ``model``: outputs, theta, and memory that fails."""

import numpy as np
import pytest

from host.a3c.card_network import Broken
from tests.host.round_parts import *


def parameters(session):
    return session.policy.networks["actor_critic"].parameters


@pytest.mark.parametrize("learner", ["card", "cpu"])
def test_outputs_of_an_evaluation(learner):
    """By theta as it is when the actor first infers, whatever is trained behind it, and to the last
    bit what the policy has after a fetch."""
    with session_of(configured(learner=learner)) as session:
        first = parameters(session).copy()
        for _ in range(60):
            session.iterate()
        assert (parameters(session) != first).any() == (learner == "cpu")
        session.learner.fetch()
        policy, obs = session.policy, np.random.default_rng(2).normal(size=(11, 4))
        obs = obs.astype(np.float32)
        wanted = policy.predict(obs)
        with session.learner.actor() as actor:
            for _ in range(8):
                found = actor.infer(obs)
                np.testing.assert_allclose(found, wanted, atol=1e-5 * abs(wanted).max())
                session.iterate()
        session.learner.fetch()
        assert abs(policy.predict(obs) - wanted).max() > 1e-4
        if learner == "card":
            stored = session.learner.executor.network.parameters()
            for number, (weight, bias) in enumerate(policy.networks["actor_critic"].layers):
                np.testing.assert_array_equal(weight, stored[f"layer{number}.weight"])
                np.testing.assert_array_equal(bias, stored[f"layer{number}.bias"])


@pytest.mark.parametrize("learner", ["card", "cpu"])
def test_an_evaluation_changes_nothing(learner):
    """Between any two launches."""
    found = []
    for evaluates in (False, True):
        with session_of(configured(learner=learner)) as session:
            for number in range(80):
                session.iterate()
                if evaluates and number % 20 == 7:
                    session.evaluate(number)
            state = session.state_dict()
            found.append((state["policy"]["parameters"]["actor_critic"], state["learner"]))
    np.testing.assert_array_equal(found[0][0], found[1][0])
    for name, value in found[0][1].items():
        np.testing.assert_array_equal(value, found[1][1][name])


def test_another_policy_is_evaluated_without_the_card(monkeypatch):
    with session_of(configured()) as session:
        monkeypatch.setattr(session.learner, "fetch", lambda: pytest.fail("nothing is wanted"))
        assert len(session.evaluate(1, session.policy)) == session.config.evaluation_episodes


def test_a_kernel_that_breaks(monkeypatch):
    """Memory fails in a round that trains: the launch that waited for it says so, and so does all
    after it."""
    with session_of(configured()) as session:
        for _ in range(20):
            session.iterate()
        saved = session.state_dict()
        break_down(session.learner.executor, monkeypatch)
        with pytest.raises(Broken, match="take up the last checkpoint"):
            for _ in range(20):
                session.iterate()
        for call in (session.learner.fetch, session.evaluate, session.state_dict):
            with pytest.raises(Broken):
                call()
    with session_of(configured()) as again:
        again.load_state_dict(saved)
        for _ in range(20):
            again.iterate()
        assert again.clock.updates > saved["updates"] > 0

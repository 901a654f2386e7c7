"""Exploration of host.algorithms.ddpg: Ornstein-Uhlenbeck noise over long runs, and Gaussian."""

import numpy as np
import pytest

from host.algorithms.policy import InferredPolicy
from tests.host import agent_parts

THETA = 0.15
OBS = np.zeros((4, 3), np.float32)


def make(noise="ornstein_uhlenbeck", deviation=0.2, theta=THETA, **config):
    """A policy whose greedy action is 0, and whose noise is far from the limits of actions."""
    config |= dict(noise=noise, noise_start=deviation, noise_end=deviation, noise_theta=theta)
    policy = agent_parts.make("ddpg", **config).policy
    policy.networks["actor"].parameters[...] = 0
    return policy


def run(policy, steps, obs=OBS):
    """Actions [steps, rows, 2], which are the noise."""
    return np.stack([policy.act(obs) for _ in range(steps)])


@pytest.mark.parametrize("theta", [0.05, THETA, 0.6, 1.0])
def test_deviation_and_memory_in_the_long_run(theta):
    """``noise_start``, whatever theta; correlated by (1 - theta)^k after k steps."""
    noise = run(make(theta=theta), 10_000)[200:].reshape(-1, 8)
    independent = 10_000 * 8 * theta / 2  # numbers, about, of these many that depend on each other
    tolerance = 5 / independent**0.5
    assert noise.std() == pytest.approx(0.2, rel=tolerance)
    assert abs(noise.mean()) < 0.2 * tolerance * 2
    for k in (1, 2, 5, 20):
        found = (noise[k:] * noise[:-k]).mean() / noise.var()
        assert found == pytest.approx((1 - theta) ** k, abs=tolerance)
    across = np.corrcoef(noise.T) - np.eye(8)
    assert abs(across).max() < tolerance * 8**0.5, "components and environments wander alone"


def test_first_steps_by_hand():
    """From 0: what is forgotten of it is made up for by the next normal number."""
    policy, other = make(), make()
    kept, wandering = 1 - THETA, np.zeros((4, 2))
    for _ in range(5):
        drawn = other.rng.normal(0, 0.2, (4, 2))
        wandering = kept * wandering + (1 - kept**2) ** 0.5 * drawn
        np.testing.assert_allclose(policy.act(OBS), wandering, rtol=1e-5)


def test_an_episodes_end_resets_its_environment_alone():
    policy, other = make(), make()
    run(policy, 50)
    run(other, 50)
    ended = np.array([False, True, False, False])
    policy.ended(ended)
    scale = (1 - (1 - THETA) ** 2) ** 0.5
    drawn = np.random.default_rng()
    drawn.bit_generator.state = policy.rng.bit_generator.state
    wanted = scale * drawn.normal(0, 0.2, (4, 2))
    mine, theirs = policy.act(OBS), other.act(OBS)
    np.testing.assert_allclose(mine[1], wanted[1], rtol=1e-5)
    assert abs(theirs[1] - wanted[1]).max() > 0.01
    np.testing.assert_array_equal(mine[~ended], theirs[~ended])
    policy.ended(np.array([False] * 4))
    np.testing.assert_array_equal(policy.act(OBS)[~ended], other.act(OBS)[~ended])


def test_an_episodes_end_reaches_who_acts_by_other_outputs():
    policy = make()
    acts = InferredPolicy(policy, lambda obs: np.zeros((4, 2), np.float32))
    run(acts, 50)
    acts.ended(np.ones(4, bool))
    drawn = np.random.default_rng()
    drawn.bit_generator.state = policy.rng.bit_generator.state
    wanted = (1 - (1 - THETA) ** 2) ** 0.5 * drawn.normal(0, 0.2, (4, 2))
    np.testing.assert_allclose(acts.act(OBS), wanted, rtol=1e-5)


def test_theta_1_is_gaussian():
    np.testing.assert_array_equal(run(make(theta=1.0), 20), run(make("gaussian"), 20))


def test_gaussian_forgets():
    policy = make("gaussian")
    noise = run(policy, 5000).reshape(-1, 8)
    assert noise.std() == pytest.approx(0.2, rel=0.03)
    assert abs((noise[1:] * noise[:-1]).mean() / noise.var()) < 0.03
    expected = make("gaussian").rng.normal(0, 0.2, (4, 2)).astype(np.float32)
    np.testing.assert_array_equal(make("gaussian").act(OBS), expected)


@pytest.mark.parametrize("noise", ["gaussian", "ornstein_uhlenbeck"])
def test_actions_stay_within_their_limits(noise):
    """The noise may not: it wanders on beyond."""
    found = run(make(noise, deviation=5.0), 500)
    assert abs(found).max() == 1 and (abs(found) == 1).mean() > 0.5
    assert found.dtype == np.float32


def test_it_goes_by_the_schedule():
    policy = agent_parts.make(
        "ddpg", noise="ornstein_uhlenbeck", noise_start=0.4, noise_end=0.05, noise_steps=100
    ).policy
    policy.networks["actor"].parameters[...] = 0
    late = np.stack([policy.act(OBS, steps=100) for _ in range(3000)])
    assert late.std() == pytest.approx(0.05, rel=0.1)


def test_greedy_leaves_it_where_it_was():
    policy, other = make(), make()
    run(policy, 10)
    run(other, 10)
    assert not policy.act(np.zeros((7, 3), np.float32), greedy=True).any()
    np.testing.assert_array_equal(policy.act(OBS), other.act(OBS))


@pytest.mark.parametrize("rows", [3, 4])
def test_it_begins_anew(rows):
    """After a checkpoint, for environments do; with another number of rows, which are others."""
    policy, other = make(), make(seed=9)
    run(policy, 50)
    run(other, 50)
    if rows == 4:
        other.load_state_dict(policy.state_dict())
        policy = other
    drawn = np.random.default_rng()
    drawn.bit_generator.state = policy.rng.bit_generator.state
    wanted = (1 - (1 - THETA) ** 2) ** 0.5 * drawn.normal(0, 0.2, (rows, 2))
    np.testing.assert_allclose(policy.act(np.zeros((rows, 3), np.float32)), wanted, rtol=1e-5)

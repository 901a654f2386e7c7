"""Observations normalized by host.advantages.ppo: training alone counts them, checkpoint and policy
know them."""

import gymnasium
import numpy as np
import pytest
import torch
from fake_estimator import FakeEstimator

from host.advantages.ppo import PPO
from host.advantages.rollout import RolloutCollector
from host.agents.evaluation import Copies, evaluate
from host.agents.policy_file import load_policy, save_policy
from host.cli.episodes import play
from host.environments.environment import make_envs
from host.environments.spec import Spec
from host.runs.assembly import build
from host.runs.rollout_runs import OnPolicyConfig
from tests.host import agent_parts
from tests.host.agent_parts import Peer
from tests.host.ppo_parts import make, make_rollout

NAME = "Pendulum-v1"
PENDULUM = Spec(shape=(3,), dtype="float32", discrete=False, action_count=1)


def normalizing(discrete=False, **options):
    return make(discrete=discrete, normalize_observations=True, **options)


def trained(**options):
    """An agent that has learned from three rollouts of observations around (100, -5, 0)."""
    agent, rng = normalizing(**options), np.random.default_rng(3)
    for i in range(3):
        agent.policy.sample(stream(rng))
        agent.learn(make_rollout(agent, seed=i))
    return agent


def collect(agent, envs, steps):
    """A rollout of a Pendulum's environments."""
    collector = RolloutCollector(make_envs(NAME, envs, PPO), steps, seed=1)
    return collector.collect(agent.policy, agent.clock)[0]


def stream(rng, rows=32):
    return (rng.normal(size=(rows, 3)) * [20, 0.01, 1] + [100, -5, 0]).astype(np.float32)


def known(policy):
    return {name: array.copy() for name, array in policy.normalizer.arrays.items()}


def same(one, other):
    return all(np.array_equal(one[name], other[name]) for name in one)


@pytest.mark.parametrize("discrete", [False, True])
def test_networks_see_the_stream_normalized(discrete):
    """One update a vector step, before it is acted on; gymnasium's wrapper sees the same."""
    policy, rng = normalizing(discrete).policy, np.random.default_rng(1)
    actor, critic = (Peer(getattr(policy.networks["actor_critic"], x)) for x in ("actor", "critic"))
    theirs = gymnasium.wrappers.utils.RunningMeanStd(epsilon=0, shape=(3,))
    for step in range(1, 6):
        obs = stream(rng, rows=4)
        theirs.update(obs.astype(np.float64))
        expected = ((obs - theirs.mean) / np.sqrt(theirs.var + 1e-8)).astype(np.float32)
        seen, action, log_probability, value = policy.sample(obs)
        assert policy.normalizer.count == 4 * step
        np.testing.assert_allclose(seen, expected, atol=1e-3)
        tensor = torch.from_numpy(seen)
        np.testing.assert_allclose(value, critic(tensor).detach()[:, 0], atol=1e-5)
        np.testing.assert_array_equal(policy.value(obs), value)
        np.testing.assert_allclose(policy.predict(obs), actor(tensor).detach(), atol=1e-5)
        best = policy.predict(obs)
        greedy = best.argmax(1) if discrete else best.clip(-1, 1)
        np.testing.assert_array_equal(policy.act(obs, greedy=True), greedy)


def test_a_rollout_is_learned_from_as_it_was_seen():
    """The first minibatch's ratios are 1, though the statistics have moved since."""
    config = dict(hidden=(8,), batch_size=160, epochs=1, normalize_observations=True)
    agent = agent_parts.make("ppo", PENDULUM, **config)
    rollout = collect(agent, 4, 40)
    advantages = np.random.default_rng(2).normal(size=(40, 4)).astype(np.float32)
    names = "obs", "action", "log_probability", "value"
    batch = {name: getattr(rollout, name) for name in names}
    measured = agent.learn(batch | {"advantage": advantages, "return": advantages})
    assert abs(measured["kl"]) < 1e-6 and measured["clip_fraction"] == 0
    assert agent.policy.normalizer.count == 160 == agent.clock.steps


def test_only_training_counts():
    policy = trained().policy
    before, obs = known(policy), stream(np.random.default_rng(8), rows=50)
    for observe in (
        lambda: policy.act(obs, greedy=True),
        lambda: policy.act(obs),
        lambda: policy.predict(obs),
        lambda: policy.value(obs),
    ):
        observe()
        assert same(known(policy), before)
    assert before["observation_count"] == 3 * (32 + 64)


def test_an_evaluation_counts_nothing():
    agent = dict(hidden=(8,), batch_size=4, normalize_observations=True)
    run = dict(env=NAME, env_count=2, steps_per_launch=8, evaluation_episodes=3)
    session = build(OnPolicyConfig.from_dict({**run, "agent": agent}), FakeEstimator)
    session.iterate()
    before = known(session.policy)
    session.evaluate()
    assert same(known(session.policy), before) and before["observation_count"] == 2 * 8
    session.close()


def test_a_checkpoint_goes_on_bit_for_bit():
    """What was seen is counted, too, by the one that goes on."""
    whole, half = trained(), normalizing(seed=9)
    half.load_state_dict(whole.state_dict())
    state = whole.policy.state_dict()["parameters"]
    for i in range(3, 6):
        mine, theirs = make_rollout(whole, seed=i), make_rollout(half, seed=i)
        np.testing.assert_array_equal(mine["obs"], theirs["obs"])
        np.testing.assert_array_equal(mine["action"], theirs["action"])
        assert whole.learn(mine) == half.learn(theirs)
    assert same(known(whole.policy), known(half.policy))
    assert known(half.policy)["observation_count"] == 6 * 64 + 96
    assert state["observation_count"] == 3 * 64 + 96, "a state is a copy"


def test_a_policys_file_knows_them(tmp_path):
    policy, path = trained().policy, tmp_path / "best.npz"
    save_policy(path, policy, algo="ppo", env=NAME, score=1.0)
    loaded, _ = load_policy(path)
    obs = stream(np.random.default_rng(4))
    assert same(known(loaded), known(policy))
    np.testing.assert_array_equal(loaded.act(obs, greedy=True), policy.act(obs, greedy=True))
    plain = make(discrete=False).policy
    plain.load_parameters({"actor_critic": policy.parameters["actor_critic"]})
    assert not np.array_equal(plain.predict(obs), policy.predict(obs)), "they are not the same"


def test_a_policy_is_played_with_what_training_saw(tmp_path):
    """`rlfabric evaluate` returns what the agent itself does."""
    agent = agent_parts.make("ppo", PENDULUM, batch_size=64, normalize_observations=True)
    collect(agent, 4, 50)
    expected = evaluate(agent.policy, Copies(NAME, 3, PPO), seed=7)
    save_policy(tmp_path / "best.npz", agent.policy, algo="ppo", env=NAME, score=1.0)
    np.testing.assert_array_equal(play(tmp_path, episodes=3, seed=7).returns, expected)


def test_a_policy_without_what_it_needs_is_refused():
    """Not one that acts on numbers of another size."""
    policy = normalizing().policy
    for name in ("observation_mean", "observation_variance", "observation_count", "actor_critic"):
        parts = {key: array for key, array in policy.parameters.items() if key != name}
        with pytest.raises(ValueError, match=rf"^parameters must be \{{.*, not without {name}$"):
            policy.load_parameters(parts)
    with pytest.raises(ValueError, match=r"not observation_mean \[3\]$"):
        make(discrete=False).policy.load_parameters(policy.parameters)


def test_refuses_what_is_not_finite():
    policy = trained().policy
    before, drawn = known(policy), policy.rng.bit_generator.state
    with pytest.raises(ValueError, match="^observations must be finite to be normalized, not nan"):
        policy.sample(np.full((1, 3), np.nan, np.float32))
    assert same(known(policy), before) and policy.rng.bit_generator.state == drawn

"""Observations normalized by host.algorithms.ppo: training alone counts them, checkpoint and policy
know them."""

import gymnasium
import numpy as np
import pytest
from fake_estimator import FakeEstimator
from host.algorithms.ppo_config import PPOConfig
from host.train.on_policy import OnPolicySession
from host.train.policy import load_policy, save_policy
from host.train.train_config import OnPolicyConfig

from host.collect.environment import Actor, evaluate, make_envs
from host.collect.rollout import collect
from host.commands.playing import play
from tests.host.corridor import NAME
from tests.host.ppo_parts import make, make_rollout, require_torch


@pytest.fixture(autouse=True)
def torch():
    return require_torch()


def normalizing(**options):
    return make(discrete=False, normalize_observations=True, **options)


def trained(**options):
    """An agent that has learned from three rollouts of observations around (100, -5, 0)."""
    agent, rng = normalizing(**options), np.random.default_rng(3)
    for i in range(3):
        agent.sample(stream(rng))
        agent.learn(*make_rollout(agent, seed=i))
    return agent


def stream(rng, rows=32):
    return (rng.normal(size=(rows, 3)) * [20, 0.01, 1] + [100, -5, 0]).astype(np.float32)


def known(agent):
    return {name: array.copy() for name, array in agent.normalizer.arrays.items()}


def same(one, other):
    return all(np.array_equal(one[name], other[name]) for name in one)


def test_networks_see_the_stream_normalized(torch):
    """One update a vector step, before it is acted on; gymnasium's wrapper sees the same."""
    agent, rng = normalizing(), np.random.default_rng(1)
    theirs = gymnasium.wrappers.utils.RunningMeanStd(epsilon=0, shape=(3,))
    for step in range(1, 6):
        obs = stream(rng, rows=4)
        theirs.update(obs.astype(np.float64))
        expected = ((obs - theirs.mean) / np.sqrt(theirs.var + 1e-8)).astype(np.float32)
        seen, action, log_probability, value = agent.sample(obs)
        assert agent.normalizer.count == 4 * step == agent.steps
        np.testing.assert_allclose(seen, expected, atol=1e-3)
        with torch.no_grad():
            tensor = torch.from_numpy(seen)
            distribution = agent.network.distribution(tensor)
            np.testing.assert_array_equal(value, agent.network.value(tensor))
            np.testing.assert_array_equal(
                log_probability, distribution.log_probability(torch.from_numpy(action))
            )
        np.testing.assert_array_equal(agent.value(obs), value)
        np.testing.assert_array_equal(agent.predict(obs), distribution.mean)


def test_a_rollout_is_learned_from_as_it_was_seen():
    """The first minibatch's ratios are 1, though the statistics have moved since."""
    agent = normalizing(batch_size=4096, epochs=1)
    actor = Actor(make_envs("Pendulum-v1", 4, "ppo"), seed=1)
    rollout, _ = collect(actor, agent, 40)
    advantages = np.random.default_rng(2).normal(size=(40, 4)).astype(np.float32)
    measured = agent.learn(rollout, advantages, advantages)
    assert abs(measured["kl"]) < 1e-6 and measured["clip_fraction"] == 0
    assert agent.normalizer.count == 160


def test_only_training_counts(tmp_path):
    agent = trained()
    before, obs = known(agent), stream(np.random.default_rng(8), rows=50)
    for observe in (
        lambda: agent.act(obs, greedy=True),
        lambda: agent.act(obs),
        lambda: agent.predict(obs),
        lambda: agent.value(obs),
    ):
        observe()
        assert same(known(agent), before)
    assert before["observation_count"] == 3 * (32 + 64)


def test_an_evaluation_counts_nothing():
    session = OnPolicySession(run_config(), FakeEstimator)
    session.iterate()
    before = known(session.agent)
    session.evaluate()
    assert same(known(session.agent), before) and before["observation_count"] == 2 * 8
    session.close()


def run_config(**changes):
    ppo = dict(hidden=(8,), batch_size=4, normalize_observations=True)
    run = dict(env=NAME, env_count=2, steps_per_launch=8, evaluation_episodes=3)
    return OnPolicyConfig.from_dict({**run, **changes, "ppo": ppo})


def test_a_checkpoint_goes_on_bit_for_bit():
    """What was seen is counted, too, by the one that goes on."""
    whole, half = trained(), normalizing(seed=9)
    half.load_state_dict(whole.state_dict())
    state = whole.state_dict()["parameters"]
    for i in range(3, 6):
        mine, theirs = make_rollout(whole, seed=i), make_rollout(half, seed=i)
        np.testing.assert_array_equal(mine[0].obs, theirs[0].obs)
        np.testing.assert_array_equal(mine[0].action, theirs[0].action)
        assert whole.learn(*mine) == half.learn(*theirs)
    assert same(known(whole), known(half)) and known(half)["observation_count"] == 6 * 64 + 96
    assert state["observation_count"] == 3 * 64 + 96, "a state is a copy"


def test_a_policys_file_knows_them(tmp_path):
    agent, path = trained(), tmp_path / "best.npz"
    save_policy(path, agent, algo="ppo", env=NAME, score=1.0)
    loaded, _ = load_policy(path)
    obs = stream(np.random.default_rng(4))
    assert same(known(loaded), known(agent))
    np.testing.assert_array_equal(loaded.act(obs, greedy=True), agent.act(obs, greedy=True))
    plain = make(discrete=False)
    names = agent.network.state_dict()
    plain.load_parameters({name: agent.parameters[name] for name in names})
    assert not np.array_equal(plain.predict(obs), agent.predict(obs)), "they are not the same"


def test_a_policy_is_played_with_what_training_saw(tmp_path):
    """`rlfabric evaluate` returns what the agent itself does."""
    config = PPOConfig(hidden=(8,), normalize_observations=True)
    from host.algorithms.ppo import PPO

    agent = PPO(config, seed=1, discrete=False, observation_size=3, action_count=1)
    collect(Actor(make_envs("Pendulum-v1", 4, "ppo"), seed=1), agent, 50)
    expected = evaluate(agent, make_envs("Pendulum-v1", 3, "ppo"), seed=7)
    save_policy(tmp_path / "best.npz", agent, algo="ppo", env="Pendulum-v1", score=1.0)
    np.testing.assert_array_equal(play(tmp_path, episodes=3, seed=7).returns, expected)


def test_policies_from_before_load(tmp_path, monkeypatch):
    """Their config does not name the field, and they see observations as these are."""
    agent, path = make(discrete=False), tmp_path / "best.npz"
    config = agent.config.to_dict()
    del config["normalize_observations"]
    monkeypatch.setattr(PPOConfig, "to_dict", lambda self: config)
    save_policy(path, agent, algo="ppo", env=NAME, score=1.0)
    monkeypatch.undo()
    loaded, _ = load_policy(path)
    assert loaded.normalizer is None
    obs = stream(np.random.default_rng(4))
    np.testing.assert_array_equal(loaded.predict(obs), agent.predict(obs))


def test_a_policy_without_what_it_needs_is_refused():
    """Not one that acts on numbers of another size."""
    agent = normalizing()
    for name in ("observation_mean", "observation_variance", "observation_count", "actor.0.bias"):
        parts = {key: array for key, array in agent.parameters.items() if key != name}
        with pytest.raises(ValueError, match=rf"^parameters must be \{{.*, not without {name}$"):
            agent.load_parameters(parts)
    with pytest.raises(ValueError, match=r"not observation_mean \[3\]$"):
        make(discrete=False).load_parameters(agent.parameters)


def test_refuses_what_is_not_finite():
    agent = trained()
    before, steps = known(agent), agent.steps
    with pytest.raises(ValueError, match="^observations must be finite to be normalized, not nan"):
        agent.sample(np.full((1, 3), np.nan, np.float32))
    assert same(known(agent), before) and agent.steps == steps

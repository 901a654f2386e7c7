"""bench.learning.peers: plans are of numbers alone, and ppo's are the run's own."""

import json
from dataclasses import asdict, replace

import pytest

from bench.learning.peers import _ZOO as ZOO
from bench.learning.peers import PEERS, ddpg
from host.runs.preset import preset
from host.settings import override


def test_ppo_has_the_runs_own_numbers():
    config = preset("ppo", "cpu", "heppo3", "Pendulum-v1")
    plan, agent = PEERS["ppo"](config), config.agent
    assert (plan.algorithm, plan.steps, plan.env_count) == ("PPO", 120_000, 4)
    assert plan.arguments["n_steps"] == 512 and plan.arguments["gamma"] == agent.gamma == 0.9
    assert plan.arguments["learning_rate"] == [agent.learning_rate, 1e-5, 1.0]
    rate = PEERS["ppo"](preset("ppo", "cpu", "heppo1", "CartPole-v1")).arguments["learning_rate"]
    assert isinstance(rate, float)


def test_dqn_has_the_runs_own_numbers_where_it_has_them():
    """A gradient step is of four environment steps here, and it counts those."""
    config = preset("dqn", "cpu", env="MinAtar/Breakout-v1")
    plan, agent = PEERS["dqn"](config), config.in_run().agent
    assert (plan.algorithm, plan.steps, plan.env_count) == ("DQN", config.steps, 4)
    found = plan.arguments
    assert found["target_update_interval"] == 4 * agent.target_interval
    assert found["n_steps"] == agent.n_step and found["buffer_size"] == config.capacity
    assert found["exploration_fraction"] * config.steps == agent.epsilon_steps
    assert found["learning_rate"] == [agent.learning_rate, agent.learning_rate_final, 1.0]
    assert asdict(plan) == json.loads(json.dumps(asdict(plan)))


def test_what_dqn_has_no_argument_for():
    config = preset("dqn", "cpu", env="CartPole-v1")
    with pytest.raises(ValueError, match="^dueling must be False for peer dqn, not True$"):
        PEERS["dqn"](replace(config, agent=replace(config.agent, dueling=True)))
    with pytest.raises(ValueError, match="^algo must be 'dqn' for peer dqn, not 'sac'$"):
        PEERS["dqn"](preset("sac", "cpu"))


def test_every_number_of_a_plan_is_the_runs():
    """None of two that could be exchanged are equal."""
    fields = dict(
        learning_rate=0.5, learning_rate_final=0.25, learning_rate_steps=100, epochs=3, gamma=0.75,
        gae_lambda=0.625, clip=0.375, entropy_coefficient=0.125, value_coefficient=0.875,
        max_gradient_norm=2.5, log_deviation=-0.5, batch_size=8, steps=400, env_count=2,
        steps_per_launch=16,
    )  # fmt: skip
    assert PEERS["ppo"](override(preset("ppo", "cpu"), fields)).arguments == dict(
        learning_rate=[0.5, 0.25, 0.25], n_steps=16, batch_size=8, n_epochs=3, gamma=0.75,
        gae_lambda=0.625, clip_range=0.375, ent_coef=0.125, vf_coef=0.875, max_grad_norm=2.5,
        policy_kwargs=dict(log_std_init=-0.5),
    )  # fmt: skip
    fields = dict(
        learning_rate=0.5, capacity=999, learning_starts=50, batch_size=8, gamma=0.75, n_step=3,
        steps_per_launch=4, updates_per_launch=2, env_count=2, target_tau=0.625, target_interval=5,
        epsilon_steps=40, epsilon_start=0.875, epsilon_end=0.125, max_gradient_norm=None,
        hidden=(7, 6), steps=400,
    )  # fmt: skip
    config = override(preset("dqn", "cpu"), fields)
    assert PEERS["dqn"](config).arguments == dict(
        learning_rate=0.5, buffer_size=999, learning_starts=50, batch_size=8, gamma=0.75,
        n_steps=3, train_freq=4, gradient_steps=2, tau=0.625, target_update_interval=20,
        exploration_fraction=0.1, exploration_initial_eps=0.875, exploration_final_eps=0.125,
        max_grad_norm=1e9, policy_kwargs=dict(net_arch=[7, 6]),
    )  # fmt: skip
    uneven = override(config, {"updates_per_launch": 3})
    with pytest.raises(ValueError, match="^target_interval must be a multiple of 3 gradient steps"):
        PEERS["dqn"](uneven)
    limited = override(config, {"max_gradient_norm": 2.5})
    assert PEERS["dqn"](limited).arguments["max_grad_norm"] == 2.5


def _ddpg(**fields):
    fields = dict(
        learning_rate=0.5, actor_learning_rate=0.5, capacity=999, learning_starts=50, batch_size=8,
        gamma=0.75, n_step=3, steps_per_launch=4, updates_per_launch=5, env_count=2, steps=400,
        target_tau=0.625, hidden=(7, 6), noise_start=0.25, noise_end=0.25, loss="mse",
        reward_scale=1.0,
    ) | fields  # fmt: skip
    return override(preset("ddpg", "card"), fields)


def test_every_number_of_ddpg_is_the_runs():
    plan = ddpg(_ddpg())
    assert (plan.algorithm, plan.steps, plan.env_count) == ("DDPG", 400, 2)
    assert plan.noise == ["normal", 0.25]
    assert plan.arguments == dict(
        learning_rate=0.5, buffer_size=999, learning_starts=50, batch_size=8, gamma=0.75,
        n_steps=3, train_freq=4, gradient_steps=5, tau=0.625, policy_kwargs=dict(net_arch=[7, 6]),
    )  # fmt: skip


@pytest.mark.parametrize(
    "field, value, rule",
    [
        ("loss", "huber", "'mse'"),
        ("noise", "ornstein_uhlenbeck", "'gaussian'"),
        ("noise_end", 0.5, "0.25"),
        ("actor_learning_rate", 0.25, "0.5"),
        ("target_interval", 2, "1"),
        ("reward_scale", 0.5, "1.0"),
    ],
)
def test_what_ddpg_has_no_argument_for(field, value, rule):
    with pytest.raises(ValueError, match=f"^{field} must be {rule} for peer ddpg, not {value!r}$"):
        ddpg(_ddpg(**{field: value}))


def test_ddpg_is_of_no_other_algorithm():
    with pytest.raises(ValueError, match="^algo must be 'ddpg' for peer ddpg, not 'dqn'$"):
        ddpg(preset("dqn", "cpu", env="CartPole-v1"))


def _equal(algo, **fields):
    """A config that stable-baselines3 can have; numbers that could be exchanged differ."""
    numbers = dict(
        learning_rate=0.5, capacity=999, learning_starts=50, batch_size=8, gamma=0.75, n_step=3,
        steps_per_launch=4, updates_per_launch=5, env_count=2, steps=400, target_tau=0.625,
        hidden=(7, 6), reward_scale=1.0, max_gradient_norm=None,
    )  # fmt: skip
    return override(preset(algo, "cpu"), numbers | fields)


SHARED = dict(
    learning_rate=0.5, buffer_size=999, learning_starts=50, batch_size=8, gamma=0.75, n_steps=3,
    train_freq=4, gradient_steps=5, tau=0.625, policy_kwargs=dict(net_arch=[7, 6]),
)  # fmt: skip


def test_every_number_of_td3_is_the_runs():
    config = _equal(
        "td3", actor_learning_rate=0.5, noise_start=0.25, noise_end=0.25, loss="mse",
        policy_delay=9, target_noise=0.375, target_noise_clip=0.875,
    )  # fmt: skip
    plan = PEERS["td3"](config)
    assert (plan.algorithm, plan.steps, plan.env_count) == ("TD3", 400, 2)
    assert plan.noise == ["normal", 0.25] and plan.arguments == SHARED | dict(
        policy_delay=9, target_policy_noise=0.375, target_noise_clip=0.875
    )
    with pytest.raises(ValueError, match="^loss must be 'mse' for peer td3, not 'huber'$"):
        PEERS["td3"](override(config, {"loss": "huber"}))


def test_every_number_of_sac_is_the_runs():
    config = _equal("sac", loss="squared", entropy_coefficient=0.25)
    plan = PEERS["sac"](config)
    assert (plan.algorithm, plan.steps, plan.env_count, plan.noise) == ("SAC", 400, 2, None)
    assert plan.arguments == SHARED | dict(ent_coef="auto_0.25", target_entropy="auto")
    fixed = dict(learn_entropy_coefficient=False, target_entropy=-2.0)
    found = PEERS["sac"](override(config, fixed)).arguments
    assert (found["ent_coef"], found["target_entropy"]) == (0.25, -2.0)
    with pytest.raises(ValueError, match="^loss must be 'squared' for peer sac, not 'mse'$"):
        PEERS["sac"](override(config, {"loss": "mse"}))


@pytest.mark.parametrize("algo, env", ZOO)
def test_the_zoos_are_whole(algo, env):
    class Config:
        pass

    Config.algo, Config.env = algo, env
    plan = PEERS["zoo"](Config)
    assert plan.algorithm == algo.upper() and plan.steps >= 20_000
    assert plan.env_count == {"CartPole-v1": 8, "Pendulum-v1": 4}[env] if algo == "ppo" else 1
    assert asdict(plan) == json.loads(json.dumps(asdict(plan)))


def test_the_zoo_does_not_know_everything():
    with pytest.raises(
        ValueError, match=r"^peer must be zoo for dqn on CartPole-v1, .+, not for dqn on Mine-v0$"
    ):
        PEERS["zoo"](preset("dqn", "cpu", env="Mine-v0"))

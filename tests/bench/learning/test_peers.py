"""bench.learning.peers: plans are of numbers alone, and ppo's are the run's own."""

import json
from dataclasses import asdict, replace

import pytest

from bench.learning.peers import _ZOO as ZOO
from bench.learning.peers import PEERS
from host.train.preset import preset


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


@pytest.mark.parametrize("algo, env", ZOO)
def test_the_zoos_are_whole(algo, env):
    class Config:
        pass

    Config.algo, Config.env = algo, env
    plan = PEERS["zoo"](Config)
    assert plan.algorithm == algo.upper() and plan.steps >= 20_000 and plan.env_count == 1
    assert asdict(plan) == json.loads(json.dumps(asdict(plan)))


def test_the_zoo_does_not_know_everything():
    with pytest.raises(
        ValueError, match=r"^peer must be zoo for dqn on CartPole-v1, .+, not for dqn on Mine-v0$"
    ):
        PEERS["zoo"](preset("dqn", "cpu", env="Mine-v0"))

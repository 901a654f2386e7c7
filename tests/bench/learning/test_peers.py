"""bench.learning.peers: plans are of numbers alone, and ppo's are the run's own."""

import json
from dataclasses import asdict

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

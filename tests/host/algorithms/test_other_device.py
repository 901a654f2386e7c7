"""Updaters whose gradient steps are on another device than the policy: on a GPU where torch sees
one."""

import numpy as np
import pytest
import torch

from host.algorithms.config import Clock
from tests.host import agent_parts, ppo_parts
from tests.host.agent_parts import CONTINUOUS, make_batch
from tests.host.compose.trainer_files import CONTINUOUS as CONTINUOUS_TRAINER
from tests.host.compose.trainer_files import DISCRETE, changed, trainer
from tests.host.other_device import OTHER, assert_as_on_the_cpu

AGENTS = {
    "dqn": dict(algo="dqn"),
    "td3": dict(algo="td3"),
    "sac": dict(algo="sac"),
    "ddpg": dict(algo="ddpg"),
    "ddpg, 32 bits": dict(algo="ddpg", precision="fixed32"),
    "ddpg, 16 bits": dict(algo="ddpg", precision="fixed16_static"),
}
TRAINERS = {"sequential": DISCRETE, "usual": CONTINUOUS_TRAINER}


def pair(options):
    """Two equal agents; the second one's gradient steps are elsewhere."""
    here, there = agent_parts.make(**options), agent_parts.make(**options)
    there.updater = there.algorithm.updater(there.policy, seed=3, device=OTHER)
    return here, there


def assert_equal_policies(here, there):
    for name, array in here.policy.parameters.items():
        assert_as_on_the_cpu(there.policy.parameters[name], array)


@pytest.mark.parametrize("name", AGENTS)
def test_steps_of_a_replay_memorys_batches(name):
    """Errors and policy after each step, and after what was kept of it is loaded on the CPU."""
    here, there = pair(AGENTS[name])
    for trained in there.updater.networks.values():
        assert trained.parameters.device.type == torch.device(OTHER).type
    batches = [make_batch(here.policy.spec, seed=k) for k in range(6)]
    for batch in batches[:4]:
        assert_as_on_the_cpu(there.learn(batch)[0], here.learn(batch)[0])
        assert_equal_policies(here, there)
    again, _ = pair(AGENTS[name])
    again.load_state_dict(there.state_dict())
    again.clock.updates = there.clock.updates
    for batch in batches[4:]:
        assert_as_on_the_cpu(again.learn(batch)[0], there.learn(batch)[0])
        assert_equal_policies(again, there)


def test_a_rollout_of_ppo():
    here, there = ppo_parts.make(), ppo_parts.make()
    there.updater = there.algorithm.updater(there.policy, seed=3, device=OTHER)
    rollout = ppo_parts.make_rollout(here)
    for agent in (here, there):
        agent.learn(rollout)
    assert_equal_policies(here, there)


def test_sums_of_fixed_point_are_exact_everywhere():
    """The Q values that train are integers of their format, and so equal to the bit."""
    here, there = pair(AGENTS["ddpg, 32 bits"])
    batch = make_batch(CONTINUOUS, rows=100)
    errors = [agent.learn(batch)[0] for agent in (here, there)]
    np.testing.assert_array_equal(*errors)


@pytest.mark.parametrize("name", TRAINERS)
def test_steps_of_a_trainer(name):
    spec, found = TRAINERS[name], {}
    algorithm = trainer(name)
    for device in ("cpu", OTHER):
        policy = algorithm.policy(algorithm.config(), spec, weights=1, exploration=2)
        updater = algorithm.updater(policy, seed=3, device=device)
        for k in range(4):
            updater.update(make_batch(spec, seed=k), Clock(updates=k))
        state = policy.state_dict(), updater.state_dict()
        other = algorithm.policy(algorithm.config(), spec, weights=7, exploration=2)
        resumed = algorithm.updater(other, seed=9, device=OTHER)
        other.load_state_dict(state[0])
        resumed.load_state_dict(state[1])
        obs = make_batch(spec, seed=5)["obs"]
        assert_as_on_the_cpu(other.act(obs, greedy=True), policy.act(obs, greedy=True))
        errors = [each.update(make_batch(spec, seed=4), Clock(updates=4))[0]
                  for each in (updater, resumed)]  # fmt: skip
        assert_as_on_the_cpu(errors[1], errors[0])
        found[device] = errors[0], {key: value.copy() for key, value in policy.parameters.items()}
    assert_as_on_the_cpu(found[OTHER][0], found["cpu"][0])
    for key, value in found["cpu"][1].items():
        assert_as_on_the_cpu(found[OTHER][1][key], value)


def test_what_a_trainer_draws_there_is_the_runs(tmp_path):
    """The same in two runs of a seed, whatever else has drawn."""
    drawn = "(wanted - q).detach() + torch.rand(len(q), device=q.device)"
    algorithm = changed(tmp_path, "sequential", ("return (wanted - q).detach()", f"return {drawn}"))
    found = []
    for _ in range(2):
        torch.rand(3, device=OTHER)
        policy = algorithm.policy(algorithm.config(), DISCRETE, weights=1, exploration=2)
        updater = algorithm.updater(policy, seed=3, device=OTHER)
        found.append([updater.update(make_batch(DISCRETE), Clock())[0] for _ in range(2)])
    assert_as_on_the_cpu(found[1], found[0])
    assert (found[0][0] != found[0][1]).any()

"""Training by ppo against stable-baselines3's PPO with the same first weights, noise and orders of
minibatches: rollouts, advantages and epochs. Long: an extra that `make test` does not install."""

import copy

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers import RescaleAction, TimeLimit

from host.advantages.advantage_learner import AdvantageLearner
from host.advantages.rollout import RolloutCollector
from host.environments.spec import Spec
from host.phases import Phases
from tests.fake_estimator import FakeEstimator
from tests.host import agent_parts

pytestmark = pytest.mark.long

STEPS, ROLLOUTS, SEED = 128, 4, 5
HYPER = dict(gamma=0.99, gae_lambda=0.95, batch_size=50, learning_rate=3e-4)
#: of their rollouts -> of ours
NAMES = {
    "observations": "obs",
    "actions": "action",
    "log_probs": "log_probability",
    "values": "value",
    "advantages": "advantage",
    "returns": "return",
}


class Ending(gymnasium.Wrapper):
    """Terminates where the pendulum turns fast."""

    def step(self, action):
        obs, reward, _, truncated, info = self.env.step(action)
        return obs, reward, bool(abs(obs[2]) > 4), truncated, info


def make_env():
    """Episodes that terminate, and others that are cut off after 20 steps."""
    env = Ending(gymnasium.make("Pendulum-v1").unwrapped)
    return RescaleAction(TimeLimit(env, 20), -1, 1)


def mine(agent):
    """[(what was learned from, parameters after it)] of a training of ``agent``."""
    taken = []
    envs, phases = SyncVectorEnv([make_env], autoreset_mode=AutoresetMode.SAME_STEP), Phases()
    collector = RolloutCollector(envs, STEPS, seed=SEED, phases=phases)
    parts = agent.policy, agent.clock, FakeEstimator(), agent.updater
    learner, update = AdvantageLearner(*parts, phases=phases), agent.updater.update

    def spy(batch, clock):
        found = update(batch, clock)
        taken.append((batch, as_theirs(agent.policy)))
        return found

    agent.updater.update, ends = spy, set()
    for _ in range(ROLLOUTS):
        rollout, _ = collector.collect(agent.policy, agent.clock)
        ends |= set(zip(rollout.terminated.ravel(), rollout.truncated.ravel(), strict=True))
        learner.end(learner.begin(rollout))
    envs.close()
    assert len(ends) >= 3, ends
    return taken


def as_theirs(policy):
    """Their name of each parameter -> a copy of ours."""
    network = policy.networks["actor_critic"]
    arrays = {"log_std": network.log_deviation.copy()}
    for mlp, net, head in ((network.actor, "policy", "action"), (network.critic, "value", "value")):
        names = f"mlp_extractor.{net}_net.0", f"mlp_extractor.{net}_net.2", f"{head}_net"
        for name, weight, bias in zip(names, mlp.weights, mlp.biases, strict=True):
            arrays |= {f"{name}.weight": weight.T.copy(), f"{name}.bias": bias.copy()}
    return arrays


def theirs(monkeypatch, agent):
    """[({their name: array of a rollout}, parameters after it)] of their whole training, with the
    weights and the next draws of ``agent``."""
    from stable_baselines3 import PPO
    from stable_baselines3.common.callbacks import BaseCallback
    from stable_baselines3.common.vec_env import DummyVecEnv

    model = PPO(
        "MlpPolicy", DummyVecEnv([make_env]), seed=SEED, device="cpu", n_steps=STEPS, **HYPER
    )
    state, taken = model.policy.state_dict(), []
    for name, array in as_theirs(agent.policy).items():
        state[name].copy_(torch.from_numpy(array))
    noise, orders = (copy.deepcopy(each.rng) for each in (agent.policy, agent.updater))
    monkeypatch.setattr(
        "torch.distributions.normal._standard_normal",
        lambda shape, dtype, device: torch.from_numpy(noise.standard_normal(shape, np.float32)),
    )
    monkeypatch.setattr("numpy.random.permutation", orders.permutation)

    class Record(BaseCallback):
        def _on_step(self):
            return True

        def _on_rollout_start(self):
            if taken:
                taken[-1].append(
                    {n: x.numpy().copy() for n, x in model.policy.state_dict().items()}
                )

        def _on_rollout_end(self):
            taken.append([{n: getattr(model.rollout_buffer, n).copy() for n in NAMES}])

        _on_training_end = _on_rollout_start

    model.learn(ROLLOUTS * STEPS, callback=Record())
    return taken


def test_training_is_stable_baselines3s(monkeypatch):
    """Rounding grows from rollout to rollout, and a mistake is some 1e-2 in the first."""
    spec = Spec(shape=(3,), dtype="float32", discrete=False, action_count=1)
    agent = agent_parts.make("ppo", spec, hidden=(64, 64), **HYPER)
    reference = theirs(monkeypatch, agent)
    monkeypatch.undo()
    taken = mine(agent)
    assert len(reference) == len(taken) == ROLLOUTS
    for n, ((arrays, state), (batch, parameters)) in enumerate(zip(reference, taken, strict=True)):
        for name, ours in NAMES.items():
            np.testing.assert_allclose(
                arrays[name].ravel(),
                batch[ours].ravel(),
                rtol=1e-4,
                atol=1e-3,
                err_msg=f"{name} {n}",
            )
        for name, array in parameters.items():
            np.testing.assert_allclose(state[name], array, rtol=0, atol=1e-5, err_msg=f"{name} {n}")

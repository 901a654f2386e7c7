"""Training by ppo against stable-baselines3's PPO with the same first weights, noise and orders of
minibatches: rollouts, advantages and epochs. Long: an extra that `make test` does not install."""

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers import RescaleAction, TimeLimit

from host.algorithms.ppo_config import PPOConfig
from host.collect.environment import Actor
from host.collect.rollout import collect
from tests.fake_estimator import FakeEstimator
from tests.host.ppo_parts import require_torch

pytestmark = pytest.mark.long

STEPS, ROLLOUTS, SEED = 128, 4, 5
HYPER = dict(gamma=0.99, gae_lambda=0.95, batch_size=50, learning_rate=3e-4)
#: of their rollouts -> of ours
NAMES = {
    "observations": "obs",
    "actions": "action",
    "log_probs": "log_probability",
    "values": "value",
    "advantages": "advantages",
    "returns": "returns",
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


def mine():
    """``(state at first, [(rollout, estimated, parameters after it)])``."""
    from host.algorithms.ppo import PPO

    agent = PPO(PPOConfig(**HYPER), seed=1, discrete=False, observation_size=3, action_count=1)
    first, taken, estimator = agent.state_dict(), [], FakeEstimator()
    envs = SyncVectorEnv([make_env], autoreset_mode=AutoresetMode.SAME_STEP)
    actor = Actor(envs, seed=SEED)
    for _ in range(ROLLOUTS):
        rollout, _ = collect(actor, agent, STEPS)
        estimated = estimator.estimate(
            rollout.reward,
            rollout.value,
            rollout.terminated,
            rollout.truncated,
            rollout.bootstrap,
            gamma=HYPER["gamma"],
            gae_lambda=HYPER["gae_lambda"],
        )
        agent.learn(rollout, estimated.advantages, estimated.returns)
        taken.append((rollout, estimated, agent.state_dict()["parameters"]))
    envs.close()
    return first, taken


def as_theirs(parameters):
    """Their name of each parameter -> ours."""
    names = {"log_deviation": "log_std"}
    for part in ("weight", "bias"):
        for ours, net, head in (("actor", "policy", "action"), ("critic", "value", "value")):
            for layer in (0, 2):
                names[f"{ours}.{layer}.{part}"] = f"mlp_extractor.{net}_net.{layer}.{part}"
            names[f"{ours}.4.{part}"] = f"{head}_net.{part}"
    return {names[name]: array for name, array in parameters.items()}


def theirs(torch, monkeypatch, first):
    """[({name of ours: array of a rollout}, parameters after it)] of their whole training."""
    from stable_baselines3 import PPO
    from stable_baselines3.common.callbacks import BaseCallback
    from stable_baselines3.common.vec_env import DummyVecEnv

    model = PPO(
        "MlpPolicy", DummyVecEnv([make_env]), seed=SEED, device="cpu", n_steps=STEPS, **HYPER
    )
    state, taken = model.policy.state_dict(), []
    for name, array in as_theirs(first["parameters"]).items():
        state[name].copy_(torch.from_numpy(array))
    generator = torch.Generator()
    generator.set_state(torch.from_numpy(first["random"]))
    monkeypatch.setattr(
        "torch.distributions.normal._standard_normal",
        lambda shape, dtype, device: torch.randn(shape, generator=generator),
    )
    monkeypatch.setattr(
        "numpy.random.permutation", lambda n: torch.randperm(n, generator=generator).numpy()
    )

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
    torch = require_torch()
    first, taken = mine()
    reference = theirs(torch, monkeypatch, first)
    assert len(reference) == len(taken) == ROLLOUTS
    kinds = set()
    for n, ((arrays, state), (rollout, estimated, parameters)) in enumerate(
        zip(reference, taken, strict=True)
    ):
        kinds |= set(zip(rollout.terminated.ravel(), rollout.truncated.ravel(), strict=True))
        for name, ours in NAMES.items():
            array = getattr(estimated if name in ("advantages", "returns") else rollout, ours)
            np.testing.assert_allclose(
                arrays[name].ravel(), array.ravel(), rtol=1e-4, atol=1e-3, err_msg=f"{name} {n}"
            )
        for name, array in as_theirs(parameters).items():
            np.testing.assert_allclose(state[name], array, rtol=0, atol=1e-5, err_msg=f"{name} {n}")
    assert len(kinds) >= 3, kinds

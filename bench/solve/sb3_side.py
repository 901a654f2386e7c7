"""stable-baselines3's side."""

from contextlib import closing, nullcontext
from dataclasses import replace

import torch
from gymnasium.spaces import Box
from stable_baselines3.common.callbacks import BaseCallback

from bench.learning.library import environments, new_model, updates_of
from bench.learning.peers import PeerPlan

__all__ = ["Library"]

_ACTIVATIONS = {"relu": torch.nn.ReLU, "tanh": torch.nn.Tanh, None: None}


class Library:
    """The run of a PeerPlan, given as a dict of JSON values, with an activation, a factor of the
    rewards, and whether actions are rescaled to [-1, 1]."""

    def __init__(self, asked, seed):
        torch.set_num_threads(1)
        self._asked, self._seed = asked, seed
        self._plan = PeerPlan(**asked["plan"])
        activation = _ACTIVATIONS[asked["activation"]]
        if activation is not None:
            own = self._plan.arguments.get("policy_kwargs", {})
            arguments = self._plan.arguments | {
                "policy_kwargs": own | {"activation_fn": activation}
            }
            self._plan = replace(self._plan, arguments=arguments)

    def warm(self):
        """Begins the run with the fewest steps before learning, and drops it after an update."""
        arguments = dict(self._plan.arguments)
        if self._plan.algorithm != "PPO":
            arguments["learning_starts"] = 0
        steps = arguments.get("n_steps", 0) * self._plan.env_count or 64
        if isinstance(arguments.get("train_freq"), int):
            steps = 2 * arguments["train_freq"] * self._plan.env_count
        with closing(self._envs()) as envs:
            new_model(replace(self._plan, arguments=arguments), envs, self._seed).learn(steps)

    def train(self, watch):
        with closing(self._envs()) as envs:
            model = new_model(self._plan, envs, self._seed)
            watch.restart()
            model.learn(self._plan.steps, callback=_Callback(watch))
            # Whatever the last rollout has taught.
            watch(model.num_timesteps, updates_of(model), nullcontext(_Policy(model)))

    def _envs(self):
        asked = self._asked
        return environments(
            asked["rule"]["env"],
            self._plan.env_count,
            self._seed,
            rescaled=asked["rescaled"],
            reward_scale=asked["reward_scale"],
        )


class _Callback(BaseCallback):
    """Asks ``watch`` before each rollout, after the gradient steps of the one before."""

    def __init__(self, watch):
        super().__init__()
        self._watch, self._on = watch, True

    def _on_rollout_start(self):
        policy = nullcontext(_Policy(self.model))
        self._on = self._watch(self.num_timesteps, updates_of(self.model), policy)

    def _on_step(self):
        return self._on


class _Policy:
    """The greedy policy of a model, with actions in [-1, 1] or discrete ones."""

    def __init__(self, model):
        self._model, self._space = model, model.action_space

    def act(self, obs, *, greedy):
        action, _ = self._model.predict(obs, deterministic=greedy)
        if isinstance(self._space, Box):
            low, high = self._space.low, self._space.high
            action = 2 * (action - low) / (high - low) - 1
        return action

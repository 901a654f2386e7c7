"""Actors that give one action, in [-1, 1], to which noise is added: the common part of ``ddpg`` and
``td3``. Critics' inputs and errors are common with ``sac`` too.
"""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from host.algorithms.autodiff import torch
from host.algorithms.config import TemporalDifferenceConfig
from host.algorithms.exploration import Noise, NoiseConfig
from host.algorithms.layers import Described
from host.algorithms.network import MLP
from host.algorithms.policy import Policy
from host.rules import POSITIVE, Choice

__all__ = ["LONG_RUN", "PENDULUM", "DeterministicConfig", "DeterministicPolicy", "beside", "larger"]

#: The run of TD3's and SAC's papers, and with some changes of FIXAR's: a million steps of one
#: environment, a gradient step for each of them, and five greedy episodes after every 5000.
#: Learning starts after 1000 steps, as with TD3 (6.1).
LONG_RUN = dict(
    steps=1_000_000,
    env_count=1,
    capacity=1 << 20,
    learning_starts=1000,
    evaluation_interval_steps=5000,
    evaluation_episodes=5,
    log_interval_steps=5000,
    checkpoint_interval_steps=50_000,
)

#: Agents of TD3 and SAC for Pendulum-v1, where they learn in minutes.
PENDULUM = dict(
    hidden=(64, 64),
    gamma=0.98,
    reward_scale=0.1,
    batch_size=64,
    loss="huber",
    target_tau=0.02,
)

#: Gain of the actor's output layer at first: actions are near 0, where tanh has its full slope.
_ACTOR_GAIN = 0.01
#: Lillicrap et al., 7: weights within ``+- 1 / sqrt(fan_in)``, those of output layers within 3e-3.
_LILLICRAP_GAIN, _LILLICRAP_OUTPUT = 3**-0.5, 3e-3


@dataclass(frozen=True, kw_only=True)
class DeterministicConfig(NoiseConfig, TemporalDifferenceConfig):
    """Hyperparameters of deterministic actors: actions are ``clip(mu(s) + noise, -1, 1)``."""

    hidden: tuple = (64, 64)
    n_step: int = 3
    gamma: float = 0.98
    reward_scale: float = 0.1
    #: Step size of the critic.
    learning_rate: float = 4e-3
    #: Step size of the actor; it falls in proportion to the critic's.
    actor_learning_rate: Annotated[float, POSITIVE] = 2e-3
    max_gradient_norm: float | None = None
    target_interval: int = 1
    target_tau: float = 0.02
    #: First weights: kaiming, whose hidden layers keep the magnitude of their inputs; lillicrap,
    #: smaller in hidden layers and almost 0 in output layers, for observations that are not of the
    #: order of 1.
    first_weights: Annotated[str, Choice(("kaiming", "lillicrap"))] = "kaiming"

    def learning_rates_at(self, steps):
        critic = self.learning_rate_at(steps)
        return critic, critic / self.learning_rate * self.actor_learning_rate


class DeterministicPolicy(Policy):
    """A policy whose actions are ``clip(mu(s) + noise, -1, 1)``, without noise if ``greedy``
    (``Noise``). The inputs of its critics are observation and action side by side.
    """

    ACTS, CRITICS, TD_ERRORS = "actor", ("critic",), True

    def __init__(self, config, spec, **seeds):
        super().__init__(config, spec, **seeds)
        self._noise = Noise(config)

    def make_networks(self, rng):
        size, count, hidden = self.spec.size, self.spec.action_count, self.config.hidden
        lillicrap = self.config.first_weights == "lillicrap"
        options = dict(activation=self.config.activation, rng=rng)
        options["gain"] = _LILLICRAP_GAIN if lillicrap else None

        def network(inputs, outputs, gain, **more):
            if lillicrap:
                gain = _LILLICRAP_OUTPUT * ((inputs, *hidden)[-1] / 3) ** 0.5
            return MLP(inputs, outputs, hidden, output_gain=gain, **more, **options)

        critics = {name: network(size + count, 1, 1.0) for name in self.CRITICS}
        actor = network(size, count, _ACTOR_GAIN, output_activation="tanh")
        return critics | {"actor": actor}

    def described(self):
        return Described(self.networks[self.ACTS].described(), "mean", {"mean": []})

    def exploration_at(self, steps):
        return self.config.noise_at(steps)

    def choose(self, outputs, *, greedy=False, steps=0):
        return outputs if greedy else self._noise.added(outputs, steps, self.rng)

    def td_errors(self, records):
        """``|r + discount Q(s', mu(s')) - Q(s, a)|``, float32 [rows]. With two critics Q(s', .) is
        their minimum, and the error their maximum. mu(s') has no noise."""
        obs, next_obs = self.flat(records["obs"]), self.flat(records["next_obs"])
        critics = [self.networks[name].forward for name in self.CRITICS]
        following = np.concatenate([next_obs, self.predict(records["next_obs"])], 1)
        value = np.min([critic(following)[:, 0] for critic in critics], axis=0)
        wanted = records["reward"] + records["discount"] * value
        seen = np.concatenate([obs, records["action"]], 1)
        return np.max([abs(wanted - critic(seen)[:, 0]) for critic in critics], axis=0)

    def ended(self, which):
        self._noise.ended(which)

    def state_dict(self):
        return super().state_dict() | self._noise.state_dict()

    def load_state_dict(self, state):
        """Continues a saved state, in new episodes."""
        super().load_state_dict(state)
        self._noise.load_state_dict(state)


def beside(obs, action):
    """A critic's input: the tensors ``obs`` [rows, size] and ``action`` [rows, action_count] side
    by side, [rows, size + action_count]."""
    return torch.cat([obs, action], 1)


def larger(one, two):
    """``max(|one|, |two|)`` of two critics' TD errors, tensors [rows], from which priorities
    follow, as in LAP (Fujimoto et al., An Equivalence between Loss Functions and Non-Uniform
    Sampling, 2020). The mean of two errors with different signs could be near 0."""
    return torch.maximum(one.abs(), two.abs())

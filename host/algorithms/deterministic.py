"""Actors that give one action, in [-1, 1], to which noise is added: the common part of ``ddpg`` and
``td3``. Critics' inputs and errors are common with ``sac`` too.
"""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from host.algorithms.autodiff import torch
from host.algorithms.config import SCHEDULE, TemporalDifferenceConfig, linear
from host.algorithms.network import MLP
from host.algorithms.policy import Policy
from host.rules import FRACTION, POSITIVE, Choice, Number

__all__ = ["LONG_RUN", "PENDULUM", "DeterministicConfig", "DeterministicPolicy", "beside", "larger"]

_DEVIATION = Number("in [0, 10]", lambda x: 0 <= x <= 10)

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
class DeterministicConfig(TemporalDifferenceConfig):
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
    #: Standard deviation, at first, of the Gaussian noise on each component of an action, which is
    #: in [-1, 1].
    noise_start: Annotated[float, _DEVIATION] = 1.0
    #: Standard deviation of the noise after ``noise_steps``.
    noise_end: Annotated[float, _DEVIATION] = 0.1
    #: Environment steps from ``noise_start`` to ``noise_end``; None: ``noise_share`` of the run.
    noise_steps: Annotated[int | None, SCHEDULE] = None
    #: Share of the run for which ``noise_steps`` None stands.
    noise_share: Annotated[float, FRACTION] = 0.125
    #: gaussian: independent in every step; ornstein_uhlenbeck: correlated over time
    #: (``DeterministicPolicy``).
    noise: Annotated[str, Choice(("gaussian", "ornstein_uhlenbeck"))] = "gaussian"
    #: ornstein_uhlenbeck: share by which the noise decays in a step.
    noise_theta: Annotated[float, Number("in (0, 1]", lambda x: 0 < x <= 1)] = 0.15
    #: First weights: kaiming, whose hidden layers keep the magnitude of their inputs; lillicrap,
    #: smaller in hidden layers and almost 0 in output layers, for observations that are not of the
    #: order of 1.
    first_weights: Annotated[str, Choice(("kaiming", "lillicrap"))] = "kaiming"

    @property
    def schedules(self):
        return super().schedules | {"noise_steps": self.noise_share}

    def noise_at(self, steps):
        """Standard deviation of the noise after ``steps``."""
        return linear(steps, self.noise_start, self.noise_end, self.noise_steps)

    def learning_rates_at(self, steps):
        critic = self.learning_rate_at(steps)
        return critic, critic / self.learning_rate * self.actor_learning_rate


class DeterministicPolicy(Policy):
    """A policy whose actions are ``clip(mu(s) + noise, -1, 1)``, without noise if ``greedy``. The
    inputs of its critics are observation and action side by side.

    Gaussian noise is ``d N(0, 1)``, with d the deviation at present (``noise_at``).
    Ornstein-Uhlenbeck noise is ``x <- (1 - theta) x + d sqrt(1 - (1 - theta)^2) N(0, 1)`` in each
    environment, and 0 at the start of an episode; d is its deviation in the long run. (In
    Lillicrap et al., 2016, 7, theta is 0.15 and the factor of the normal number 0.2, so d = 0.38.
    In stable-baselines3 a step takes the time dt, and theta here is their theta times dt.)
    """

    ACTS, CRITICS = "actor", ("critic",)

    def __init__(self, config, spec, **seeds):
        super().__init__(config, spec, **seeds)
        self._wandering = np.zeros((0, spec.action_count))

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

    def exploration_at(self, steps):
        return self.config.noise_at(steps)

    def choose(self, outputs, *, greedy=False, steps=0):
        if greedy:
            return outputs
        noise = self.rng.normal(0, self.config.noise_at(steps), outputs.shape)
        if self.config.noise == "ornstein_uhlenbeck":
            noise = self._wandered(noise)
        return np.clip(outputs + noise.astype(np.float32), -1, 1)

    def _wandered(self, noise):
        if self._wandering.shape != noise.shape:
            self._wandering = np.zeros(noise.shape)
        kept = 1 - self.config.noise_theta
        self._wandering = kept * self._wandering + (1 - kept**2) ** 0.5 * noise
        return self._wandering

    def ended(self, which):
        if self._wandering.shape[0] == len(which):
            self._wandering[which] = 0

    def state_dict(self):
        return super().state_dict() | {"wandering": self._wandering.copy()}

    def load_state_dict(self, state):
        """Continues a saved state, in new episodes."""
        super().load_state_dict(state)
        self._wandering = np.zeros_like(state["wandering"])


def beside(obs, action):
    """A critic's input: the tensors ``obs`` [rows, size] and ``action`` [rows, action_count] side
    by side, [rows, size + action_count]."""
    return torch.cat([obs, action], 1)


def larger(one, two):
    """``max(|one|, |two|)`` of two critics' TD errors, tensors [rows], from which priorities
    follow, as in LAP (Fujimoto et al., An Equivalence between Loss Functions and Non-Uniform
    Sampling, 2020). The mean of two errors with different signs could be near 0."""
    return torch.maximum(one.abs(), two.abs())

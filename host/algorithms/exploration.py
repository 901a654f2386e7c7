"""How policies explore: random actions with a chance epsilon, and noise on continuous actions."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from host.algorithms.config import SCHEDULE, LearningConfig, linear
from host.rules import FRACTION, Choice, Number

__all__ = ["EpsilonConfig", "Noise", "NoiseConfig", "epsilon_greedy"]

_DEVIATION = Number("in [0, 10]", lambda x: 0 <= x <= 10)


@dataclass(frozen=True, kw_only=True)
class EpsilonConfig(LearningConfig):
    """Hyperparameters of ``epsilon_greedy``."""

    #: Chance of a random action at first.
    epsilon_start: Annotated[float, FRACTION] = 1.0
    #: Chance of a random action after ``epsilon_steps``.
    epsilon_end: Annotated[float, FRACTION] = 0.05
    #: Environment steps from ``epsilon_start`` to ``epsilon_end``; None: ``epsilon_share`` of the
    #: run.
    epsilon_steps: Annotated[int | None, SCHEDULE] = None
    #: Share of the run for which ``epsilon_steps`` None stands.
    epsilon_share: Annotated[float, FRACTION] = 0.05

    @property
    def schedules(self):
        return super().schedules | {"epsilon_steps": self.epsilon_share}

    def epsilon_at(self, steps):
        """Chance of a random action after ``steps``."""
        return linear(steps, self.epsilon_start, self.epsilon_end, self.epsilon_steps)


def epsilon_greedy(actions, epsilon, spec, rng):
    """``actions`` [rows], integers from 0, each replaced with chance ``epsilon`` by any action of a
    Spec with discrete actions; ``rng`` is a numpy.random.Generator."""
    explore = rng.random(len(actions)) < epsilon
    random = rng.integers(spec.action_count, size=len(actions))
    return np.where(explore, random, actions)


@dataclass(frozen=True, kw_only=True)
class NoiseConfig(LearningConfig):
    """Hyperparameters of ``Noise``."""

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
    #: (``Noise``).
    noise: Annotated[str, Choice(("gaussian", "ornstein_uhlenbeck"))] = "gaussian"
    #: ornstein_uhlenbeck: share by which the noise decays in a step.
    noise_theta: Annotated[float, Number("in (0, 1]", lambda x: 0 < x <= 1)] = 0.15

    @property
    def schedules(self):
        return super().schedules | {"noise_steps": self.noise_share}

    def noise_at(self, steps):
        """Standard deviation of the noise after ``steps``."""
        return linear(steps, self.noise_start, self.noise_end, self.noise_steps)


class Noise:
    """Noise on continuous actions in [-1, 1].

    Gaussian noise is ``d N(0, 1)``, with d the deviation at present (``noise_at``).
    Ornstein-Uhlenbeck noise is ``x <- (1 - theta) x + d sqrt(1 - (1 - theta)^2) N(0, 1)`` in each
    environment, and 0 at the start of an episode; d is its deviation in the long run. (In
    Lillicrap et al., 2016, 7, theta is 0.15 and the factor of the normal number 0.2, so d = 0.38.
    In stable-baselines3 a step takes the time dt, and theta here is their theta times dt.)

    config : a config with the fields of NoiseConfig
    """

    def __init__(self, config):
        self._config, self._wandering = config, np.zeros((0, 0))

    def added(self, actions, steps, rng):
        """``clip(actions + noise, -1, 1)`` for ``actions`` [rows, components] after ``steps``
        environment steps; ``rng`` is a numpy.random.Generator."""
        noise = rng.normal(0, self._config.noise_at(steps), actions.shape)
        if self._config.noise == "ornstein_uhlenbeck":
            noise = self._wandered(noise)
        return np.clip(actions + noise.astype(np.float32), -1, 1)

    def _wandered(self, noise):
        if self._wandering.shape != noise.shape:
            self._wandering = np.zeros(noise.shape)
        kept = 1 - self._config.noise_theta
        self._wandering = kept * self._wandering + (1 - kept**2) ** 0.5 * noise
        return self._wandering

    def ended(self, which):
        """As ``Policy.ended``."""
        if self._wandering.shape[0] == len(which):
            self._wandering[which] = 0

    def state_dict(self):
        return {"wandering": self._wandering.copy()}

    def load_state_dict(self, state):
        """Continues a saved state, in new episodes."""
        self._wandering = np.zeros_like(state["wandering"])

"""The hyperparameters of DDPG, where they are not those of every agent; the defaults solve
Pendulum-v1."""

from dataclasses import dataclass
from typing import Annotated

from host.algorithms.agent_config import SCHEDULE, TemporalDifferenceConfig
from host.algorithms.schedule import Linear
from host.rules import POSITIVE, Number

__all__ = ["DDPGConfig"]

_DEVIATION = Number("in [0, 10]", lambda x: 0 <= x <= 10)


@dataclass(frozen=True, kw_only=True)
class DDPGConfig(TemporalDifferenceConfig):
    """Deep deterministic policy gradient (Lillicrap et al., 2016).

    ``y = r + discount Q'(s', mu'(s'))``, ``td = y - Q(s, a)``; the actor ascends
    ``mean Q(s, mu(s))``. ``Q'`` and ``mu'`` are the target networks; the discount is 0 where the
    episode terminated. Actions are ``clip(mu(s) + noise, -1, 1)``.
    """

    hidden: tuple = (64, 64)
    n_step: int = 3
    gamma: float = 0.98
    reward_scale: float = 0.1
    #: Step size of the critic.
    learning_rate: float = 4e-3
    #: Step size of the actor; falls in proportion to the critic's.
    actor_learning_rate: Annotated[float, POSITIVE] = 2e-3
    max_gradient_norm: float | None = None
    target_interval: int = 1
    target_tau: float = 0.02
    beta_steps: int = 20_000
    #: Standard deviation of the Gaussian noise on each component of an action, which is in [-1, 1],
    #: at first.
    noise_start: Annotated[float, _DEVIATION] = 1.0
    #: Standard deviation of the noise from ``noise_steps`` on.
    noise_end: Annotated[float, _DEVIATION] = 0.1
    #: Environment steps from ``noise_start`` to ``noise_end``.
    noise_steps: Annotated[int, SCHEDULE] = 5_000

    @property
    def noise(self):
        return Linear(start=self.noise_start, end=self.noise_end, steps=self.noise_steps)

"""The hyperparameters of DDPG, where they are not those of every agent; the defaults solve
Pendulum-v1."""

from dataclasses import dataclass

from host.agents.agent_config import TemporalDifferenceConfig, check_number, check_positive
from host.agents.schedule import Linear
from hw.config import check_range

__all__ = ["DDPGConfig"]


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
    actor_learning_rate: float = 2e-3
    max_gradient_norm: float | None = None
    target_interval: int = 1
    target_tau: float = 0.02
    beta_steps: int = 20_000
    #: Standard deviation of the Gaussian noise on each component of an action, which is in [-1, 1],
    #: at first and from ``noise_steps`` on.
    noise_start: float = 1.0
    noise_end: float = 0.1
    noise_steps: int = 5_000

    def __post_init__(self):
        super().__post_init__()
        check_positive("actor_learning_rate", self.actor_learning_rate)
        check_range("noise_steps", self.noise_steps, 0, 1 << 40)
        for name in ("noise_start", "noise_end"):
            check_number(name, getattr(self, name), "in [0, 10]", lambda x: 0 <= x <= 10)

    @property
    def noise(self):
        return Linear(start=self.noise_start, end=self.noise_end, steps=self.noise_steps)

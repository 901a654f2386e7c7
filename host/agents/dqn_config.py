"""The hyperparameters of DQN alone; the defaults solve CartPole-v1."""

from dataclasses import dataclass

from host.agents.agent_config import TemporalDifferenceConfig, check_number
from host.agents.schedule import Linear
from hw.config import check_range

__all__ = ["DQNConfig"]


@dataclass(frozen=True, kw_only=True)
class DQNConfig(TemporalDifferenceConfig):
    """Deep Q-learning.

    ``y = r + discount Q'(s', a*)``, ``td = y - Q(s, a)``, with ``Q'`` the target network and
    ``a* = argmax Q`` (``double``; van Hasselt et al., 2016) or ``argmax Q'``; the discount is 0
    where the episode terminated.
    """

    #: Value and advantage streams (Wang et al., 2016).
    dueling: bool = False
    #: The online network picks the next action, the target network values it.
    double: bool = True
    #: Chance of a random action, at first and from ``epsilon_steps`` on.
    epsilon_start: float = 1.0
    epsilon_end: float = 0.05
    epsilon_steps: int = 10_000

    def __post_init__(self):
        super().__post_init__()
        if self.dueling and not self.hidden:
            raise ValueError(f"hidden must have a layer when dueling, not {self.hidden!r}")
        check_range("epsilon_steps", self.epsilon_steps, 0, 1 << 40)
        for name in ("epsilon_start", "epsilon_end"):
            check_number(name, getattr(self, name), "in [0, 1]", lambda x: 0 <= x <= 1)

    @property
    def epsilon(self):
        return Linear(start=self.epsilon_start, end=self.epsilon_end, steps=self.epsilon_steps)

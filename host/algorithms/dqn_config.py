"""The hyperparameters of DQN alone; the defaults solve CartPole-v1."""

from dataclasses import dataclass
from typing import Annotated

from host.algorithms.agent_config import SCHEDULE, TemporalDifferenceConfig
from host.algorithms.schedule import Linear
from host.rules import FRACTION, Flag

__all__ = ["DQNConfig"]


@dataclass(frozen=True, kw_only=True)
class DQNConfig(TemporalDifferenceConfig):
    """Deep Q-learning.

    ``y = r + discount Q'(s', a*)``, ``td = y - Q(s, a)``, with ``Q'`` the target network and
    ``a* = argmax Q`` (``double``; van Hasselt et al., 2016) or ``argmax Q'``; the discount is 0
    where the episode terminated.
    """

    #: Value and advantage streams (Wang et al., 2016).
    dueling: Annotated[bool, Flag()] = False
    #: The online network picks the next action, the target network values it.
    double: Annotated[bool, Flag()] = True
    #: Chance of a random action at first.
    epsilon_start: Annotated[float, FRACTION] = 1.0
    #: Chance of a random action from ``epsilon_steps`` on.
    epsilon_end: Annotated[float, FRACTION] = 0.05
    #: Environment steps from ``epsilon_start`` to ``epsilon_end``.
    epsilon_steps: Annotated[int, SCHEDULE] = 10_000

    def __post_init__(self):
        super().__post_init__()
        if self.dueling and not self.hidden:
            raise ValueError(f"hidden must have a layer when dueling, not {self.hidden!r}")

    @property
    def epsilon(self):
        return Linear(start=self.epsilon_start, end=self.epsilon_end, steps=self.epsilon_steps)

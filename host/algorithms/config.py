"""Hyperparameters of agents, with their reasons and rules; the clock that their schedules go by."""

from dataclasses import dataclass, field, replace
from typing import Annotated

from host.algorithms.network import ACTIVATIONS
from host.rules import FRACTION, NOT_NEGATIVE, POSITIVE, Choice, Integer, Number, check_fields
from hw.config import ConfigBase, check_range

__all__ = ["SCHEDULE", "AgentConfig", "Clock", "TemporalDifferenceConfig", "linear"]

#: length of a schedule
SCHEDULE = Integer(0, 1 << 40)
_DECAY = Number("in [0, 1)", lambda x: 0 <= x < 1)


@dataclass
class Clock:
    """How far a training is: environment steps taken, all actors together, and gradient steps.

    ``launched`` are the steps that had been taken when the launch under way began. Step sizes go by
    it, so that one that falls to 0 is not 0 in the last launch. ``total`` are the steps that the
    schedules were made for (``AgentConfig.in_run``), 0 where there is no run.
    """

    steps: int = 0
    updates: int = 0
    launched: int = field(default=0, compare=False)
    total: int = field(default=0, compare=False)


def linear(step, start, end, steps):
    """``start + (end - start) min(1, step / steps)``; ``end`` at once where steps is 0, ``start``
    always where it is None."""
    if steps is None:
        return start
    return end if step >= steps else start + (end - start) * step / steps


@dataclass(frozen=True, kw_only=True)
class AgentConfig(ConfigBase):
    """What every agent has. Lengths of schedules are in environment steps, all actors together.

    A schedule is a method of a number of environment steps. One whose length is None is as long as
    the run, or has a share of it: ``in_run`` says how many steps that are. Without a run it stays
    where it starts.
    """

    #: Width of each hidden layer, 1 to 65536; on the card 1 to 4 layers of 1 to 512.
    hidden: tuple = (256, 256)
    #: Activation of the hidden layers.
    activation: Annotated[str, Choice(tuple(ACTIVATIONS))] = "relu"
    #: Discount per environment step.
    gamma: Annotated[float, FRACTION] = 0.99
    #: Experiences that a gradient step learns from.
    batch_size: Annotated[int, Integer(1, 1 << 16)] = 64
    #: Step size.
    learning_rate: Annotated[float, POSITIVE] = 2e-3
    #: Step size that ``learning_rate`` falls to over ``learning_rate_steps``; None: constant.
    learning_rate_final: Annotated[float | None, NOT_NEGATIVE] = None
    #: Environment steps from ``learning_rate`` to ``learning_rate_final``; None: all of the run's.
    learning_rate_steps: Annotated[int | None, SCHEDULE] = None
    #: Adam and RMSProp: added to the root.
    optimizer_epsilon: Annotated[float, POSITIVE] = 1e-8
    #: Norm that a whole gradient is scaled down to; None: no limit.
    max_gradient_norm: Annotated[float | None, POSITIVE] = 10.0

    def __post_init__(self):
        object.__setattr__(self, "hidden", tuple(self.hidden))
        for width in self.hidden:
            check_range("hidden", width, 1, 1 << 16)
        check_fields(self)

    @property
    def schedules(self):
        """Field of a schedule's length -> share of the run that it has where it is None."""
        return {"learning_rate_steps": 1.0}

    def in_run(self, steps):
        """This config in a run of ``steps``: every schedule has a length."""
        lengths = {name: int(share * steps) for name, share in self.schedules.items()}
        known = {name: getattr(self, name) for name in lengths}
        return replace(self, **{name: n for name, n in lengths.items() if known[name] is None})

    @property
    def learns_until(self):
        """Environment steps after which the step size stays 0; None: it never does."""
        return self.learning_rate_steps if self.learning_rate_final == 0 else None

    def learning_rate_at(self, steps):
        """Step size after ``steps``."""
        final = self.learning_rate if self.learning_rate_final is None else self.learning_rate_final
        return linear(steps, self.learning_rate, final, self.learning_rate_steps)


@dataclass(frozen=True, kw_only=True)
class TemporalDifferenceConfig(AgentConfig):
    """Learning from prioritized n-step experiences; the defaults are DQN's."""

    #: Steps of reward summed before bootstrapping.
    n_step: Annotated[int, Integer(1, 1000)] = 5
    #: What rewards are multiplied by before they are stored: values of the order of 1 suit Huber's
    #: loss, and the formats of a fixed-point learner.
    reward_scale: Annotated[float, POSITIVE] = 1.0
    #: Magnitude that the reward of a step is cut down to before it is scaled and stored, for
    #: training alone: returns that are reported are the environment's; None: none.
    reward_clip: Annotated[float | None, POSITIVE] = None
    #: Rule of the gradient steps.
    optimizer: Annotated[str, Choice(("adam", "rmsprop", "sgd"))] = "adam"
    #: Adam: decay of the mean.
    beta1: Annotated[float, _DECAY] = 0.9
    #: Adam: decay of the square.
    beta2: Annotated[float, _DECAY] = 0.999
    #: RMSProp: decay of the square.
    decay: Annotated[float, _DECAY] = 0.99
    #: SGD: momentum.
    momentum: Annotated[float, _DECAY] = 0.0
    #: Loss of the TD errors.
    loss: Annotated[str, Choice(("huber", "squared"))] = "huber"
    #: Where Huber's loss becomes linear.
    huber_delta: Annotated[float, POSITIVE] = 1.0
    #: Learner iterations between synchronizations of the target networks.
    target_interval: Annotated[int, Integer(1, 1 << 31)] = 20
    #: Share of the online network taken over in a synchronization: 1 is a copy (hard), less is
    #: soft.
    target_tau: Annotated[float, Number("in (0, 1]", lambda x: 0 < x <= 1)] = 1.0
    #: Exponent of the importance weights at first.
    beta_start: Annotated[float, FRACTION] = 0.4
    #: Exponent of the importance weights after ``beta_steps``.
    beta_end: Annotated[float, FRACTION] = 1.0
    #: Environment steps from ``beta_start`` to ``beta_end``; None: all of the run's.
    beta_steps: Annotated[int | None, SCHEDULE] = None

    @property
    def schedules(self):
        return super().schedules | {"beta_steps": 1.0}

    def beta_at(self, steps):
        """Exponent of the importance weights after ``steps``."""
        return linear(steps, self.beta_start, self.beta_end, self.beta_steps)

    def learning_rates_at(self, steps):
        """Step size of each network after ``steps``, in the order that a learner on the card has
        them; one stands for all."""
        return (self.learning_rate_at(steps),)

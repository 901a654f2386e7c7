"""Hyperparameters of agents with their rules, and the clock on which their schedules depend."""

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import Annotated, NamedTuple

from host.algorithms.activation import ACTIVATIONS
from host.rules import FRACTION, NOT_NEGATIVE, POSITIVE, Choice, Integer, Number, check_fields
from hw.config import ConfigBase, check_range, freeze_lists

__all__ = ["LOSSES", "SCHEDULE", "AgentConfig", "Clock", "LearningConfig", "ReplayConfig"]
__all__ += ["TemporalDifferenceConfig", "linear"]

#: length of a schedule
SCHEDULE = Integer(0, 1 << 40)
_DECAY = Number("in [0, 1)", lambda x: 0 <= x < 1)


@dataclass
class Clock:
    """How far a training has come: ``steps``, environment steps of all actors together, and
    ``updates``, gradient steps.

    ``launched`` is the value of ``steps`` when the present iteration began. Step sizes depend on
    it, so that a step size that falls to 0 is not yet 0 in the last launch. ``total`` is the number
    of environment steps for which the schedules were made (``LearningConfig.in_run``), 0 without a
    run.
    """

    steps: int = 0
    updates: int = 0
    launched: int = field(default=0, compare=False)
    total: int = field(default=0, compare=False)


def linear(step, start, end, steps):
    """A linear schedule: ``start + (end - start) min(1, step / steps)``. If ``steps`` is 0, always
    ``end``; if ``steps`` is None, always ``start``."""
    if steps is None:
        return start
    return end if step >= steps else start + (end - start) * step / steps


@dataclass(frozen=True, kw_only=True)
class LearningConfig(ConfigBase):
    """Hyperparameters of every learning. Lengths of schedules are environment steps of all actors
    together.

    A schedule is a method, such as ``learning_rate_at``, whose argument is a number of environment
    steps. If the field with its length is None, the schedule lasts for the whole run or for a share
    of it, which ``in_run`` converts to steps; in a config without a run it keeps its first value.
    """

    #: Discount per environment step.
    gamma: Annotated[float, FRACTION] = 0.99
    #: Experiences from which a gradient step learns.
    batch_size: Annotated[int, Integer(1, 1 << 16)] = 64

    def __post_init__(self):
        freeze_lists(self, *(each.name for each in fields(self)))
        check_fields(self)

    @property
    def schedules(self):
        """A dict: name of a field with a schedule's length -> the share of the run, in 0..1, for
        which this field's None stands."""
        return {}

    def in_run(self, steps):
        """This config for a run of ``steps`` environment steps: each length of a schedule that is
        None is replaced by its share of the run."""
        lengths = {name: int(share * steps) for name, share in self.schedules.items()}
        known = {name: getattr(self, name) for name in lengths}
        return replace(self, **{name: n for name, n in lengths.items() if known[name] is None})

    @property
    def learns_until(self):
        """Number of environment steps after which the step size stays 0; None if it never does."""

    def learning_rate_at(self, steps):
        """Step size after ``steps``; None if it is not the config's."""


@dataclass(frozen=True, kw_only=True)
class AgentConfig(LearningConfig):
    """Hyperparameters of every agent: its networks, and how they learn."""

    #: Width of each hidden layer, 1 to 65536; on the card 1 to 4 layers of 1 to 512.
    hidden: tuple = (256, 256)
    #: Activation of the hidden layers.
    activation: Annotated[str, Choice(tuple(ACTIVATIONS))] = "relu"
    #: Step size.
    learning_rate: Annotated[float, POSITIVE] = 2e-3
    #: Step size after ``learning_rate_steps``; None: ``learning_rate`` is constant.
    learning_rate_final: Annotated[float | None, NOT_NEGATIVE] = None
    #: Environment steps from ``learning_rate`` to ``learning_rate_final``; None: the whole run.
    learning_rate_steps: Annotated[int | None, SCHEDULE] = None
    #: Adam and RMSProp: number that is added to the root.
    optimizer_epsilon: Annotated[float, POSITIVE] = 1e-8
    #: Largest norm of a whole gradient, to which a larger one is scaled down; None: no limit.
    max_gradient_norm: Annotated[float | None, POSITIVE] = 10.0

    def __post_init__(self):
        object.__setattr__(self, "hidden", tuple(self.hidden))
        for width in self.hidden:
            check_range("hidden", width, 1, 1 << 16)
        super().__post_init__()

    @property
    def schedules(self):
        return super().schedules | {"learning_rate_steps": 1.0}

    @property
    def learns_until(self):
        return self.learning_rate_steps if self.learning_rate_final == 0 else None

    def learning_rate_at(self, steps):
        final = self.learning_rate if self.learning_rate_final is None else self.learning_rate_final
        return linear(steps, self.learning_rate, final, self.learning_rate_steps)


@dataclass(frozen=True, kw_only=True)
class ReplayConfig(LearningConfig):
    """Prioritized n-step experiences of a replay memory."""

    #: Steps of reward summed before bootstrapping.
    n_step: Annotated[int, Integer(1, 1000)] = 5
    #: Factor of rewards before they are stored: values of the order of 1 suit Huber's loss and the
    #: formats of a fixed-point learner.
    reward_scale: Annotated[float, POSITIVE] = 1.0
    #: Largest magnitude of a step's reward in training, before it is scaled and stored; a larger
    #: reward is clipped, but returns are reported without clipping. None: no limit.
    reward_clip: Annotated[float | None, POSITIVE] = None
    #: Exponent of the importance weights at first.
    beta_start: Annotated[float, FRACTION] = 0.4
    #: Exponent of the importance weights after ``beta_steps``.
    beta_end: Annotated[float, FRACTION] = 1.0
    #: Environment steps from ``beta_start`` to ``beta_end``; None: the whole run.
    beta_steps: Annotated[int | None, SCHEDULE] = None

    @property
    def schedules(self):
        return super().schedules | {"beta_steps": 1.0}

    def beta_at(self, steps):
        """Exponent of the importance weights after ``steps``."""
        return linear(steps, self.beta_start, self.beta_end, self.beta_steps)


class Loss(NamedTuple):
    """A loss of TD errors.

    mean : callable
        ``mean(torch, td, weights, delta)`` returns ``mean(weights f(td))`` of tensors [rows], f
        being the loss; ``delta`` is ``huber_delta``, ``torch`` the module.
    scale : int
        The loss divided by the card's.
    limited : bool
        Whether the card limits TD errors to ``huber_delta`` in the gradient.
    """

    mean: Callable
    scale: int = 1
    limited: bool = False


def _huber(torch, td, weights, delta):
    zero = torch.zeros_like(td)
    loss = torch.nn.functional.huber_loss(td, zero, reduction="none", delta=delta)
    return (weights * loss).mean()


def _square(factor):
    return lambda torch, td, weights, delta: (weights * td * td).mean() * factor


#: Name -> Loss, for configs; with squared as Schaul et al., Prioritized Experience Replay, 3.4.
LOSSES = {
    "huber": Loss(_huber, limited=True),
    "squared": Loss(_square(0.5)),
    "mse": Loss(_square(1.0), scale=2),
}


@dataclass(frozen=True, kw_only=True)
class TemporalDifferenceConfig(ReplayConfig, AgentConfig):
    """Learning from prioritized n-step experiences; the defaults are DQN's."""

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
    #: Loss of the TD errors: Huber's, half of the square, or the square.
    loss: Annotated[str, Choice(tuple(LOSSES))] = "huber"
    #: TD error at which Huber's loss becomes linear.
    huber_delta: Annotated[float, POSITIVE] = 1.0
    #: Learner iterations between synchronizations of the target networks.
    target_interval: Annotated[int, Integer(1, 1 << 31)] = 20
    #: Share of the online network in the target after a synchronization: 1 is a copy (hard
    #: update), less is a soft update.
    target_tau: Annotated[float, Number("in (0, 1]", lambda x: 0 < x <= 1)] = 1.0

    @property
    def loss_scale(self):
        """The loss divided by the card's: 2 with mse, which is twice squared, else 1."""
        return LOSSES[self.loss].scale

    def learning_rates_at(self, steps):
        """A tuple with the step size of each network after ``steps`` environment steps, in the
        order of the policy's networks. If it has one number, this holds for all networks."""
        return (self.learning_rate_at(steps),)

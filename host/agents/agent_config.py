"""Hyperparameters of agents, with their reasons, and the checks of a field."""

from dataclasses import dataclass

from host.agents.loss import LOSSES
from host.agents.network import ACTIVATIONS
from host.agents.optimizer import OPTIMIZERS, SGD, Adam, RMSProp
from host.agents.schedule import Linear
from hw.config import ConfigBase, check_range

__all__ = [
    "AgentConfig",
    "TemporalDifferenceConfig",
    "check_choice",
    "check_number",
    "check_positive",
]


def check_number(name, value, rule, holds):
    """Raise ``ValueError("<name> must be <rule>, not value")`` unless value is a number and
    ``holds(value)``."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not holds(value):
        raise ValueError(f"{name} must be {rule}, not {value!r}")


def check_positive(name, value):
    """Raise ``ValueError`` unless value is a positive, finite number."""
    check_number(name, value, "positive and finite", lambda x: 0 < x < float("inf"))


def check_choice(name, value, choices):
    """Raise ``ValueError`` unless value is one of the named choices."""
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(choices)}, not {value!r}")


@dataclass(frozen=True, kw_only=True)
class AgentConfig(ConfigBase):
    """What every agent has. Lengths of schedules are in environment steps, all actors together."""

    #: Width of each hidden layer.
    hidden: tuple = (256, 256)
    #: Activation of the hidden layers: relu or tanh.
    activation: str = "relu"
    #: Discount per environment step.
    gamma: float = 0.99
    #: Experiences that a gradient step learns from.
    batch_size: int = 64
    #: Step size.
    learning_rate: float = 2e-3
    #: Step size that ``learning_rate`` falls to over ``learning_rate_steps``; None: constant.
    learning_rate_final: float | None = None
    #: Length of the learning rate's schedule.
    learning_rate_steps: int = 50_000
    #: Adam and RMSProp: added to the root.
    optimizer_epsilon: float = 1e-8
    #: Norm that a whole gradient is scaled down to; None: no limit.
    max_gradient_norm: float | None = 10.0

    def __post_init__(self):
        object.__setattr__(self, "hidden", tuple(self.hidden))
        for width in self.hidden:
            check_range("hidden", width, 1, 1 << 16)
        check_choice("activation", self.activation, ACTIVATIONS)
        check_number("gamma", self.gamma, "in [0, 1]", lambda x: 0 <= x <= 1)
        check_range("batch_size", self.batch_size, 1, 1 << 16)
        check_range("learning_rate_steps", self.learning_rate_steps, 0, 1 << 40)
        for name in ("learning_rate", "optimizer_epsilon"):
            check_positive(name, getattr(self, name))
        for name in ("learning_rate_final", "max_gradient_norm"):
            if getattr(self, name) is not None:
                check_positive(name, getattr(self, name))

    @property
    def learning_rate_schedule(self):
        final = self.learning_rate if self.learning_rate_final is None else self.learning_rate_final
        return Linear(start=self.learning_rate, end=final, steps=self.learning_rate_steps)


@dataclass(frozen=True, kw_only=True)
class TemporalDifferenceConfig(AgentConfig):
    """Learning from prioritized n-step experiences; the defaults are DQN's."""

    #: Steps of reward summed before bootstrapping.
    n_step: int = 5
    #: What rewards are multiplied by before they are stored: values of the order of 1 suit Huber's
    #: loss, and the formats of a fixed-point learner.
    reward_scale: float = 1.0
    #: adam, rmsprop or sgd.
    optimizer: str = "adam"
    #: Adam: decay of the mean and of the square.
    beta1: float = 0.9
    beta2: float = 0.999
    #: RMSProp: decay of the square.
    decay: float = 0.99
    #: SGD: momentum.
    momentum: float = 0.0
    #: huber or squared.
    loss: str = "huber"
    #: Where Huber's loss becomes linear.
    huber_delta: float = 1.0
    #: Learner iterations between synchronizations of the target networks.
    target_interval: int = 20
    #: Share of the online network taken over in one: 1 is a copy (hard), less is soft.
    target_tau: float = 1.0
    #: Exponent of the importance weights, at first and from ``beta_steps`` on.
    beta_start: float = 0.4
    beta_end: float = 1.0
    beta_steps: int = 50_000

    def __post_init__(self):
        super().__post_init__()
        check_choice("optimizer", self.optimizer, OPTIMIZERS)
        check_choice("loss", self.loss, LOSSES)
        check_range("n_step", self.n_step, 1, 1000)
        check_range("target_interval", self.target_interval, 1, 1 << 31)
        check_range("beta_steps", self.beta_steps, 0, 1 << 40)
        for name in ("huber_delta", "reward_scale"):
            check_positive(name, getattr(self, name))
        for name in ("beta1", "beta2", "decay", "momentum"):
            check_number(name, getattr(self, name), "in [0, 1)", lambda x: 0 <= x < 1)
        for name in ("beta_start", "beta_end"):
            check_number(name, getattr(self, name), "in [0, 1]", lambda x: 0 <= x <= 1)
        check_number("target_tau", self.target_tau, "in (0, 1]", lambda x: 0 < x <= 1)

    @property
    def beta(self):
        return Linear(start=self.beta_start, end=self.beta_end, steps=self.beta_steps)

    def make_optimizer(self, parameters):
        """The configured rule on a flat parameter vector."""
        if self.optimizer == "adam":
            return Adam(
                parameters, beta1=self.beta1, beta2=self.beta2, epsilon=self.optimizer_epsilon
            )
        if self.optimizer == "rmsprop":
            return RMSProp(parameters, decay=self.decay, epsilon=self.optimizer_epsilon)
        return SGD(parameters, momentum=self.momentum)

"""The learner of one agent: its networks, their layers mapped to chains of PEs."""

from dataclasses import dataclass, fields
from functools import cached_property
from itertools import pairwise

from hw.arith.arithmetic import Arithmetic
from hw.config import ConfigBase, check_flag, check_range, freeze_lists
from hw.errors import UsageError
from hw.learner.algorithms.algorithm import in_order
from hw.learner.algorithms.registry import ALGORITHMS, algorithm_of
from hw.learner.chain.config import MAX_WIDTH, LayerConfig, fit
from hw.nn.activation import ACTIVATIONS

__all__ = ["PARAMETER_SETS", "LearnerConfig"]

#: What a parameter has: itself, its target's, and the optimizer's first and second moment.
PARAMETER_SETS = ("online", "target", "first", "second")


@dataclass(frozen=True, kw_only=True)
class LearnerConfig(ConfigBase):
    """The learner of one agent: its networks, how they are unrolled, its optimizer, its arithmetic.

    algorithm : "dqn" (one network of Q values) or "ddpg" (a critic and an actor), or another of
    ``hw.learner.algorithms``.
    observation, action : numbers of an observation and of an action. Where actions are discrete, as
    of dqn, ``action`` is how many there are.
    hidden : widths of 1 to 4 hidden layers, for all networks.
    hidden_activation : the activation of those layers; the output layer's is the algorithm's.
    batch : largest batch, a multiple of lanes.
    lanes : DP, samples side by side in every stage (CF'22 3.2.2).
    multipliers : the most multipliers that a lane has for the largest layer (PEs of a tensor unit);
    the other layers get only as many as they need to be as fast.
    update_units : the most PEs that are updated at the same time, in each layer.
    double : dqn alone: the online network chooses the next action (double DQN).
    optimizer : "sgd" (with momentum), "rmsprop" or "adam".
    arithmetic : of weights, activations and gradients; its kind is "float32" or "fixed".
    """

    algorithm: str = "dqn"
    observation: int = 4
    action: int = 2
    hidden: tuple = (64, 64)
    hidden_activation: str = "relu"
    batch: int = 64
    lanes: int = 1
    multipliers: int = 32
    update_units: int = 4
    double: bool = True
    optimizer: str = "adam"
    arithmetic: Arithmetic = Arithmetic()

    #: Whether actions and discounts of experiences have limits: ``hw.learner.records.word_rules``.
    bounded = False

    def __post_init__(self):
        freeze_lists(self, "hidden")
        for name, choices in (
            ("algorithm", tuple(ALGORITHMS)),
            ("hidden_activation", tuple(ACTIVATIONS)),
        ):
            if getattr(self, name) not in choices:
                raise UsageError(
                    f"{name} must be one of {', '.join(choices)}, not {getattr(self, name)!r}"
                )
        check_range("observation", self.observation, 1, MAX_WIDTH)
        check_range("action", self.action, 1, 256)
        if not 1 <= len(self.hidden) <= 4:
            raise UsageError(f"hidden must be 1 to 4 widths, not {self.hidden!r}")
        for width in self.hidden:
            check_range("hidden", width, 1, MAX_WIDTH)
        self.layer_config  # noqa: B018, it checks what layers have in common
        check_range("multipliers", self.multipliers, 1, 1024)
        check_flag("double", self.double)
        algorithm_of(self).check(self)
        self.graph  # noqa: B018, it checks the algorithm's networks

    @cached_property
    def graph(self):
        """``{name: Network}``, in the order of the parameter image."""
        return algorithm_of(self).checked_networks(self)

    @property
    def last_network(self):
        """The Network whose outputs the loss takes."""
        return self.graph[in_order(self.graph)[-1]]

    @cached_property  # asked for in every launch
    def networks(self):
        """``{name: tuple of LayerShape}``, first layer to last, in the order of the parameter
        image: "q" for dqn, "critic" and "actor" for ddpg. Each layer has the fewest multipliers
        with which it is as fast as the largest layer can be."""
        plans = {}
        for name, network in self.graph.items():
            widths = (network.inputs, *self.hidden, network.outputs)
            activations = [self.hidden_activation] * len(self.hidden) + [network.activation]
            plans[name] = list(zip(pairwise(widths), activations, strict=True))
        (inputs, outputs), _ = max(
            (layer for plan in plans.values() for layer in plan), key=lambda x: x[0][0] * x[0][1]
        )
        options = dict(multipliers=self.multipliers, arithmetic=self.arithmetic)
        pace = fit(inputs, outputs, **options).cycles
        return {
            name: tuple(
                fit(i, o, activation=activation, cycles=pace, **options)
                for (i, o), activation in plan
            )
            for name, plan in plans.items()
        }

    @cached_property
    def layer_config(self):
        """The ``LayerConfig``: what the layers of all networks have in common."""
        names = (field.name for field in fields(LayerConfig))
        return LayerConfig(**{name: getattr(self, name) for name in names})

    @property
    def parameter_sets(self):
        """What LOAD and STORE can name, in the order of their bits."""
        return PARAMETER_SETS

    @property
    def interval(self):
        """Clocks from one sample to the next of the same lane: those of the slowest layer."""
        return max(layer.cycles for layers in self.networks.values() for layer in layers)

    @property
    def early_priorities(self):
        """Whether TD errors become priorities as they come, before all of the batch are there. So
        it is in fixed point, where no TD error of a legal experience is infinite or a NaN:
        rewards and discounts are below 2**100 (``hw.learner.records.word_rules``), and activations
        below 2**17."""
        return self.arithmetic.saturates

    @property
    def acts(self):
        """The name of the network whose outputs decide what the agent does."""
        return algorithm_of(self).acts

    @property
    def discrete(self):
        """Whether an action is a choice, an integer in 0..action - 1. If not, an action is a vector
        of ``action`` binary32 numbers."""
        return algorithm_of(self).discrete

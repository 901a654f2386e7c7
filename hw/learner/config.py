"""Configs of a learner, its networks cut into blocks, and of the kernel around it."""

from dataclasses import dataclass, fields, replace
from functools import cached_property

from hw.arith.arithmetic import Arithmetic
from hw.config import ConfigBase, check_flag, check_range, freeze_lists, later
from hw.errors import UsageError
from hw.learner.algorithms.registry import ALGORITHMS, algorithm_of
from hw.learner.block.config import BlockShape
from hw.learner.block.fit import NetworkWidths, check_words, fit, interleave_of
from hw.learner.block.layer_config import MAX_WIDTH, LayerConfig
from hw.learner.play.config import PlayConfig
from hw.learner.records import STEP, record_words
from hw.nn.activation import ACTIVATIONS
from hw.nn.td_loss import TdLoss
from hw.replay.config import ReplayConfig, ReplayKernelConfig
from hw.shell.axi import EngineConfig
from hw.suggest import written

__all__ = [
    "LOSS_UNITS",
    "MAX_HIDDEN",
    "PARAMETER_SETS",
    "LearnerConfig",
    "LearnerKernelConfig",
    "check_hidden",
    "stored_sets",
]

#: Hidden layers, at most.
MAX_HIDDEN = 4

#: How the loss is computed: a sample a clock, or a step at a time.
LOSS_UNITS = ("pipeline", "program")

#: What a parameter has: itself, its target's, and the optimizer's first and second moment.
PARAMETER_SETS = ("online", "target", "first", "second")


def stored_sets(config):
    """Those of ``PARAMETER_SETS`` that ``config.optimizer`` has: sgd lacks "second", rmsprop lacks
    "first"."""
    lacks = {"sgd": "second", "rmsprop": "first"}.get(config.optimizer)
    return tuple(parameter_set for parameter_set in PARAMETER_SETS if parameter_set != lacks)


def check_hidden(hidden, widest=MAX_WIDTH, *, where="", why="", name="hidden"):
    """ValueError unless ``hidden`` has 1 to ``MAX_HIDDEN`` widths, each in 1..``widest``. In the
    text, ``where`` follows both rules, and ``why`` the rule of a width; ``name`` is the field."""
    if not 1 <= len(hidden) <= MAX_HIDDEN:
        raise UsageError(f"{name} must be 1 to {MAX_HIDDEN} widths{where}, not {hidden!r}")
    for width in hidden:
        check_range(name, width, 1, widest, where + why)


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
    multipliers : the most multipliers that a lane has for a layer, for each data path; the largest
        layer gets as many as it can use, the others only as many as they need to be as fast.
    words : how many numbers of a sample go together between layers: of the inputs, and of the
        outputs of each layer. A layer has as many multipliers as the product of the numbers at both
        of its ends. Of several networks, a list for each, in the order of the parameter image
        ("critic", "actor"): (4, 8, 2), or ((4, 8, 1), (4, 8, 4)). None: the fastest with at most
        ``multipliers``, by ``fit``; else ``multipliers`` does not count.
    update_units : the most numbers of a layer that are updated in a clock, each by an optimizer of
        its own. Layers that need fewer to be as fast as the slowest of their network have fewer. 0:
        a network has one optimizer, and its layers update one after the other.
    double : dqn alone: the online network chooses the next action (double DQN).
    optimizer : "sgd" (with momentum), "rmsprop" or "adam".
    arithmetic : of weights, activations and gradients; its kind is "float32" or "fixed".
    clip_norm : whether each iteration has a ``max_norm`` (its record is then STEP): a gradient of a
        network whose norm is larger is scaled down to it.
    loss_unit : "pipeline", a sample a clock; or "program", the same bits by a multiplier and an
        adder (``hw.nn.td_program``): a quarter of the area, and a sample in 171 clocks.
    """

    algorithm: str = "dqn"
    observation: int = 4
    action: int = 2
    hidden: tuple = (64, 64)
    hidden_activation: str = "relu"
    batch: int = 64
    lanes: int = 1
    multipliers: int = 32
    words: tuple | None = None
    update_units: int = 8
    double: bool = True
    optimizer: str = "adam"
    arithmetic: Arithmetic = Arithmetic()
    clip_norm: bool = later(False)
    loss_unit: str = later("pipeline")

    #: Whether actions and discounts of experiences have limits: ``hw.learner.records.word_rules``.
    bounded = False

    def __post_init__(self):
        freeze_lists(self, "hidden", "words")
        words = self.words
        if isinstance(words, tuple) and len(words) == 1 and isinstance(words[0], tuple):
            # Of one network a list within a list is that list.
            object.__setattr__(self, "words", words[0])
        for name, choices in (
            ("algorithm", tuple(ALGORITHMS)),
            ("hidden_activation", tuple(ACTIVATIONS)),
            ("loss_unit", LOSS_UNITS),
        ):
            if getattr(self, name) not in choices:
                raise UsageError(
                    f"{name} must be one of {', '.join(choices)}, not {getattr(self, name)!r}"
                )
        check_range("observation", self.observation, 1, MAX_WIDTH)
        check_range("action", self.action, 1, 256)
        check_hidden(self.hidden)
        self.layer_config  # noqa: B018, it checks what layers have in common
        check_range("multipliers", self.multipliers, 1, 1024)
        check_flag("double", self.double)
        algorithm_of(self).check(self)
        self.plan  # noqa: B018, it checks the algorithm's plan
        if self.loss_unit == "program" and not self.has_loss_program:
            raise UsageError(
                f"loss_unit must be pipeline for {self.algorithm}, whose loss is not that of "
                "hw.nn.td_loss, not 'program'"
            )
        if self.words is not None:
            check_words(self._widths, self._given_words)

    @cached_property
    def plan(self):
        """The Plan of the algorithm's networks and passes."""
        return algorithm_of(self).checked_plan(self)

    @cached_property
    def _widths(self):
        """``{name: NetworkWidths}``, whose words are sought."""
        found = {}
        for name, network in self.plan.networks.items():
            link = self.plan.links[name]
            found[name] = NetworkWidths(
                widths=(network.inputs, *self.hidden, network.outputs),
                source=link.source if link else None,
                own=link.first if link else network.inputs,
            )
        return found

    @property
    def _given_words(self):
        """``words`` as ``{name: tuple}``."""
        names, words = [*self.plan.networks], self.words
        nested = isinstance(words, tuple) and all(isinstance(one, tuple) for one in words)
        each = words if words and nested else (words,)
        if len(each) != len(names) or not all(isinstance(one, tuple) for one in each):
            such = written([*self._fitted.values()])
            raise UsageError(
                f"words must be a list for each of {', '.join(names)}, such as {such}, not "
                f"{words!r}"
            )
        return dict(zip(names, each, strict=True))

    @property
    def _fitted(self):
        """Words with at most ``multipliers``, ``{name: tuple}``."""
        widths = tuple(self._widths.items())
        return fit(widths, multipliers=self.multipliers, arithmetic=self.arithmetic)

    @cached_property  # asked for in every launch
    def rates(self):
        """Which of each pair in HYPERPARAMETERS the networks take: a list of 0, 1 or both."""
        return sorted({network.rate for network in self.plan.networks.values()})

    @cached_property
    def alike(self):
        """The networks in tuples. In a tuple all optimizers have the same coefficients: the same
        rate, and no scale of their own from a limited norm or a shift of errors."""
        found = {}
        for name, network in self.plan.networks.items():
            own = self.plan.shift_of(name), name if self.clip_norm else None
            found.setdefault((network.rate, own), []).append(name)
        return tuple(map(tuple, found.values()))

    @cached_property  # as is this
    def networks(self):
        """``{name: tuple of BlockShape}``, first layer to last, in the order of the parameter
        image: "q" for dqn, "critic" and "actor" for ddpg."""
        words = self._fitted if self.words is None else self._given_words
        networks = {}
        for name, own in self._widths.items():
            last = self.plan.networks[name].activation
            activations = [self.hidden_activation] * len(self.hidden) + [last]
            layers = [
                self._layer(own, position, words[name], activation)
                for position, activation in enumerate(activations)
            ]
            layers[-1] = replace(layers[-1], free=self.plan.networks[name].free)
            slowest = max(layer.parts for layer in layers)
            networks[name] = tuple(layer.updated_in(slowest) for layer in layers)
        return networks

    def _layer(self, own, position, words, activation):
        taken, given = words[position : position + 2]
        inputs, outputs = own.widths[position : position + 2]
        shapes = own.input_words(position, taken), -(-outputs // given)
        return BlockShape(
            inputs=inputs,
            outputs=outputs,
            input_word=taken,
            output_word=given,
            interleave=interleave_of(self.arithmetic, *shapes),
            activation=activation,
            joined=0 if position or own.source is None else inputs - own.own,
            part=self.layer_config.part(taken * given),
        )

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
        """Clocks from one sample to the next of the same lane: those of the slowest layer, a clock
        for each of its blocks."""
        return max(layer.blocks for layers in self.networks.values() for layer in layers)

    @property
    def has_loss_program(self):
        """Whether each loss is ``TdLoss``, which has a program."""
        return all(rule.pipeline is TdLoss for rule in self.plan.losses)

    @property
    def step_record(self):
        """The Layout of the record that each iteration reads."""
        return STEP if self.clip_norm else algorithm_of(self).record

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
        return self.plan.passes[self.plan.acts].network

    @property
    def discrete(self):
        """Whether an action is a choice, an integer in 0..action - 1. If not, an action is a vector
        of ``action`` binary32 numbers."""
        return algorithm_of(self).discrete


@dataclass(frozen=True, kw_only=True)
class LearnerKernelConfig(ConfigBase):
    """The whole kernel ``dqn`` or ``ddpg``; the algorithm is the learner's. With environments in
    ``play`` it has PLAY."""

    replay: ReplayConfig = ReplayConfig()
    engine: EngineConfig = EngineConfig()
    learner: LearnerConfig = LearnerConfig()
    play: PlayConfig = later(PlayConfig())

    def __post_init__(self):
        self.replay_kernel  # noqa: B018 -- its rules are this kernel's too
        if self.learner.batch > self.replay.capacity:
            raise UsageError(
                f"batch must be at most the capacity ({self.replay.capacity}), "
                f"not {self.learner.batch!r}"
            )
        self.play.check(self.learner, self.replay.capacity)

    @property
    def replay_kernel(self):
        """Config of the replay core inside."""
        return ReplayKernelConfig(replay=self.replay, engine=self.engine)

    @property
    def fields(self):
        """``{name: (dtype, shape)}`` of the fields of an experience, in the order of
        ``record_words``: "<u4" for a discrete action, "<f4" for all others; ``()`` for a single
        number."""
        learner, fields = self.learner, {}
        for name, (_, count) in record_words(learner).items():
            discrete = name == "action" and learner.discrete
            scalar = discrete or name in ("reward", "discount")
            fields[name] = ("<u4" if discrete else "<f4", () if scalar else (count,))
        return fields

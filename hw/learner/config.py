"""Sizes of the learner: layers mapped to chains of PEs, and every width that follows.

The unroll factor (CF'22 3.2.3, PEARL VI-A) of a layer is ``vector * length`` multipliers a lane.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from hw.arith.arithmetic import Arithmetic
from hw.config import ConfigBase, check_range

__all__ = [
    "ACTIVATIONS",
    "ALGORITHMS",
    "PARAMETER_SETS",
    "OPTIMIZERS",
    "LayerShape",
    "LearnerConfig",
    "fit",
]

#: What a parameter has: itself, its target's, and the optimizer's first and second moment.
PARAMETER_SETS = ("online", "target", "first", "second")

ACTIVATIONS = ("linear", "relu", "tanh")
ALGORITHMS = ("dqn", "ddpg")
OPTIMIZERS = ("sgd", "rmsprop", "adam")

#: Clocks from an address to the word of a parameter memory: the memory's register and one more.
READ_LATENCY = 2

_MAX_WIDTH = 512
#: Weights a memory word: the narrowest master carries four.
_MAX_VECTOR = 4


@dataclass(frozen=True, kw_only=True)
class LayerShape(ConfigBase):
    """A fully connected layer on a chain of ``length`` PEs of ``vector`` multipliers a lane.

    PE p owns outputs ``p * rows .. p * rows + rows - 1``. Word w of the inputs is elements
    ``w * vector .. w * vector + vector - 1``; a PE's memory holds at address ``w * rows + r`` the
    ``vector`` weights from input word w to its output r. What lies beyond inputs and outputs is
    padding: its weights are zero and stay zero.

    interleave : words whose partial sums are kept apart, so that a sum is visited again only
        ``rows * interleave`` clocks later, never before the adder is done with it.
    """

    inputs: int
    outputs: int
    vector: int = 1
    length: int = 1
    interleave: int = 1
    activation: str = "linear"

    def __post_init__(self):
        check_range("inputs", self.inputs, 1, _MAX_WIDTH)
        check_range("outputs", self.outputs, 1, _MAX_WIDTH)
        check_range("vector", self.vector, 1, _MAX_VECTOR)
        if self.vector & (self.vector - 1):
            raise ValueError(f"vector must be a power of two, not {self.vector!r}")
        check_range("length", self.length, 1, self.outputs, " (outputs)")
        check_range("interleave", self.interleave, 1, 64)
        if self.length > 1 and self.interleave > 1:
            raise ValueError(f"interleave must be 1 on a chain, not {self.interleave!r}")
        if self.activation not in ACTIVATIONS:
            raise ValueError(
                f"activation must be one of {', '.join(ACTIVATIONS)}, not {self.activation!r}"
            )
        if self.drain > self.cycles:
            raise ValueError(
                f"length must be small enough to drain in a sample's {self.cycles} clocks, "
                f"not {self.length!r} (it drains in {self.drain})"
            )

    @property
    def rows(self):
        """Outputs of a PE."""
        return -(-self.outputs // self.length)

    def outputs_of(self, position):
        """Outputs of the PE at ``position``: rows that are not padding, the first."""
        return min(self.rows, max(0, self.outputs - position * self.rows))

    @property
    def words(self):
        """Input words of a sample, whole groups of ``interleave``."""
        words = -(-self.inputs // self.vector)
        return -(-words // self.interleave) * self.interleave

    @property
    def depth(self):
        """Words of a PE's memory."""
        return self.words * self.rows

    @property
    def cycles(self):
        """Clocks a sample: one word of the memory each."""
        return self.depth

    @property
    def drain(self):
        """Clocks in which a sample's sums leave a chain: a bubble between any two PEs."""
        return self.length * (self.rows + 1) - 1 if self.interleave == 1 else self.rows

    @property
    def multipliers(self):
        """Multipliers a lane."""
        return self.vector * self.length

    @property
    def weights(self):
        return self.inputs * self.outputs


def fit(inputs, outputs, *, multipliers, arithmetic, activation="linear", cycles=0):
    """The best shape of at most ``multipliers``: fewest clocks, then fewest multipliers.

    ``cycles`` : a layer need not be faster than this. ValueError if no shape fits.
    """
    latency = arithmetic.add_latency
    best = None
    for vector, length in _unrolls(outputs, multipliers):
        rows = -(-outputs // length)
        least = -(-latency // rows)
        if length > 1 and (least > 1 or -(-outputs // rows) != length):
            continue
        for interleave in range(least, 2 * least):
            try:
                shape = LayerShape(
                    inputs=inputs,
                    outputs=outputs,
                    vector=vector,
                    length=length,
                    interleave=interleave,
                    activation=activation,
                )
            except ValueError:  # drains too slowly
                continue
            # Of equals, the widest words: fewer memories and fewer PEs to drive.
            key = (max(shape.cycles, cycles), shape.multipliers, -vector, interleave)
            if best is None or key < best[0]:
                best = key, shape
    if best is None:
        raise ValueError(
            f"multipliers must be enough for {inputs} x {outputs}, not {multipliers!r}"
        )
    return best[1]


def _unrolls(outputs, multipliers):
    """Every ``(vector, length)`` within ``multipliers``."""
    for vector in (v for v in (1, 2, 4) if v <= min(_MAX_VECTOR, multipliers)):
        for length in range(1, min(outputs, multipliers // vector) + 1):
            yield vector, length


@dataclass(frozen=True, kw_only=True)
class LearnerConfig(ConfigBase):
    """The learner of one agent: its networks, how they are unrolled, its optimizer, its arithmetic.

    algorithm : "dqn" (one network of Q values) or "ddpg" (a critic and an actor).
    observation, action : sizes; actions are discrete for dqn (count), continuous for ddpg.
    hidden : widths of 1 to 4 hidden layers, for both networks of ddpg.
    hidden_activation : of those layers. The output is linear, an actor's is tanh.
    batch : largest batch, a multiple of lanes.
    lanes : DP, samples side by side in every stage (CF'22 3.2.2).
    multipliers : of the largest layer a lane (PEs a tensor unit); the others follow its pace.
    update_units : PEs that are updated at the same time in every layer, at most.
    double : the online network chooses the next action (dqn).
    optimizer : "sgd" (with momentum), "rmsprop" or "adam".
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

    def __post_init__(self):
        object.__setattr__(self, "hidden", tuple(self.hidden))  # a list, from JSON
        for name, choices in (
            ("algorithm", ALGORITHMS),
            ("hidden_activation", ACTIVATIONS),
            ("optimizer", OPTIMIZERS),
        ):
            if getattr(self, name) not in choices:
                raise ValueError(
                    f"{name} must be one of {', '.join(choices)}, not {getattr(self, name)!r}"
                )
        check_range("observation", self.observation, 1, _MAX_WIDTH)
        check_range("action", self.action, 1, 256)
        if not 1 <= len(self.hidden) <= 4:
            raise ValueError(f"hidden must be 1 to 4 widths, not {self.hidden!r}")
        for width in self.hidden:
            check_range("hidden", width, 1, _MAX_WIDTH)
        check_range("lanes", self.lanes, 1, 16)
        if self.lanes & (self.lanes - 1):
            raise ValueError(f"lanes must be a power of two, not {self.lanes!r}")
        check_range("batch", self.batch, self.lanes, 4096)
        if self.batch % self.lanes:
            raise ValueError(
                f"batch must be a multiple of lanes ({self.lanes}; PI * DP), not {self.batch!r}"
            )
        check_range("multipliers", self.multipliers, 1, 1024)
        check_range("update_units", self.update_units, 1, 512)
        if not isinstance(self.double, bool):
            raise ValueError(f"double must be True or False, not {self.double!r}")
        if self.algorithm == "ddpg":
            check_range("observation + action", self.observation + self.action, 2, _MAX_WIDTH)

    @cached_property  # asked for in every launch
    def networks(self):
        """name -> layers, first to last: {"q"} for dqn, {"critic", "actor"} for ddpg."""
        if self.algorithm == "dqn":
            sizes = {"q": (self.observation, self.action, "linear")}
        else:
            sizes = {
                "critic": (self.observation + self.action, 1, "linear"),
                "actor": (self.observation, self.action, "tanh"),
            }
        plans = {}
        for name, (inputs, outputs, last) in sizes.items():
            widths = (inputs, *self.hidden, outputs)
            activations = [self.hidden_activation] * len(self.hidden) + [last]
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

    @property
    def parameter_sets(self):
        """What LOAD and STORE can name, in the order of their bits."""
        return PARAMETER_SETS

    @property
    def interval(self):
        """Clocks from sample to sample: the slowest stage."""
        return max(layer.cycles for layers in self.networks.values() for layer in layers)

    def backward_groups(self, network):
        """How many forward groups of ``network``, counted from the first, have errors come back."""
        return 2 if network == "critic" else 1

    def weight_sources(self, network):
        """Weights, "online" or "target", of each forward group of ``network``: those whose errors
        come back, the target's, and of a double DQN the next observation's."""
        chooser = ("online",) * (network == "q" and self.double)
        return ("online",) * self.backward_groups(network) + ("target",) + chooser

    def units(self, layer):
        """PEs of ``layer`` that are updated at the same time, each by ``vector`` optimizers."""
        return min(self.update_units, layer.length)

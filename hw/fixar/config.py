"""Sizes of FIXAR: cores and their arrays, the layers in tiles, and the kernel around them."""

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from hw.arith.fixed_point import DualPrecision
from hw.config import ConfigBase, check_range, freeze_lists
from hw.errors import UsageError
from hw.learner.config import PARAMETER_SETS, LearnerKernelConfig, check_hidden
from hw.learner.records import HYPERPARAMETERS
from hw.nn.optimizer_config import OptimizerConfig

__all__ = ["CELL_WIDTH", "CODE_WIDTH", "FixarConfig", "FixarKernelConfig", "LEAST_CODE_BITS"]
__all__ += ["MOST_CUT", "TileLayer"]

#: Bits of a number in half precision: two of them share a cell of 32 bits.
CODE_WIDTH, CELL_WIDTH = 16, 32

#: Fewest bits of an activation's code, and so the most of its lowest bits that are always 0.
LEAST_CODE_BITS = 8
MOST_CUT = CODE_WIDTH - LEAST_CODE_BITS

_SIDES = (4, 8, 16)
_PORT_WORDS = (1, 2, 4)


@dataclass(frozen=True, kw_only=True)
class TileLayer(ConfigBase):
    """A fully connected layer in tiles of ``side`` x ``side`` weights.

    A word of the weight memory is ``side`` weights, from one input to outputs side by side; tile
    column c begins at ``base + c * stride``: ``lead`` words of padding, a word for each input, then
    one for the biases. Outputs beyond the layer's are padding, whose weights are zero and stay
    zero. The host's image of the layer has no padding between columns.

    Inputs come in a frame of ``first + inputs`` features.

    inputs, outputs : sizes of the weight matrix.
    activation : the function after the layer: "relu", "linear" or "tanh".
    first : how many features of the frame have no weights: for an actor, the actions.
    last : how many inputs are last in the host's order and first here: for a critic, the actions.
    base : first word of the layer in the weight memory.
    port_words : words that the memory gives in a clock. Each tile begins at a multiple of it.
    """

    inputs: int
    outputs: int
    side: int = 16
    activation: str = "relu"
    first: int = 0
    last: int = 0
    base: int = 0
    port_words: int = 1

    #: Outputs that are only biases, as ``BlockShape`` may have.
    free = 0

    @property
    def frame(self):
        """Features of a sample that the layer reads."""
        return self.first + self.inputs

    @property
    def input_tiles(self):
        return -(-self.frame // self.side)

    @property
    def output_tiles(self):
        return -(-self.outputs // self.side)

    @property
    def words(self):
        """Words of the layer's image: for each tile column its inputs and its biases."""
        return self.output_tiles * (self.inputs + 1)

    @property
    def lead(self):
        """Words of the weight memory between a tile column's begin and its first input."""
        return self.first % self.port_words

    @property
    def stride(self):
        """Words of the weight memory from one tile column to the next."""
        return -(-(self.lead + self.inputs + 1) // self.port_words) * self.port_words

    @property
    def memory_words(self):
        """Words of the layer in the weight memory."""
        return self.output_tiles * self.stride

    @property
    def weights(self):
        return self.inputs * self.outputs

    @property
    def numbers(self):
        """How many 4-byte numbers the layer's section of the parameter image has, rounded up to
        whole 64 bytes."""
        return -(-self.words * self.side // 16) * 16

    def pack(self, weights, biases):
        """The array of a section's ``numbers``, made of weights [outputs, inputs] in the host's
        order and biases [outputs]. Padding is 0."""
        rows = np.concatenate([np.roll(weights, self.last, axis=1), biases[:, None]], axis=1)
        padded = np.zeros((self.output_tiles * self.side, self.inputs + 1), rows.dtype)
        padded[: self.outputs] = rows
        words = padded.reshape(self.output_tiles, self.side, -1).transpose(0, 2, 1).reshape(-1)
        return np.concatenate([words, np.zeros(self.numbers - len(words), words.dtype)])

    def unpack(self, numbers):
        """``(weights, biases)`` of the array ``numbers`` of a section; the inverse of ``pack``."""
        words = numbers[: self.words * self.side].reshape(self.output_tiles, -1, self.side)
        rows = words.transpose(0, 2, 1).reshape(-1, self.inputs + 1)[: self.outputs]
        return np.roll(rows[:, :-1], -self.last, axis=1).copy(), rows[:, -1].copy()


@dataclass(frozen=True, kw_only=True)
class FixarConfig(ConfigBase):
    """A DDPG learner on ``cores`` arrays of ``side`` x ``side`` PEs (FIXAR V).

    observation : how many numbers an observation has.
    action : how many numbers an action has; those of an experience are in -1..1, and the discount
        of an experience is in 0..1.
    hidden : widths of 1 to 4 hidden layers, of both networks; relu behind each.
    batch : largest batch.
    cores : adaptive array cores, each with its share of the batch.
    side : rows and columns of an array: 4, 8 or 16.
    port_words : words of ``side`` weights that the cores get in a clock: 1, 2 or 4, at most half of
        ``side``. A tile is loaded in ``side / port_words`` clocks.
    optimizer : "sgd" (with momentum), "rmsprop" or "adam".
    arithmetic : formats of full precision; they must be ``DualPrecision``'s, because arrays, psum
        and the host's plan of precision are made for them.
    """

    observation: int = 17
    action: int = 6
    hidden: tuple = (400, 300)
    batch: int = 64
    cores: int = 2
    side: int = 16
    port_words: int = 1
    optimizer: str = "adam"
    arithmetic: DualPrecision = DualPrecision()

    #: What core, iteration and host ask of any learner.
    discrete = False
    algorithm = "ddpg"
    hidden_activation = "relu"
    lanes = 1
    acts = "actor"
    bounded = True
    early_priorities = False
    step_record = HYPERPARAMETERS
    clip_norm = False
    #: As of a LearnerConfig.
    rates = [0, 1]

    def __post_init__(self):
        freeze_lists(self, "hidden")
        if self.side not in _SIDES:
            raise UsageError(f"side must be one of 4, 8, 16, not {self.side!r}")
        if self.port_words not in _PORT_WORDS or 2 * self.port_words > self.side:
            raise UsageError(
                "port_words must be 1, 2 or 4, and at most half of side, "
                f"which is {self.side}, not {self.port_words!r}"
            )
        check_range("cores", self.cores, 1, 7)
        widest, why = self.widest, " (a sum's terms)"
        check_range("observation", self.observation, 1, widest, why)
        check_range("action", self.action, 1, 256)
        check_range("observation + action", self.observation + self.action, 2, widest, why)
        check_hidden(self.hidden, widest, why=why)
        check_range("batch", self.batch, 1, 1024)
        if self.arithmetic != DualPrecision():
            raise UsageError(f"arithmetic must be {DualPrecision()!r}, not {self.arithmetic!r}")
        self.optimizer_config  # noqa: B018, it checks the optimizer

    @property
    def widest(self):
        """The most inputs that a layer may have: whole tiles, with a word of psum for each input
        and one for the biases. psum has 512 words."""
        return (512 - 1) // self.side * self.side

    @property
    def optimizer_config(self):
        """The config of every parameter's optimizer."""
        return OptimizerConfig(optimizer=self.optimizer, arithmetic=self.arithmetic)

    @property
    def parameter_sets(self):
        """Names of the parameter sets that LOAD and STORE can move, in the order of their bits."""
        return PARAMETER_SETS

    @cached_property
    def networks(self):
        """``{name: layers}``, first to last, of "critic" and "actor"."""
        frame = self.observation + self.action
        ends = {
            "critic": dict(inputs=frame, outputs=1, activation="linear", last=self.action),
            "actor": dict(
                inputs=self.observation, outputs=self.action, activation="tanh", first=self.action
            ),
        }
        networks, base = {}, 0
        for name, end in ends.items():
            widths, layers = (end["inputs"], *self.hidden, end["outputs"]), []
            for position, (inputs, outputs) in enumerate(pairwise(widths)):
                layer = TileLayer(
                    inputs=inputs,
                    outputs=outputs,
                    side=self.side,
                    base=base,
                    port_words=self.port_words,
                )
                if position == 0:
                    layer = replace(layer, first=end.get("first", 0), last=end.get("last", 0))
                if position == len(self.hidden):
                    layer = replace(layer, activation=end["activation"])
                layers.append(layer)
                base += layer.memory_words
            networks[name] = tuple(layers)
        return networks

    @property
    def weight_words(self):
        """Words of a parameter set in its memory."""
        return sum(layer.memory_words for layers in self.networks.values() for layer in layers)

    @property
    def samples(self):
        """The most samples of a core."""
        return -(-self.batch // self.cores)

    def groups(self, batch, half):
        """Words that a core streams for each tile: its samples of a batch of ``batch``, or, if
        ``half``, pairs of them, rounded up."""
        return -(-batch // (self.cores * (2 if half else 1)))


@dataclass(frozen=True, kw_only=True)
class FixarKernelConfig(LearnerKernelConfig):
    """The config of the whole kernel ``fixar``: replay manager, memory engines and FIXAR."""

    learner: FixarConfig = FixarConfig()

"""Sizes of a layer: its shape on a chain of PEs, and what all layers of a learner have in common.

The unroll factor (CF'22 3.2.3, PEARL VI-A) of a layer is ``vector * length`` multipliers a lane.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from hw.arith.arithmetic import Arithmetic
from hw.config import ConfigBase, check_range
from hw.errors import UsageError
from hw.nn.activation import ACTIVATIONS
from hw.nn.optimizer_config import OptimizerConfig

__all__ = ["KINDS", "MAX_WIDTH", "LayerConfig", "LayerShape", "fit"]

#: Arithmetics that chains have, the largest first: a product is one DSP block in fixed point.
KINDS = ("float32", "fixed")

#: Inputs and outputs of a layer, at most.
MAX_WIDTH = 512
#: Weights a memory word: the narrowest master carries four.
_MAX_VECTOR = 4


@dataclass(frozen=True, kw_only=True)
class LayerConfig(ConfigBase):
    """What all layers of a learner have in common.

    arithmetic : of weights, activations and gradients.
    lanes : samples side by side (CF'22's DP); a power of two, at most 16.
    batch : largest batch, a multiple of lanes.
    optimizer : one of ``OPTIMIZERS`` of ``hw.nn.optimizer_config``.
    update_units : the most PEs of a layer that are updated at the same time.
    """

    arithmetic: Arithmetic = Arithmetic()
    lanes: int = 1
    batch: int = 64
    optimizer: str = "adam"
    update_units: int = 4

    def __post_init__(self):
        if self.arithmetic.kind not in KINDS:
            raise UsageError(
                f"arithmetic.kind must be one of {', '.join(KINDS)}, not {self.arithmetic.kind!r}"
            )
        check_range("lanes", self.lanes, 1, 16)
        if self.lanes & (self.lanes - 1):
            raise UsageError(f"lanes must be a power of two, not {self.lanes!r}")
        check_range("batch", self.batch, self.lanes, 4096)
        if self.batch % self.lanes:
            raise UsageError(
                f"batch must be a multiple of lanes ({self.lanes}; PI * DP), not {self.batch!r}"
            )
        check_range("update_units", self.update_units, 1, 512)
        self.optimizer_config  # noqa: B018, it checks the optimizer

    @property
    def optimizer_config(self):
        """The config of every parameter's optimizer."""
        return OptimizerConfig(optimizer=self.optimizer, arithmetic=self.arithmetic)

    def units(self, layer):
        """How many PEs of the LayerShape ``layer`` are updated at the same time, each by ``vector``
        optimizers: ``update_units``, or all PEs if the layer has fewer."""
        return min(self.update_units, layer.length)


@dataclass(frozen=True, kw_only=True)
class LayerShape(ConfigBase):
    """A fully connected layer on a chain of ``length`` PEs of ``vector`` multipliers a lane.

    PE p owns outputs ``p * rows .. p * rows + rows - 1``. Word w of the inputs is elements
    ``w * vector .. w * vector + vector - 1``; a PE's memory holds at address ``w * rows + r`` the
    ``vector`` weights from input word w to its output r. What lies beyond inputs and outputs is
    padding: its weights are zero and stay zero.

    interleave : how many partial sums an output has: word w is added to partial sum w mod
    interleave. So the adder has ``rows * interleave`` clocks before it needs a sum again.
    activation : the function of the outputs, a name in ``ACTIVATIONS``.
    """

    inputs: int
    outputs: int
    vector: int = 1
    length: int = 1
    interleave: int = 1
    activation: str = "linear"

    def __post_init__(self):
        check_range("inputs", self.inputs, 1, MAX_WIDTH)
        check_range("outputs", self.outputs, 1, MAX_WIDTH)
        check_range("vector", self.vector, 1, _MAX_VECTOR)
        if self.vector & (self.vector - 1):
            raise UsageError(f"vector must be a power of two, not {self.vector!r}")
        check_range("length", self.length, 1, self.outputs, " (outputs)")
        check_range("interleave", self.interleave, 1, 64)
        if self.length > 1 and self.interleave > 1:
            raise UsageError(f"interleave must be 1 on a chain, not {self.interleave!r}")
        if self.activation not in tuple(ACTIVATIONS):
            raise UsageError(
                f"activation must be one of {', '.join(ACTIVATIONS)}, not {self.activation!r}"
            )
        if self.drain > self.cycles:
            raise UsageError(
                f"length must be small enough to drain in a sample's {self.cycles} clocks, "
                f"not {self.length!r} (it drains in {self.drain})"
            )

    @property
    def rows(self):
        """Outputs of a PE; the last PEs may have fewer, and padding in their place."""
        return -(-self.outputs // self.length)

    def outputs_of(self, position):
        """How many outputs the PE number ``position`` has: its first rows; the others are
        padding."""
        return min(self.rows, max(0, self.outputs - position * self.rows))

    @property
    def words(self):
        """Input words of a sample, rounded up to a multiple of ``interleave``."""
        words = -(-self.inputs // self.vector)
        return -(-words // self.interleave) * self.interleave

    @property
    def depth(self):
        """Words of a PE's memory."""
        return self.words * self.rows

    @property
    def cycles(self):
        """Clocks that a sample takes in a PE: one for each word of its memory."""
        return self.depth

    @property
    def drain(self):
        """Clocks in which a sample's sums leave a chain: a clock for each row of each PE, and one
        between any two PEs. With ``interleave`` above 1 there is one PE, and it is ``rows``."""
        return self.length * (self.rows + 1) - 1 if self.interleave == 1 else self.rows

    @property
    def multipliers(self):
        """Multipliers a lane."""
        return self.vector * self.length

    @property
    def weights(self):
        return self.inputs * self.outputs

    @property
    def image_word(self):
        """Numbers of a word of a section of the parameter image."""
        return self.vector

    @property
    def image_words(self):
        """Words of a section of the parameter image without padding: all words of the PEs'
        memories, then one word for each bias."""
        return self.depth * self.length + self.outputs

    @property
    def numbers(self):
        """4-byte numbers of a section of the parameter image, padded to whole 64 bytes."""
        return -(-self.image_words * self.vector // 16) * 16

    def pack(self, weights, biases):
        """The numbers of a section of the parameter image, an array [numbers], from the arrays
        ``weights`` [outputs, inputs] and ``biases`` [outputs] of the same dtype.

        The words of the memories come first: PE by PE, address by address, each with ``vector``
        numbers. Then a word comes for each bias, whose first number is the bias. All other numbers
        are zeros.
        """
        vector, rows, length = self.vector, self.rows, self.length
        padded = np.zeros((length * rows, self.words * vector), weights.dtype)
        padded[: self.outputs, : self.inputs] = weights
        memory = padded.reshape(length, rows, self.words, vector).transpose(0, 2, 1, 3)
        bias = np.zeros((self.outputs, vector), weights.dtype)
        bias[:, 0] = biases
        numbers = np.concatenate([memory.reshape(-1), bias.reshape(-1)])
        return np.concatenate([numbers, np.zeros(self.numbers - len(numbers), weights.dtype)])

    def unpack(self, numbers):
        """``(weights, biases)``, copies, from a section's array of numbers; the inverse of
        ``pack``."""
        vector, rows, length = self.vector, self.rows, self.length
        count = length * self.depth * vector
        memory = numbers[:count].reshape(length, self.words, rows, vector).transpose(0, 2, 1, 3)
        weights = memory.reshape(length * rows, self.words * vector)
        biases = numbers[count : count + self.outputs * vector].reshape(-1, vector)[:, 0]
        return weights[: self.outputs, : self.inputs].copy(), biases.copy()


@lru_cache(maxsize=4096)  # a search asks again and again
def fit(inputs, outputs, *, multipliers, arithmetic, activation="linear", cycles=0):
    """The best LayerShape of a layer with at most ``multipliers`` multipliers a lane: that with the
    fewest clocks; among those, the one with the fewest multipliers.

    inputs, outputs, activation : of the layer
    arithmetic : Arithmetic, whose addition latency limits the shapes
    cycles : shapes with at most this many clocks count as equally fast, so that fewer multipliers
        decide.

    Raises UsageError, which is a ValueError, if no shape fits.
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
        raise UsageError(
            f"multipliers must be enough for {inputs} x {outputs}, not {multipliers!r}"
        )
    return best[1]


def _unrolls(outputs, multipliers):
    """Every ``(vector, length)`` within ``multipliers``."""
    for vector in (v for v in (1, 2, 4) if v <= min(_MAX_VECTOR, multipliers)):
        for length in range(1, min(outputs, multipliers // vector) + 1):
            yield vector, length

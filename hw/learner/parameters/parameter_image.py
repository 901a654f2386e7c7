"""The parameter image: how weights, targets and moments lie in a buffer, for LOAD and STORE.

Sections follow one another by network, layer and set, each padded with zeros to 64 bytes. A
section is the memories as they are scanned: PE by PE, address by address, a word of ``vector``
numbers; then a word for each bias, which stands in its first number. A number is 4 bytes: a f32,
or the raw weight of a fixed-point learner (its moments are f32 too, see ``FixedMoment``).
"""

from dataclasses import dataclass

import numpy as np

from hw.learner.chain.config import LayerShape
from hw.learner.config import PARAMETER_SETS

__all__ = ["Section", "set_bytes", "pack", "sections", "unpack"]


@dataclass(frozen=True)
class Section:
    """``offset`` and ``size`` in bytes; ``position`` is the layer's in its network."""

    network: str
    position: int
    parameter_set: str
    layer: LayerShape
    offset: int

    @property
    def words(self):
        return self.layer.depth * self.layer.length + self.layer.outputs

    @property
    def size(self):
        return -(-self.words * self.layer.vector * 4 // 64) * 64


def sections(config, sets=PARAMETER_SETS):
    """Sections of the image with ``sets``, in the order of ``PARAMETER_SETS``."""
    result, offset = [], 0
    for network, layers in config.networks.items():
        for position, layer in enumerate(layers):
            for parameter_set in PARAMETER_SETS:
                if parameter_set in sets:
                    result.append(Section(network, position, parameter_set, layer, offset))
                    offset += result[-1].size
    return result


def set_bytes(config):
    """Bytes of all sections of one set; every set has as many."""
    return sum(section.size for section in sections(config, PARAMETER_SETS[:1]))


def pack(layer, weights, biases):
    """A section's numbers [size / 4] of weights [outputs, inputs] and biases [outputs]."""
    vector, rows, length = layer.vector, layer.rows, layer.length
    padded = np.zeros((length * rows, layer.words * vector), weights.dtype)
    padded[: layer.outputs, : layer.inputs] = weights
    memory = padded.reshape(length, rows, layer.words, vector).transpose(0, 2, 1, 3)
    bias = np.zeros((layer.outputs, vector), weights.dtype)
    bias[:, 0] = biases
    numbers = np.concatenate([memory.reshape(-1), bias.reshape(-1)])
    return np.concatenate([numbers, np.zeros(-len(numbers) % 16, weights.dtype)])


def unpack(layer, numbers):
    """``(weights, biases)`` of a section's numbers; inverse of ``pack``."""
    vector, rows, length = layer.vector, layer.rows, layer.length
    count = length * layer.depth * vector
    memory = numbers[:count].reshape(length, layer.words, rows, vector).transpose(0, 2, 1, 3)
    weights = memory.reshape(length * rows, layer.words * vector)
    biases = numbers[count : count + layer.outputs * vector].reshape(-1, vector)[:, 0]
    return weights[: layer.outputs, : layer.inputs].copy(), biases.copy()

"""Parameters of small learners: numbers with their corners, as words of the memories."""

from dataclasses import replace

import numpy as np

from hw.fixar.config import FixarConfig
from hw.learner.config import PARAMETER_SETS

__all__ = ["CONFIGS", "bits", "gradient_of", "hexadecimal", "layers", "learner"]
__all__ += ["places_of", "parameters_of", "random_parameters", "words_of"]

#: side -> learner: with frames, layers and outputs that end within a tile, and at its border.
CONFIGS = {
    4: FixarConfig(side=4, observation=5, action=2, hidden=(9, 8), batch=8, cores=2),
    16: FixarConfig(side=16, observation=17, action=6, hidden=(32, 30), batch=64, cores=2),
}


def learner(side, **changes):
    return replace(CONFIGS[side], **changes)


def layers(config):
    """``(network, position, layer)`` of all, in the image's order."""
    return [
        (name, position, layer)
        for name, network in config.networks.items()
        for position, layer in enumerate(network)
    ]


def _weights(config, rng, shape):
    """Any, small ones, and what rounds to a limit or beyond it."""
    limits = config.arithmetic.weight
    values = rng.integers(limits.low, limits.high + 1, shape)
    values >>= rng.choice([0, 0, 8, 25], shape)
    corners = [
        limits.low,
        limits.high,
        limits.high - 15,
        limits.high - 16,
        limits.high - 17,
        15,
        16,
    ]
    return np.where(rng.random(shape) < 0.2, rng.choice([*corners, -16, -17, 0], shape), values)


def _moments(rng, shape):
    values = rng.standard_normal(shape) * np.exp2(rng.integers(-30, 5, shape))
    return np.where(rng.random(shape) < 0.1, 0, values).astype(np.float32)


def random_parameters(config, rng):
    """``{network: [{parameter set: (weights, biases)}]}``, raw and float32."""
    result = {name: [] for name in config.networks}
    for name, _, layer in layers(config):
        shapes, values = ((layer.outputs, layer.inputs), (layer.outputs,)), {}
        for parameter_set in PARAMETER_SETS[:2]:
            values[parameter_set] = tuple(_weights(config, rng, shape) for shape in shapes)
        values["first"] = tuple(_moments(rng, shape) for shape in shapes)
        values["second"] = tuple(abs(_moments(rng, shape)) for shape in shapes)
        result[name].append(values)
    return result


def gradient_of(sums, shift):
    """``(gradient, whether it was clipped)`` of a number's sums, one a core."""
    floor = ((sum(sums) << shift) + 128) >> 8
    inside = min(max(floor, -(1 << 47)), (1 << 47) - 1)
    return inside, inside != floor


def bits(values):
    """Numbers as they stand in a memory."""
    return values.view("<u4") if values.dtype == np.float32 else (values & 0xFFFFFFFF).astype("<u4")


def words_of(config, parameters, parameter_set):
    """uint32 [words, side] of a parameter set, all layers one after the other; where memories have
    padding, zeros."""
    words = np.zeros((config.weight_words, config.side), np.uint32)
    for name, position, layer in layers(config):
        numbers = layer.pack(*map(bits, parameters[name][position][parameter_set]))
        words[places_of(layer)] = numbers[: layer.words * config.side].reshape(-1, config.side)
    return words


def places_of(layer):
    """Addresses of the layer's words, in the image's order."""
    columns = layer.base + layer.lead + layer.stride * np.arange(layer.output_tiles)
    return (columns[:, None] + np.arange(layer.inputs + 1)).reshape(-1)


def parameters_of(config, memories):
    """Inverse of ``words_of`` for all parameter sets."""
    result = {name: [] for name in config.networks}
    for name, _, layer in layers(config):
        values = {}
        for parameter_set, words in memories.items():
            kind = "<i4" if parameter_set in PARAMETER_SETS[:2] else "<f4"
            own = words[places_of(layer)].reshape(-1).view(kind)
            values[parameter_set] = tuple(
                part if kind == "<f4" else part.astype(np.int64) for part in layer.unpack(own)
            )
        result[name].append(values)
    return result


def hexadecimal(words):
    """Words as texts, number 0 lowest."""
    return [np.ascontiguousarray(word[::-1]).astype(">u4").tobytes().hex() for word in words]

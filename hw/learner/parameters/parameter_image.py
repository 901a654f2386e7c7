"""The parameter image: how weights, targets and moments lie in a buffer, for LOAD and STORE.

Sections follow one another by network, layer and set, each padded with zeros to 64 bytes. Layers
define the order within a section: ``layer.pack`` and ``layer.unpack``. A number is 4 bytes: a f32,
or the raw weight of a fixed-point learner (its moments are f32 too, see ``FixedMoment``).
"""

import hashlib
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from hw.learner.config import PARAMETER_SETS

__all__ = ["Section", "image_identity", "sections", "set_bytes"]


@dataclass(frozen=True)
class Section:
    """One section of the parameter image: one set of one layer.

    network : name of the layer's network.
    position : number of the layer in its network, from 0 on.
    parameter_set : one of ``PARAMETER_SETS``.
    layer : LayerShape, or what another learner has in its place: with ``numbers``, ``pack`` and
        ``unpack``.
    offset, size : where the section begins in the image, and its length, in bytes.
    """

    network: str
    position: int
    parameter_set: str
    layer: object
    offset: int

    @property
    def size(self):
        return 4 * self.layer.numbers


def sections(config, sets=PARAMETER_SETS):
    """A tuple with all sections of the image that has only ``sets``, sorted by network, then by
    layer, then by set in the order of ``PARAMETER_SETS``."""
    kept = tuple(each for each in PARAMETER_SETS if each in sets)
    return _sections(tuple(config.networks.items()), kept)


@lru_cache(maxsize=64)
def _sections(networks, sets):
    result, offset = [], 0
    for network, layers in networks:
        for position, layer in enumerate(layers):
            for parameter_set in sets:
                result.append(Section(network, position, parameter_set, layer, offset))
                offset += result[-1].size
    return tuple(result)


def image_identity(config):
    """The place of each number of the image, as a list of JSON values: the places of all sections,
    the layers' shapes, and the SHA-256 digest of an image of one set with the weights 1, 2, 3, ...
    of each layer by output, then by input, and its biases after them."""
    places = [[s.network, s.position, s.parameter_set, s.offset] for s in sections(config)]
    layers = [layer for network in config.networks.values() for layer in network]
    image = hashlib.sha256()
    for layer in layers:
        numbers = np.arange(1, 1 + layer.weights + layer.outputs, dtype="<u4")
        weights = numbers[: layer.weights].reshape(layer.outputs, layer.inputs)
        image.update(layer.pack(weights, numbers[layer.weights :]).tobytes())
    return [places, [layer.to_dict() for layer in layers], image.hexdigest()]


def set_bytes(config):
    """Bytes of all sections of one set; all sets have the same size."""
    return sum(section.size for section in sections(config, PARAMETER_SETS[:1]))

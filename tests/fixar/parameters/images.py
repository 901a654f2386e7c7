"""Parameter images, of arrays."""

import numpy as np
from fixar.parameters.cases import bits, hexadecimal

from hw.learner.config import stored_sets
from hw.learner.parameters.parameter_image import sections

__all__ = ["beats_of", "image_of"]


def image_of(config, parameters, sets, noise=None):
    """Numbers of the image; ``noise``: a generator of what is in its padding."""
    has, parts = stored_sets(config), []
    for section in sections(config, sets):
        values = parameters[section.network][section.position][section.parameter_set]
        numbers = section.layer.pack(*map(bits, values))
        if section.parameter_set not in has and noise is None:
            numbers = 0 * numbers
        if noise is not None:
            ones = [np.ones_like(part, np.uint8) for part in values]
            padding = section.layer.pack(*ones) == 0
            drawn = noise.integers(0, 1 << 32, len(numbers), dtype="<u4")
            numbers = np.where(padding, drawn, numbers)
        assert section.offset == 4 * sum(map(len, parts))
        parts.append(numbers.astype("<u4"))
    return np.concatenate(parts)


def beats_of(numbers, data_width):
    return hexadecimal(numbers.reshape(-1, data_width // 32))

"""Granules as arrays of bytes, words as the hexadecimal texts that unit_bench takes."""

import numpy as np
from pauses import SOLID, SOLID_TOO

#: Of sources, of the sink.
GAPS = [(0, 0), (0.5, 0), (0, 0.5), (0.5, 0.5), (SOLID_TOO, SOLID)]


def random_granules(rng, words, granules, granule_bytes):
    """[words, granules, granule_bytes] of bytes other than 0, so that padding shows."""
    return rng.integers(1, 256, (words, granules, granule_bytes), dtype=np.uint8)


def texts(words, **fields):
    """``words`` [n, ...] of bytes, low end first, with ``name=(values, width)`` above them."""
    out = []
    for k, word in enumerate(words):
        value = int.from_bytes(np.ascontiguousarray(word).tobytes(), "little")
        shift = 8 * word.nbytes
        for values, width in fields.values():
            value |= int(values[k]) << shift
            shift += width
        out.append(f"{value:x}")
    return out

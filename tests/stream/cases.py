"""Granules as arrays of bytes, words as the hexadecimal texts that unit_bench takes."""

import numpy as np
import pytest

GAPS = pytest.mark.parametrize("source_gap, sink_gap", [(0, 0), (0.5, 0), (0, 0.5), (0.5, 0.5)])


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

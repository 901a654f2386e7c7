"""Bit-exact reference for ``hw.nn.batch_sum``: the sum of a batch's terms in eight parts."""

import numpy as np

from sim.compiled import compiled
from sim.model.arith.float32_steps import add, flush, leave

__all__ = ["batch_sum", "total"]

_PARTS = 8


@compiled
def total(terms):
    """``batch_sum`` of a float32 array, for compiled callers."""
    parts = np.zeros(_PARTS, np.float32)
    for s in range(terms.size):
        parts[s % _PARTS] = add(parts[s % _PARTS], flush(terms[s]), True)
    half = _PARTS // 2
    while half:
        for k in range(half):
            parts[k] = add(parts[k], parts[k + half], True)
        half //= 2
    return leave(parts[0])


def batch_sum(terms):
    """Sum of float32 ``terms`` [n], an np.float32. Term s is added to partial sum ``s % 8``; each
    of the eight begins as +0. Then partial sum k + 4 is added to k for k < 4, k + 2 to k for k < 2,
    and 1 to 0."""
    return np.float32(total(np.ascontiguousarray(terms, np.float32)))

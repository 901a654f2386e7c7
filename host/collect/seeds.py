"""Seeds for environments that take none of gymnasium's size."""

import numpy as np

__all__ = ["folded"]


def folded(seed, bits):
    """A seed of at most ``bits`` (32 or fewer) bits: ``seed`` itself where it has no more, else one
    that follows from it; so that seeds beyond do not begin again with 0."""
    if not seed >> bits:
        return seed
    return int(np.random.SeedSequence(seed).generate_state(1)[0]) >> (32 - bits)

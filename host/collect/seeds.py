"""Seeds for environments that cannot take gymnasium's large seeds."""

import numpy as np

__all__ = ["folded"]


def folded(seed, bits):
    """A seed of at most ``bits`` (32 or fewer) bits. If ``seed`` has no more bits, it is ``seed``,
    else a hash of it, so that larger seeds do not repeat the sequence of small ones."""
    if not seed >> bits:
        return seed
    return int(np.random.SeedSequence(seed).generate_state(1)[0]) >> (32 - bits)

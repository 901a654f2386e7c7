"""Seeds for environments that cannot take gymnasium's large seeds."""

import numpy as np

__all__ = ["folded"]


def folded(seed, bits):
    """Returns a seed of at most ``bits`` bits, which are 32 or fewer: ``seed`` itself if it has no
    more bits, else a hash of ``seed``. So large seeds do not repeat the order of small ones."""
    if not seed >> bits:
        return seed
    return int(np.random.SeedSequence(seed).generate_state(1)[0]) >> (32 - bits)

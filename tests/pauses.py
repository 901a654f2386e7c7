"""When a driver of a stream pauses: by a coin in every clock, or long and then not at all."""

import itertools

__all__ = ["SOLID", "SOLID_TOO", "pauses"]

#: Clocks without and with transfers, in turns. What stands behind a pause fills up to the last
#: word, or is empty, and both when the two sides pause by the two of them.
SOLID, SOLID_TOO = (40, 60), (25, 45)


def pauses(gap, rng):
    """For clock after clock whether there is a pause; ``gap`` is its chance, or as ``SOLID``."""
    if isinstance(gap, (list, tuple)):
        still, going = gap
        return itertools.cycle([True] * still + [False] * going)
    return iter(lambda: rng.random() < gap, None)

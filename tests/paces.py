"""When something happens: every clock, half of them, or long runs with long pauses between."""

import random

__all__ = ["CROSSED", "DIAGONAL", "Gaps", "PACES", "pace"]

#: Every clock; half of them; runs of up to 20 clocks and pauses of up to 20.
PACES = ("steady", "random", "solid")

#: Of a source and of a sink: all of them with all.
CROSSED = [(source, sink) for source in PACES for sink in PACES]

#: A source and a sink of each pace.
DIAGONAL = [("steady", "steady"), ("random", "solid"), ("solid", "random")]


def pace(name, rng):
    """Whether something happens in a clock, for ever."""
    while True:
        if name == "solid":
            yield from [True] * rng.randint(1, 20) + [False] * rng.randint(1, 20)
        else:
            yield name == "steady" or rng.random() < 0.5


class Gaps:
    """For ``streams``, with a gap of 0.5: numbers by which it pauses at this pace."""

    def __init__(self, name, seed):
        self.steps = pace(name, random.Random(seed))

    def random(self):
        return 1.0 if next(self.steps) else 0.0

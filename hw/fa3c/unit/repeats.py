"""How often a sequence goes on as it was: what is periodic is walked once, and then multiplied."""

__all__ = ["Repeats", "since"]


class Repeats:
    """A sequence, ``items``. Two of them are alike if their values of ``key`` are equal."""

    def __init__(self, items, key):
        self.items, numbers = list(items), {}
        self.numbers = [numbers.setdefault(each, len(numbers)) for each in map(key, self.items)]

    def times(self, before, now):
        """How often the items from place ``before`` up to ``now`` follow again from ``now`` on."""
        period, found = self.numbers[before:now], 0
        while period and self.numbers[now : now + len(period)] == period:
            now, found = now + len(period), found + 1
        return found


def since(clocks, base):
    """How much later than clock ``base`` each of ``clocks`` is, or 0. What happens after ``base``
    does not depend on which clock before it another one is."""
    return tuple([max(0, clock - base) for clock in clocks])

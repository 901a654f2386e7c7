"""Configs at the ends of their fields, and random ones of the whole space.

The class itself is asked what it allows, so that no limit is written down a second time.
"""

import itertools
import random
from dataclasses import dataclass

from legal_configs import legal_config

from host.settings import leaves
from hw.config import value_of, with_values

__all__ = ["ends", "far_config", "full_config", "numbers"]

#: No field has a number beyond these bits, and no tuple more members than ``_LONGEST``.
_BITS, _LONGEST = 33, 64


@dataclass(frozen=True)
class Number:
    """An integer of a config: a field, or one in a tuple, or the length of a tuple.

    place : str, such as ``learner.hidden[0]`` or ``units length``
    field : str, the dotted name of the field
    value : int
    path : of the tuple's members, from the outermost; None at its end stands for the length
    """

    place: str
    field: str
    value: int
    path: tuple = ()

    @property
    def is_length(self):
        return self.path[-1:] == (None,)

    def put(self, config, number):
        """``config`` with ``number`` here; ValueError if it is not legal."""
        return with_values(
            config, {self.field: _put(value_of(config, self.field), self.path, number)}
        )

    def changed(self, config, number):
        """As ``put``; None if it is not legal."""
        if self.is_length and not 0 <= number <= _LONGEST:
            return None
        try:
            return self.put(config, number)
        except ValueError:
            return None


def _put(value, path, number):
    if not path:
        return number
    if path == (None,):
        return tuple(value[k % len(value)] for k in range(number))
    return (*value[: path[0]], _put(value[path[0]], path[1:], number), *value[path[0] + 1 :])


def _inside(place, field, value, path=()):
    if isinstance(value, int) and not isinstance(value, bool):
        yield Number(place, field, value, path)
    elif isinstance(value, tuple) and value:
        yield Number(f"{place} length", field, len(value), (*path, None))
        for k, part in enumerate(value):
            yield from _inside(f"{place}[{k}]", field, part, (*path, k))


def numbers(config):
    """Every Number of ``config``."""
    return [each for name, value, _ in leaves(config) for each in _inside(name, name, value)]


def end_of(config, number, up):
    """``(end, changed)``: the largest legal integer in place of ``number``, or, if not ``up``, the
    smallest, all others as they are; and the config that has it.

    Powers of two are tried from the far end on; between the first legal one and its neighbour the
    limit is found by bisection.
    """
    sign = 1 if up else -1
    powers = [sign << k for k in reversed(range(_BITS + 1))]
    ladder = [*powers, 0, *(-power for power in reversed(powers))]
    ladder = [each for each in ladder if sign * (each - number.value) > 0] + [number.value]
    tried = ((each, number.changed(config, each)) for each in ladder)
    inside, found = next((each, legal) for each, legal in tried if legal is not None)
    outside = ladder[max(0, ladder.index(inside) - 1)]
    while abs(outside - inside) > 1:
        middle = (inside + outside) // 2
        legal = number.changed(config, middle)
        if legal is None:
            outside = middle
        else:
            inside, found = middle, legal
    return inside, found


def ends(config):
    """``(number, end, step, changed)`` of every Number and of both its ends: ``changed`` has
    ``end`` in its place, and one ``step`` on, 1 or -1, nothing is legal."""
    for number in numbers(config):
        for up in (False, True):
            end, changed = end_of(config, number, up)
            yield number, end, 2 * up - 1, changed


def far_config(name, up, fits=lambda config: True):
    """A config of which every number is as large as the numbers before it and ``fits(config)``
    allow, or, if not ``up``, as small. Texts and flags are those of the first ``legal_config`` that
    fits."""
    drawn = (legal_config(name, seed) for seed in itertools.count())
    config = next(each for each in drawn if fits(each))
    for parts in ([1], [4.0**-k for k in range(12)]):  # those that reach their end come first
        for place in [number.place for number in numbers(config)]:
            config = _moved(config, place, parts, up, fits)
    return config


def full_config(name, seed, fits=lambda config: True):
    """Number ``seed`` of the random configs of a design with numbers of the whole space.

    It begins with a ``legal_config``. Half of its numbers, in random order, go to an end or to
    anything between, as far as the others and ``fits(config)`` allow it.
    """
    rng, config = random.Random(f"full {name} {seed}"), legal_config(name, seed)
    places = [number.place for number in numbers(config)]
    for place in rng.sample(places, len(places) // 2):
        part = rng.choice([1, rng.random() ** 3])
        config = _moved(config, place, [part], rng.random() < 0.6, fits)
    return config


def _moved(config, place, parts, up, fits):
    """``config`` with the number at ``place`` moved by the first of ``parts`` of the way to its end
    that is legal and fits."""
    number = next((each for each in numbers(config) if each.place == place), None)
    if number is None:  # its tuple has become shorter
        return config
    end, _ = end_of(config, number, up)
    ways = (round(number.value + part * (end - number.value)) for part in parts)
    tried = (number.changed(config, way) for way in ways)
    return next((each for each in tried if each is not None and fits(each)), config)

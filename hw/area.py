"""Areas of units, from the table ``area.json``; which units, and how many, is said in code.

A row is a unit or a part of one. For each family and resource it has a linear function of the
widths and counts that it names, with the constant at "". ::

    "replay.insert": {"xcup": {"lut": {"": 175, "place": "16/5"}, "ff": {"": 122, "place": 2}}}

Coefficients are integers or fractions. A count is the exact sum rounded down, or for memory blocks,
which may be used by halves, rounded down to a half. A resource that a row lacks is not used; a
family that it lacks is unknown.
"""

import json
from functools import lru_cache
from math import lcm
from pathlib import Path

from hw.errors import UsageError
from hw.estimate import RESOURCES, Estimate

__all__ = ["area"]


@lru_cache(maxsize=1 << 16)  # a search asks for the same units again and again
def area(unit, **widths):
    """The ``Estimate`` of the row ``unit`` for these integers, ``widths`` and counts by name.

    UsageError if there is no such row, or if ``widths`` are not those that the row names.
    """
    if unit not in _ROWS:
        raise UsageError(f"unit must be a row of area.json, not {unit!r}")
    names, families = _ROWS[unit]
    for name in sorted(names ^ widths.keys()):
        rule = f"given for the unit {unit}" if name in names else f"one of {sorted(names)}"
        raise UsageError(f"width {name} must be {rule}")
    counts = {family: _counts(functions, widths) for family, functions in families.items()}
    return Estimate(**dict(zip(RESOURCES, counts["xcup"], strict=True)), ecp5=counts.get("ecp5"))


def _counts(functions, widths):
    sums = [
        (constant + sum(part * widths[name] for name, part in parts)) // denominator
        for constant, parts, denominator in functions
    ]
    halves = sums[RESOURCES.index("bram36")]
    sums[RESOURCES.index("bram36")] = halves / 2 if halves & 1 else halves // 2
    return tuple(sums)


def _read(file):
    """``{unit: (names of widths, {family: function of each resource})}``."""
    found = {}
    for unit, families in json.loads(file.read_text(encoding="utf-8")).items():
        names = {name for row in families.values() for linear in row.values() for name in linear}
        functions = {
            family: [_function(row.get(resource, {}), resource) for resource in RESOURCES]
            for family, row in families.items()
        }
        found[unit] = names - {""}, functions
    return found


def _function(linear, resource):
    """``(constant, ((name, part), ...), denominator)``, all integers; of memory blocks twice."""
    split = {name: str(each).partition("/") for name, each in linear.items()}
    denominator = lcm(*(int(below or 1) for _, _, below in split.values()))
    whole = {
        name: int(above) * (denominator // int(below or 1)) * (1 + (resource == "bram36"))
        for name, (above, _, below) in split.items()
    }
    constant = whole.pop("", 0)
    return constant, tuple(whole.items()), denominator


_ROWS = _read(Path(__file__).with_name("area.json"))

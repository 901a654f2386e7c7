"""Rules of config fields, written beside them: a config checks the rules that `rlfabric show`
shows.

    gamma: Annotated[float, FRACTION] = 0.99

A field that a subclass declares again keeps its rule. None is allowed if the annotation has it.
"""

import math
import operator
import sys
from dataclasses import dataclass, fields
from typing import Annotated, get_args, get_origin

from hw.config import check_flag, check_range
from hw.errors import UsageError

__all__ = ["FINITE", "FRACTION", "NOTHING", "NOT_NEGATIVE", "POSITIVE"]
__all__ += ["Choice", "Flag", "Integer", "Nothing", "Number"]
__all__ += ["check_choice", "check_fields", "check_number", "plain", "rules"]


def plain(value):
    """``value`` with NumPy's numbers and arrays, also in lists and tuples at any depth, as Python's
    numbers and tuples: sweeps give them (``rng.choice([32, 64])``), and JSON has none. np.float32
    becomes the float that it is."""
    np = sys.modules.get("numpy")  # help and lists import no NumPy
    if np is None:
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        value = value.tolist()
        return _tuples(value) if isinstance(value, list) else value
    if isinstance(value, (list, tuple)):
        found = tuple(map(plain, value))
        return value if all(map(operator.is_, found, value)) else found
    return value


def _tuples(value):
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def check_number(name, value, rule, holds):
    """Raises ``ValueError("<name> must be <rule>, not <value>")`` unless ``value`` is an int or a
    float, not a bool, and ``holds(value)`` is true."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not holds(value):
        raise UsageError(f"{name} must be {rule}, not {value!r}")


def check_choice(name, value, choices):
    """Raises ValueError, which lists ``choices``, unless ``value`` is one of them. ``name`` is the
    field's name in the error's text."""
    if not isinstance(value, str | int) or value not in choices:
        names = ", ".join(map(str, choices))
        raise UsageError(f"{name} must be one of {names}, not {value!r}")


@dataclass(frozen=True)
class Integer:
    """A rule: an integer in ``low..high``, inclusive. As a text it is "<low> to <high>"; a ``high``
    from 2**15 on that is a power of two, or 1 less, is written so, such as 2^40."""

    low: int
    high: int

    def check(self, name, value):
        check_range(name, value, self.low, self.high)

    def __str__(self):
        high = str(self.high)
        for less, tail in ((0, ""), (1, " - 1")):
            power = (self.high + less).bit_length() - 1
            if self.high >= 1 << 15 and self.high + less == 1 << power:
                high = f"2^{power}{tail}"
        return f"{self.low} to {high}"


@dataclass(frozen=True)
class Number:
    """A rule: a number for which ``holds(number)`` is true. ``rule`` says the same in words."""

    rule: str
    holds: object

    def check(self, name, value):
        check_number(name, value, self.rule, self.holds)

    def __str__(self):
        return self.rule


@dataclass(frozen=True)
class Choice:
    """One of ``choices``."""

    choices: tuple

    def check(self, name, value):
        check_choice(name, value, self.choices)

    def __str__(self):
        return ", ".join(map(str, self.choices))


class Flag:
    """True or False."""

    def check(self, name, value):
        check_flag(name, value)

    def __str__(self):
        return "true or false"


class Nothing:
    """None alone, for a field that a subclass does not use."""

    def check(self, name, value):
        if value is not None:
            raise UsageError(f"{name} must be none, not {value!r}")

    def __str__(self):
        return "none"


NOTHING = Nothing()
POSITIVE = Number("positive and finite", lambda x: 0 < x < math.inf)
NOT_NEGATIVE = Number("at least 0 and finite", lambda x: 0 <= x < math.inf)
FINITE = Number("finite", math.isfinite)
FRACTION = Number("in [0, 1]", lambda x: 0 <= x <= 1)


def rules(kind):
    """``{field: (rule, whether None is allowed)}`` for those fields of the config class ``kind``
    whose annotation has a rule."""
    found = {}
    for each in reversed(kind.__mro__):
        for name, annotation in vars(each).get("__annotations__", {}).items():
            if get_origin(annotation) is Annotated:
                found[name] = (
                    annotation.__metadata__[0],
                    type(None) in get_args(annotation.__origin__),
                )
    return {name: found[name] for name in (f.name for f in fields(kind)) if name in found}


def check_fields(config):
    """Raises ``ValueError`` unless every field of ``config``, a frozen dataclass, keeps its rule.
    NumPy's numbers become Python's (``host.plain``)."""
    for each in fields(config):
        value = getattr(config, each.name)
        if (number := plain(value)) is not value:
            object.__setattr__(config, each.name, number)
    for name, (rule, optional) in rules(type(config)).items():
        value = getattr(config, name)
        if value is not None or not optional:
            rule.check(name, value)

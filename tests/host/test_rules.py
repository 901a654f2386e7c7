"""host.rules: fields keep the rules written beside them, in subclasses too."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import pytest

from host.rules import (
    FINITE,
    FRACTION,
    NOT_NEGATIVE,
    NOTHING,
    POSITIVE,
    Choice,
    Flag,
    Integer,
    check_fields,
    plain,
    rules,
)


@dataclass(frozen=True, kw_only=True)
class Config:
    count: Annotated[int, Integer(2, 9)] = 2
    share: Annotated[float, FRACTION] = 0.5
    rate: Annotated[float | None, POSITIVE] = None
    weight: Annotated[float, NOT_NEGATIVE] = 0
    limit: Annotated[float, FINITE] = -1
    kind: Annotated[str, Choice(("a", "b"))] = "a"
    width: Annotated[int, Choice((8, 16))] = 8
    fast: Annotated[bool, Flag()] = False
    free: str = ""

    def __post_init__(self):
        check_fields(self)


@dataclass(frozen=True, kw_only=True)
class Other(Config):
    count: int = 9
    share: Annotated[float, POSITIVE] = 3


GOOD = [
    ("count", 2), ("count", 9), ("share", 0), ("share", 1), ("rate", 1e-9), ("rate", None),
    ("weight", 0), ("limit", -1e300), ("kind", "b"), ("width", 16), ("fast", True), ("free", 7),
]  # fmt: skip
BAD = [
    ("count", 1, "an integer in 2..9"), ("count", 10, "an integer in 2..9"),
    ("count", 2.0, "an integer in 2..9"), ("count", None, "an integer in 2..9"),
    ("share", -0.01, r"in \[0, 1\]"), ("share", 1.01, r"in \[0, 1\]"), ("share", True, "in "),
    ("share", None, "in "), ("rate", 0, "positive and finite"), ("rate", float("inf"), "positive"),
    ("weight", -1, "at least 0 and finite"), ("limit", float("nan"), "finite"),
    ("kind", "c", "one of a, b"), ("kind", ["a"], "one of a, b"), ("width", 9, "one of 8, 16"),
    ("fast", 1, "True or False"),
]  # fmt: skip


@pytest.mark.parametrize("name, value", GOOD)
def test_holds(name, value):
    assert getattr(Config(**{name: value}), name) == value


@pytest.mark.parametrize("name, value, rule", BAD)
def test_refuses(name, value, rule):
    with pytest.raises(ValueError, match=f"^{name} must be {rule}.*, not "):
        Config(**{name: value})


def test_a_subclass_keeps_the_rules_of_what_it_declares_again():
    with pytest.raises(ValueError, match="^count must be an integer in 2..9, not 10$"):
        Other(count=10)
    assert Other(share=5).share == 5, "and may have another one"
    with pytest.raises(ValueError, match="^share must be positive and finite, not 0$"):
        Other(share=0)


def test_numbers_of_numpy_become_pythons():
    """At any depth; what has none stays the object that it is."""
    one, row = np.int64(3), np.array([[1, 2], [3, 4]])
    assert repr(plain([1, [one, [np.float32(0.5)]], (row, "a")])) == repr(
        (1, (3, (0.5,)), (((1, 2), (3, 4)), "a"))
    )
    for value in ([1, [2, (3, "a")], {}], (), [], "text", None, {"a": one}):
        assert plain(value) is value


def test_rules_are_in_the_order_of_the_fields():
    names = ["count", "share", "rate", "weight", "limit", "kind", "width", "fast"]
    assert list(rules(Other)) == names


@pytest.mark.parametrize(
    "rule, text",
    [
        (Integer(1, 1000), "1 to 1000"),
        (Integer(0, 1 << 40), "0 to 2^40"),
        (Integer(0, (1 << 63) - 1), "0 to 2^63 - 1"),
        (Integer(1, 100_000), "1 to 100000"),
        (Choice((8, 16)), "8, 16"),
        (POSITIVE, "positive and finite"),
        (Flag(), "true or false"),
        (NOTHING, "none"),
    ],
)
def test_rules_in_words(rule, text):
    assert str(rule) == text


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (np.int64(3), 3),
        (np.bool_(True), True),
        (np.float32(0.5), 0.5),
        (np.array([32, 16]), (32, 16)),
        (np.array([[1, 2], [3, 4]]), ((1, 2), (3, 4))),
        ([np.int64(32), 16], (32, 16)),
        ((np.array([4, 2]), [np.int64(1)]), ((4, 2), (1,))),
        ([(np.int64(16), 8), (4, 2)], ((16, 8), (4, 2))),
        ([32, (16, 8)], [32, (16, 8)]),
        ("text", "text"),
    ],
)
def test_numbers_of_numpy_become_python_s(value, wanted):
    """Those of sweeps, also in lists and tuples."""
    found = plain(value)
    assert repr(found) == repr(wanted)

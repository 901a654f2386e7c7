"""host.commands.meanings: what is written beside fields is found, in every config."""

from dataclasses import dataclass

import pytest

import boards
from host.algorithms.registry import ALGORITHMS
from host.commands.meanings import meaning, meanings
from host.settings import leaves
from host.train.preset import preset
from hw.designs import DESIGNS


@dataclass(frozen=True, kw_only=True)
class Base:
    """A config.

    other : of the docstring
        on two lines.
    one, two : together.

    not : of a field.
    """

    #: Of the comment,
    #: on two lines.
    first: int = 1
    other: int = 2
    one: int = 3
    two: int = 4
    bare: int = 5


@dataclass(frozen=True, kw_only=True)
class Derived(Base):
    first: int = 6
    #: Now another.
    other: int = 7
    new: int = 8

    #: Of nothing.

    def method(self):
        later: int = 9  # noqa: F841


def test_comments_and_docstrings():
    assert meanings(Base) == {
        "first": "Of the comment, on two lines.",
        "other": "of the docstring on two lines.",
        "one": "together.",
        "two": "together.",
        "bare": "",
    }
    changed = {"other": "Now another.", "new": ""}
    assert meanings(Derived) == meanings(Base) | changed


def test_what_is_said_of_the_config_around_it():
    path = ((Base, "first"), (Derived, "new"))
    assert meaning(path) == "Of the comment, on two lines."
    assert meaning(((Base, "first"), (Derived, "other"))) == "Now another."
    assert meaning(((Base, "bare"), (Derived, "new"))) == ""


@pytest.mark.parametrize("algo", ALGORITHMS)
def test_every_field_of_a_run_says_what_it_means(algo):
    for name, _, path in leaves(preset(algo, "cpu")):
        assert meaning(path), name


@pytest.mark.parametrize("design", DESIGNS)
def test_every_field_of_a_kernel_says_what_it_means(design):
    for name, _, path in leaves(DESIGNS[design].default(boards.get("u200").numbers)):
        assert meaning(path), name

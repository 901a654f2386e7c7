"""host.cli.field_meanings: what is written beside fields is found, in every config."""

import re
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import pytest

import boards
from host.agents.registry import ALGORITHMS
from host.cli.field_meanings import meaning, meanings
from host.runs.preset import preset
from host.settings import leaves
from hw.designs import DESIGNS

ROOT = Path(__file__).parents[3]


@dataclass(frozen=True, kw_only=True)
class Base:
    """A config.

    other : of the docstring
        on two lines.
    one, two : together,
    without an indent.

    Of nothing : not of a field.
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
        "one": "together, without an indent.",
        "two": "together, without an indent.",
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


def configs():
    """The boards, a config of each design on each of them, of each algorithm on each learner."""
    for board in map(boards.get, boards.BOARDS):
        yield board
        for design in DESIGNS.values():
            yield design.default(board.numbers)
    for name, algorithm in ALGORITHMS.items():
        for learner in algorithm.learners:
            yield preset(name, learner)


def written():
    """The subclasses of ``ConfigBase`` that the sources have."""
    for folder in ("hw", "sim", "boards", "host"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            names = re.findall(r"^class (\w+)\(ConfigBase\)", path.read_text(), re.M)
            if names:
                module = import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
                yield from (getattr(module, name) for name in names)


#: Every class of a config, of which a field is shown or not.
KINDS = {
    **{kind: None for each in configs() for *_, path in leaves(each) for kind, _ in path},
    **dict.fromkeys(written()),
}


def is_whole(text):
    """Whether ``text`` is not cut: it ends a sentence, and what is opened is closed."""
    closed = all(text.count(one) == text.count(other) for one, other in ("()", "[]"))
    closed = closed and text.count("``") % 2 == 0
    return text.endswith((".", ".)")) and closed and "----" not in text


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind.__module__}.{kind.__name__}")
def test_no_meaning_is_cut(kind):
    cut = {name: text for name, text in meanings(kind).items() if text and not is_whole(text)}
    assert not cut


@pytest.mark.parametrize(
    "text",
    ["as many as", "numbers (of a layer.", "of ``words.", "int ---- of a layer.", "a list [of."],
)
def test_what_is_cut_is_found(text):
    assert len(KINDS) > 20 and is_whole("Numbers (of a ``word``).") and not is_whole(text)

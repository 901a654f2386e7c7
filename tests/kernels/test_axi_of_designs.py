"""Each design has a test of its whole kernel among cocotbext-axi's models (``axi.run``)."""

import ast
import re
from pathlib import Path

import pytest

from hw.designs import DESIGNS

TESTS = Path(__file__).parents[1]
PAGE = TESTS.parent / "docs" / "testing.md"


def run_by(text):
    """The designs that the calls of ``axi.run`` in a module are given, by name or by a parameter
    of their test."""
    found = set()
    for function in ast.walk(ast.parse(text)):
        if not isinstance(function, ast.FunctionDef):
            continue
        for call in ast.walk(function):
            if isinstance(call, ast.Call) and ast.unparse(call.func) == "axi.run":
                design = call.args[2]
                found |= values_of(design.id, function) if isinstance(design, ast.Name) else {
                    ast.literal_eval(design)
                }  # fmt: skip
    return found


def values_of(name, function):
    """The values that ``pytest.mark.parametrize`` gives the argument ``name`` of ``function``."""
    for mark in function.decorator_list:
        if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.parametrize":
            names = [each.strip() for each in ast.literal_eval(mark.args[0]).split(",")]
            if name in names:
                cases = ast.literal_eval(mark.args[1])
                return {case[names.index(name)] if len(names) > 1 else case for case in cases}
    return set()


@pytest.mark.parametrize("name", DESIGNS)
def test_a_design_runs_among_other_models(name):
    texts = [path.read_text() for path in sorted(TESTS.glob("**/test_*.py"))]
    assert name in set().union(*(run_by(text) for text in texts if "axi.run(" in text))


def test_the_page_names_every_design():
    """docs/testing.md lists the kernels that run so."""
    (listed,) = re.findall(r"rule\s+checks on every beat \((.*?)\)", PAGE.read_text(), re.S)
    assert set(re.findall(r"`(\w+)`", listed)) == {*DESIGNS}


def test_the_search_itself():
    text = (
        "@pytest.mark.parametrize('k, design', [(1, 'a'), (2, 'b')])\n"
        "def test_x(k, design):\n    axi.run(simulate, folder, design, config)\n"
        "def test_y():\n    axi.run(simulate, folder, 'c', config)\n"
        "def test_z():\n    other.run(simulate, folder, 'd', config)\n"
    )
    assert run_by(text) == {"a", "b", "c"} and not run_by("axi.walk(1, 2, 'a')")

"""What hw says of itself: every package, every class, and latencies that are the units' own."""

import ast
import inspect
import re
from importlib import import_module

import pytest

from tests.test_architecture import ROOT, files


def module_docstring(path):
    return ast.get_docstring(ast.parse(path.read_text())) or ""


def described_package(path):
    """Whether an ``__init__.py`` is a docstring, with an order of reading, and nothing else."""
    if not path.exists():
        return False
    tree = ast.parse(path.read_text())
    text = ast.get_docstring(tree) or ""
    named = re.findall(r"``([\w/]+\.py)``", text)
    return (
        len(tree.body) == 1
        and "Read " in text
        and bool(named)
        and all((path.parent / name).exists() for name in named)
    )


def undescribed(source):
    """Public classes of ``source`` whose docstring does not begin with a sentence."""
    for node in ast.parse(source).body:
        if not isinstance(node, ast.ClassDef) or node.name.startswith("_"):
            continue
        first = (ast.get_docstring(node) or "").strip().split("\n\n")[0]
        heading = re.search(r"^-{3,}$", first, re.M)
        if heading or len(first.split()) < 3 or not re.search(r"[.:]$", first):
            yield f"line {node.lineno}: {node.name}"


def test_packages_say_what_they_are():
    """A newcomer who opens a folder of hw finds its purpose, and the order to read its files in."""
    packages = {path.parent for path in files("hw")}
    assert len(packages) > 15
    silent = [
        str(package.relative_to(ROOT))
        for package in sorted(packages)
        if not described_package(package / "__init__.py")
    ]
    assert not silent


@pytest.mark.parametrize(
    "source, described",
    [
        (None, False),
        ("", False),
        ("# A comment.\n", False),
        ('"""Streams."""\n', False),
        ('"""Streams.\n\nRead ``queue.py``, then ``gone.py``.\n"""\n', False),
        ('"""Streams.\n\nRead ``queue.py``.\n"""\n', True),
        ('"""Streams.\n\nRead ``queue.py``.\n"""\nimport ast\n', False),
    ],
)
def test_the_package_check_itself(tmp_path, source, described):
    (tmp_path / "queue.py").touch()
    if source is not None:
        (tmp_path / "__init__.py").write_text(source)
    assert described_package(tmp_path / "__init__.py") == described


def test_classes_begin_with_a_sentence():
    found = {
        str(path.relative_to(ROOT)): bad
        for path in files("hw")
        if (bad := list(undescribed(path.read_text())))
    }
    assert not found


@pytest.mark.parametrize(
    "docstring, bad",
    [
        (None, True),
        ("", True),
        ("Parameters\n    ----------\n    config : Config.", True),
        ("Queue.", True),
        ("Words of a queue", True),
        ("The words of a queue.", False),
        ("``o = a + b``, rounded\n    to even:\n\n    Parameters\n    ----------", False),
    ],
)
def test_the_class_check_itself(docstring, bad):
    body = "..." if docstring is None else f'"""{docstring}"""'
    assert bool(list(undescribed(f"class Queue:\n    {body}\n"))) == bad
    assert not list(undescribed(f"class _Queue:\n    {body}\n"))


def test_latencies_in_prose_are_those_of_the_units():
    """A latency that a file's first words name is the ``LATENCY`` of one of its classes."""
    checked = 0
    for path in files("hw"):
        told = set(map(int, re.findall(r"latency (\d+)", module_docstring(path))))
        if not told:
            continue
        module = import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
        units = inspect.getmembers(module, inspect.isclass)
        known = {
            unit.LATENCY
            for _, unit in units
            if unit.__module__ == module.__name__ and hasattr(unit, "LATENCY")
        }
        assert told <= known, f"{path}: {told - known} of {known}"
        checked += len(told)
    assert checked >= 15

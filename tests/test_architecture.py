"""The house rules that a program can check: arrows between folders, file lengths, no paths."""

import ast
import inspect
import re
import subprocess
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

#: folder -> the project's folders that it may import
ARROWS = {
    "hw": {"hw"},
    "sim": {"hw", "sim"},
    "boards": {"hw", "boards"},
    "host": {"hw", "sim", "boards", "host", "bench"},
    "bench": {"hw", "sim", "boards", "host", "bench"},
}
PROJECT = {*ARROWS, "tests"}
LINES = 300

#: A home, a temporary or a build machine's directory; system paths (/usr, /opt/xilinx) are fine.
PRIVATE_PATH = re.compile(r"(?<![\w.])(/home/|/root/|/Users/|/tmp/|/work/|[A-Z]:\\\\Users)")


def imported(source):
    """``(line, module)`` of every import of ``source``, at whatever depth; relative ones as '.'."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.lineno, "." * node.level + (node.module or "")
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            name = node.args[0]
            if isinstance(name, ast.Constant):
                yield node.lineno, name.value


def offences(folder, source):
    """Imports of ``source``, a file of ``folder``, that go against the arrows."""
    return [
        f"line {line}: {module}"
        for line, module in imported(source)
        if module.startswith(".") or module.split(".")[0] in PROJECT - ARROWS[folder]
    ]


def unbounded(source):
    """cocotb tests of ``source`` without a limit of simulated time: they may wait for ever."""
    for node in ast.walk(ast.parse(source)):
        for mark in getattr(node, "decorator_list", ()):
            call = mark if isinstance(mark, ast.Call) else ast.Call(mark, [], [])
            given = {keyword.arg for keyword in call.keywords}
            if ast.unparse(call.func) == "cocotb.test" and "timeout_time" not in given:
                yield f"line {node.lineno}: {node.name}"


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


def files(*folders, suffix=".py"):
    return sorted(path for folder in folders for path in (ROOT / folder).rglob(f"*{suffix}"))


def committed():
    """Text files that git tracks, or would if they were added now."""
    listing = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    if listing.returncode:  # an unpacked archive has no index
        return [*files(*PROJECT), ROOT / "Makefile", *files("scripts", ".ci", suffix="")]
    paths = [ROOT / name for name in listing.stdout.split("\0") if name]
    return [path for path in paths if path.is_file() and path.suffix not in (".png", ".npz")]


@pytest.mark.parametrize("folder", ARROWS)
def test_arrows(folder):
    assert files(folder), f"{folder} has no Python file"
    found = {
        str(path.relative_to(ROOT)): bad
        for path in files(folder)
        if (bad := offences(folder, path.read_text()))
    }
    assert not found


@pytest.mark.parametrize(
    "folder, source, bad",
    [
        ("hw", "from hw.config import ConfigBase", 0),
        ("hw", "import numpy, sim.tools", 1),
        ("hw", "def f():\n    from boards import get", 1),
        ("hw", "from . import config", 1),
        ("sim", "import hw.shell\nimport host.card", 1),
        ("sim", "import importlib\nimportlib.import_module('boards')", 1),
        ("boards", "import hw.config\nimport sim", 1),
        ("host", "import hw, sim, boards, host", 0),
        ("host", "import tests.streams", 1),
        ("bench", "import hardware, hosting, testsuite", 0),
    ],
)
def test_the_check_itself(folder, source, bad):
    assert len(offences(folder, source)) == bad


def test_file_lengths():
    long = {
        str(path.relative_to(ROOT)): count
        for path in files(*PROJECT)
        if (count := path.read_text().count("\n")) > LINES
    }
    assert not long, f"split at a register or stream boundary: more than {LINES} lines"


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


def test_benches_are_bounded():
    """Most waits have limits of their own, that name what does not come; the others have this."""
    found = {}
    for path in files(*PROJECT):
        text = path.read_text()
        assert "@cocotb.test" in text or not path.name.endswith("_bench.py"), path
        if bad := list(unbounded(text)):
            found[str(path.relative_to(ROOT))] = bad
    assert not found


@pytest.mark.parametrize(
    "source, bad",
    [
        ("@cocotb.test()\nasync def a(dut): ...", ["line 2: a"]),
        ("@cocotb.test\nasync def a(dut): ...", ["line 2: a"]),
        ("@cocotb.test(skip=True)\n@cocotb.parametrize(x=[1])\nasync def a(dut, x): ...",
         ["line 3: a"]),
        ("@cocotb.test(timeout_time=1, timeout_unit='ms')\nasync def a(dut): ...", []),
        ("@cocotb.parametrize(timeout_time=[1])\nasync def a(dut, timeout_time): ...", []),
        ("async def test(dut): ...", []),
    ],
)  # fmt: skip
def test_the_bounds_check_itself(source, bad):
    assert list(unbounded(source)) == bad


def test_no_private_paths():
    # This file has to name them.
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in committed()
        if path != Path(__file__)
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if PRIVATE_PATH.search(line)
    ]
    assert not found


@pytest.mark.parametrize(
    "line, private",
    [
        ("/home/someone/x", True),
        ("open('/tmp/a')", True),
        ("/usr/bin/env", False),
        ("source /opt/xilinx/xrt/setup.sh", False),
        ("/build/", False),
        ("../tmp/x", False),
    ],
)
def test_private_path_pattern(line, private):
    assert bool(PRIVATE_PATH.search(line)) == private

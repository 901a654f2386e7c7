"""The house rules that a program can check: arrows between folders, file lengths, no paths."""

import ast
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

#: folder -> the project's folders that it may import
ARROWS = {
    "hw": {"hw"},
    "system": {"hw", "system"},
    "sim": {"hw", "system", "sim"},
    "boards": {"hw", "boards"},
    "host": {"hw", "system", "sim", "boards", "host"},
    "bench": {"hw", "system", "sim", "boards", "host", "rlfabric", "bench"},
    "rlfabric": {"hw", "system", "sim", "boards", "host", "rlfabric"},
}
#: folder of hw -> those it may import beside itself and the files of hw itself; later, the kernels
HW_ARROWS = {
    "stream": set(),
    "arith": {"stream"},
    "nn": {"stream", "arith"},
    "shell": {"stream"},
    "uart": {"stream", "shell"},
    "environment": {"stream", "arith"},
    "replay": {"stream", "arith", "shell"},
    "gae": {"stream", "arith", "shell"},
    "learner": {"stream", "arith", "nn", "shell", "environment", "replay"},
    "fixar": {"stream", "arith", "nn", "shell", "replay", "learner"},
    "fa3c": {"stream", "arith", "nn", "shell"},
}
#: the same of host, from the card's own side to the command line's
HOST_ARROWS = {
    "cards": set(), "kernels": set(), "algorithms": set(), "environments": set(),
    "programs": {"cards"},
    "trainers": {"algorithms"},
    "replay": {"cards", "programs", "algorithms", "environments"},
    "advantages": {"cards", "programs", "algorithms", "environments"},
    "a3c": {"cards", "programs", "algorithms", "environments"},
    "learner": {"cards", "programs", "algorithms", "replay"},
    "play": {"cards", "programs", "algorithms", "environments", "replay", "learner"},
    "fixar": {"cards", "algorithms", "replay", "learner"},
    "proof": {"algorithms", "learner", "fixar", "trainers"},
    "agents": {"algorithms", "environments", "advantages", "a3c", "fixar", "trainers"},
    "actors": {"algorithms", "environments", "replay", "advantages", "agents"},
    "runs": {"cards", "kernels", "programs", "algorithms", "environments", "replay", "advantages",
        "a3c", "learner", "play", "fixar", "agents", "actors"},
    "terminal": {"cards", "kernels", "agents", "runs"},
    "explore": {
        "cards", "kernels", "replay", "advantages", "a3c", "learner", "fixar", "terminal"},
    "sb3": {"replay"},
    "export": {"kernels", "algorithms", "agents", "runs", "terminal"},
    "compose": {"cards", "kernels", "algorithms", "environments", "replay", "trainers",
        "proof", "agents", "actors", "runs", "terminal"},
    "cli": {"kernels", "environments", "replay", "play", "agents", "actors", "runs", "terminal",
        "explore", "export", "compose"},
}  # fmt: skip
INSIDE = {"hw": HW_ARROWS, "host": HOST_ARROWS}
#: files of a package that stand above its folders: no file of those may import them
TOP = {"hw": {"designs"}, "host": set()}
PROJECT = {*ARROWS, "tests"}
LINES = 450
#: A function of hw, its head among them.
FUNCTION_LINES = 100

#: A home, a temporary or a build machine's directory; system paths (/usr, /opt/xilinx) are fine.
PRIVATE_PATH = re.compile(r"(?<![\w.])(/home/|/root/|/Users/|/tmp/|/work/|[A-Z]:\\\\Users)")


def imported(source):
    """``(line, module)`` of every import of ``source``, at whatever depth; relative ones as '.'."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            if node.level or "." in module:
                yield node.lineno, module
            else:  # from hw import designs
                yield from ((node.lineno, f"{module}.{alias.name}") for alias in node.names)
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
        ("hw", "import numpy, system.tools", 1),
        ("hw", "def f():\n    from boards import get", 1),
        ("hw", "from . import config", 1),
        ("sim", "import hw.shell\nimport host.cards", 1),
        ("sim", "import importlib\nimportlib.import_module('boards')", 1),
        ("boards", "import hw.config\nimport sim", 1),
        ("host", "import hw, sim, boards, host", 0),
        ("host", "import tests.streams", 1),
        ("bench", "import hardware, hosting, testsuite", 0),
    ],
)
def test_the_check_itself(folder, source, bad):
    assert len(offences(folder, source)) == bad


def offences_inside(package, folder, source):
    """Imports of ``source``, a file of ``package/folder``, that go against the arrows inside; a
    ``folder`` of None is that of the package itself, whose files need no folder."""
    arrows = INSIDE[package]
    others = {*arrows} - arrows.get(folder, set()) - {folder} | TOP[package]
    wrong = {f"{package}.{name}" for name in others}
    return [
        f"line {line}: {module}"
        for line, module in imported(source)
        if ".".join(module.split(".")[:2]) in wrong
    ]


def wrong_inside(package, folder, paths):
    assert paths, f"{package}/{folder} has no Python file"
    found = {
        str(path.relative_to(ROOT)): bad
        for path in paths
        if (bad := offences_inside(package, folder, path.read_text()))
    }
    assert not found


@pytest.mark.parametrize("folder", HW_ARROWS)
def test_arrows_inside_hw(folder):
    """A library needs no kernel, and no kernel another, but the learner replay, and FIXAR both."""
    wrong_inside("hw", folder, files(f"hw/{folder}"))


@pytest.mark.parametrize("folder", HOST_ARROWS)
def test_arrows_inside_host(folder):
    """Who drives a card by a loop of his own needs no algorithm, and no algorithm a run."""
    wrong_inside("host", folder, files(f"host/{folder}"))


@pytest.mark.parametrize("package", INSIDE)
def test_files_of_a_package_need_no_folder_of_it(package):
    paths = (ROOT / package).glob("*.py")
    wrong_inside(package, None, [path for path in paths if path.stem not in TOP[package]])


@pytest.mark.parametrize("package", INSIDE)
def test_every_folder_has_its_arrows(package):
    folders = {path.relative_to(ROOT).parts[1] for path in files(package)}
    assert {name for name in folders if not name.endswith(".py")} == set(INSIDE[package])


@pytest.mark.parametrize(
    "package, folder, source, bad",
    [
        ("hw", "nn", "from hw.arith.fixed import SQ\nimport hw.nn.layouts, hw.config", 0),
        ("hw", "nn", "import hw.replay.tree", 1),
        ("hw", "arith", "from hw import designs, stream, nn", 2),
        (
            "host",
            "algorithms",
            "from host import checkpoint\nfrom host.algorithms.config import Clock",
            0,
        ),
        ("host", "algorithms", "def f():\n    from host.runs.run_kinds import RunConfig", 1),
        ("host", "programs", "from host import learner, cards", 1),
        ("host", "terminal", "import host.cli.main", 1),
        ("host", None, "import host.rules\nfrom host.cli import doctor", 1),
    ],
)
def test_the_check_inside_itself(package, folder, source, bad):
    assert len(offences_inside(package, folder, source)) == bad


def test_file_lengths():
    long = {
        str(path.relative_to(ROOT)): count
        for path in files(*PROJECT)
        if (count := path.read_text().count("\n")) > LINES
    }
    assert not long, f"split at a register or stream boundary: more than {LINES} lines"


def long_functions(source):
    """``(name, lines)`` of functions of ``source`` of more than ``FUNCTION_LINES`` lines."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef):
            lines = node.end_lineno - node.lineno + 1
            if lines > FUNCTION_LINES:
                yield node.name, lines


def test_function_lengths():
    paths = files("hw")
    found = {
        str(path.relative_to(ROOT)): bad
        for path in paths
        if (bad := list(long_functions(path.read_text())))
    }
    assert not found


def test_the_check_of_functions_itself():
    body = "    x = 1\n" * (FUNCTION_LINES - 1)
    assert not list(long_functions(f"def f():\n{body}"))
    assert list(long_functions(f"def f():\n    def g(): ...\n{body}")) == [("f", 101)]


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

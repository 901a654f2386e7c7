"""The command line: what it prints, and what it exits with."""

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import boards
from boards.bitstream import AchievedClock, BuildFailed, Outcome, ToolsMissing, Used, WrongVersion
from host.agents.registry import ALGORITHMS, find
from host.cli import lists
from host.cli.doctor import Finding
from host.terminal import exit_codes
from hw.errors import MissingTool
from hw.extension import Registry
from tests.host.stub_designs import StubDesign

ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def stubs(monkeypatch):
    # In this order: what is imported while ``hw.designs`` is changed would keep it.
    for module in ("host.kernels", "hw.designs"):
        monkeypatch.setattr(f"{module}.DESIGNS", Registry("none", object, {"stub": StubDesign()}))
    monkeypatch.setattr(lists.console, "width", 200)


COMMANDS = ["verilog", "bitstream", "report", "train", "show", "evaluate"]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_an_example_that_works(run, command):
    code, out, _ = run(command, "--help")
    assert code == 0 and f"rlfabric {command} " in out.replace(f"Usage: rlfabric {command}", "")


#: the most modules of rlfabric that help and lists import, of 430 that a run does
_HELP, _LIST = 32, 54


@pytest.mark.parametrize(
    "words, most",
    [
        (["--help"], _HELP),
        (["train", "--help"], _HELP),
        (["verilog", "--help"], _HELP),
        (["list"], _LIST),
    ],
)
def test_help_and_lists_import_names_and_texts(words, most):
    """No core, algorithm, environment or array: a tenth of the processor time with them."""
    command = [sys.executable, "-X", "importtime", "-m", "rlfabric", *words]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=60)
    assert done.returncode == 0 and ("Usage: " in done.stdout or "Machines" in done.stdout)
    found = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    tops = {name.partition(".")[0] for name in found}
    assert "typer" in tops
    assert not tops & {"amaranth", "gymnasium", "jschon", "numba", "numpy", "ray", "torch"}
    ours = {"boards", "host", "hw", "rlfabric", "sim", "system"}
    assert len([name for name in found if name.partition(".")[0] in ours]) <= most


def test_a_start_imports_no_compiler():
    """Numba takes as long as all other imports of a list, torch longer; only a twin needs the one,
    only gradients on the CPU the other."""
    program = "import sys, host.runs.start_run, host.cli.lists as lists\n"
    program += "for show in [*lists.LISTS.values(), *lists.DETAILED.values()]: show()\n"
    program += "print(sorted({'numba', 'ray', 'torch'} & {*sys.modules}))"
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "[]"


def test_exit_codes_are_documented(run):
    code, out, _ = run("--help")
    text = " ".join(out[out.index("Exit codes") :].split())
    said = {int(n) for n in re.findall(r"\b\d+(?= [a-z])", text)}
    codes = {value for value in vars(exit_codes).values() if isinstance(value, int)}
    assert code == 0 and codes | {0} <= said


def test_list_names_everything(run):
    code, out, _ = run("list")
    assert code == 0
    names = *boards.BOARDS, *ALGORITHMS, *find("ppo").presets, "model", "sim", "xrt[:N]"
    for name in ("stub", "a memory [for tests]", *names):
        assert name in out


def test_verilog_prints_where(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, _ = run(
        "verilog", "stub", "--board", "U50", "--capacity", 64, "--set", "read.depth=2",
        "--out", tmp_path / "b", "--lint",
    )  # fmt: skip
    assert code == 0
    assert out.splitlines() == [
        "clean under verilator --lint-only -Wall with lint.vlt",
        os.path.join("b", "u50", "stub"),
    ]
    config = json.loads((tmp_path / "b/u50/stub/config.json").read_text())["config"]
    assert (config["capacity"], config["read"]["depth"]) == (64, 2)


@pytest.mark.parametrize(
    "what", ["designs", "boards", "algorithms", "presets", "learners", "memories", "cards"]
)
def test_list_of_one_kind(run, what):
    code, out, _ = run("list", what)
    assert code == 0 and what.title() in out
    assert ("xilinx_u200_gen3x16_xdma_2_202110_1, tools of release 2021.2 to 2025.1" in out) == (
        what == "boards"
    )


@pytest.mark.parametrize("board, tool", [("u200", "v++"), ("zcu106", "vivado")])
def test_bitstream_without_the_tools(run, tmp_path, monkeypatch, board, tool):
    monkeypatch.setattr("boards.bitstream.shutil.which", lambda name: None)
    code, out, err = run("bitstream", "stub", "--board", board, "--out", tmp_path)
    assert code == 5
    directory = tmp_path / board / "stub"
    assert os.path.samefile(out.strip(), directory)
    writing, missing = err.splitlines()
    assert writing == f"rlfabric: writing Verilog of stub for {boards.get(board).title}"
    assert missing.startswith(f"rlfabric: {tool} must be on PATH, not missing; all its inputs are")
    # papers N16: what to type next
    assert missing.endswith("; `make bitstream DESIGN=stub BOARD=ulx3s` needs no vendor's tool")
    names = {path.name for path in directory.iterdir()}
    assert {"stub.v", "ip.tcl", "README.md"} <= names
    manifest = json.loads((directory / "manifest.json").read_text())
    assert set(manifest["sha256"]) == names - {"manifest.json"}


def test_bitstream_says_what_it_made(run, tmp_path, monkeypatch):
    asked = []

    def build(folder, description, board, **options):
        asked.append((description.name, board.title, board.clocks[0].mhz, options))
        clock = AchievedClock(name="DATA_CLK", asked_mhz=300, mhz=287.5)
        used = (Used(name="LUT4", count=520, total=1000),)
        return Outcome(bitstream=folder / "stub.xclbin", clocks=(clock,), used=used)

    def check(board, **options):
        asked.append(options)

    monkeypatch.setattr("boards.bitstream.build", build)
    monkeypatch.setattr("boards.bitstream.check_options", check)
    found = boards.get
    # Of a board whose clock is part of the bitstream, the design's own is asked for and printed.
    monkeypatch.setattr(
        boards, "get", lambda name, design=None: replace(found(name), title=f"{name} for {design}")
    )
    words = "--board", "u50", "--target", "hw_emu", "--platform", "p", "--seed", 5, "--mhz", 123
    code, out, _ = run("bitstream", "stub", *words, "--out", tmp_path)
    options = {"target": "hw_emu", "platform": "p", "seed": 5}
    assert code == 0 and asked == [options, ("stub", "u50 for stub", 123, options)]
    directory, clock, cells, made = out.splitlines()
    assert clock == "clock DATA_CLK: 287.5 MHz of 300 asked for"
    assert cells == "LUT4: 520 of 1000 (52 %)"
    assert os.path.normpath(made) == os.path.join(os.path.normpath(directory), "stub.xclbin")
    assert "FREQUENCY ?= 123\n" in (Path(directory) / "Makefile").read_text()


@pytest.mark.parametrize(
    "error, expected", [(ToolsMissing, 5), (WrongVersion, 6), (BuildFailed, 1), (MissingTool, 3)]
)
def test_exit_codes_of_a_build(run, tmp_path, monkeypatch, error, expected):
    def build(*_, **__):
        raise error("v++ must be there")

    monkeypatch.setattr("boards.bitstream.build", build)
    code, _, err = run("bitstream", "stub", "--out", tmp_path)
    (line,) = err.splitlines()[1:]
    assert (code, line.partition(";")[0]) == (expected, "rlfabric: v++ must be there")


def test_output_that_cannot_be_written(run, tmp_path):
    (tmp_path / "u200").write_text("a file where a folder must be")
    for command in ("verilog", "bitstream"):
        code, _, err = run(command, "stub", "--out", tmp_path)
        assert code == 7
        assert err.startswith("rlfabric: ") and " must be writable, not refused: " in err


def test_unchanged_files_are_not_written_again(run, tmp_path):
    """A tool that goes by dates then makes nothing twice."""

    def written(*words):
        run("verilog", "stub", *words, "--out", tmp_path)
        files = list((tmp_path / "u200" / "stub").iterdir())
        new = {path.name for path in files if path.stat().st_mtime != 1}
        for path in files:
            os.utime(path, (1, 1))
        return new

    everything = written()
    assert "stub.v" in everything and written() == set()
    assert written("--set", "rate=0.25") == everything  # another kernel's are all removed first


@pytest.mark.parametrize(
    "words, code, message",
    [
        (["verilog", "none"], 2, "rlfabric: design must be one of stub, not 'none'"),
        (["verilog", "stub", "--board", "x"], 2, "rlfabric: board must be one of u200, u50"),
        (["verilog", "stub", "--set", "x"], 2, "rlfabric: --set must be FIELD=VALUE, not 'x'"),
        (["verilog", "stub", "--set", "x=1"], 2, "rlfabric: x must be the name of a field"),
        (["verilog", "stub", "--capacity", "1"], 2, "Invalid value for '--capacity'"),
        (["verilog", "stub", "--capacity", str(2**30)], 4, "rlfabric: capacity must be at most"),
        (["train", "a2c"], 2, "ALGO must be one of dqn, ddpg, td3, sac, ppo, a3c, not 'a2c'"),
        (["bitstream", "none"], 2, "rlfabric: design must be one of stub, not 'none'"),
        (["bitstream", "stub", "--board", "x"], 2, "rlfabric: board must be one of u200, u50"),
        (["bitstream", "stub", "--capacity", str(2**30)], 4, "rlfabric: capacity must be at most"),
        (["list", "none"], 2, "rlfabric: WHAT must be one of designs, boards, "),
        (["simulate"], 2, "No such command 'simulate'"),
    ],
)
def test_user_errors_end_in_one_line(run, tmp_path, words, code, message):
    got, _, err = run(
        *words, *(["--out", tmp_path] if words[0] in ("verilog", "bitstream") else [])
    )
    assert got == code and message in err and "Traceback" not in err


def test_a_user_error_of_the_module_is_a_line_too():
    """Run as a module, the command line's own refusals come from one called ``__main__``."""
    words = [sys.executable, "-m", "rlfabric", "list", "none"]
    done = subprocess.run(words, capture_output=True, text=True, cwd=ROOT, timeout=60)
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert done.stderr.startswith("rlfabric: WHAT must be one of designs, boards, ")


@pytest.mark.parametrize("missing, code", [(False, 0), (True, 3)])
def test_doctor_exit_code(run, monkeypatch, missing, code):
    finding = Finding(
        name="g++",
        found=None if missing else "12",
        enables="make demo",
        required=True,
        install="apt-get install g++",
    )
    optional = Finding(name="v++", found=None, enables="", required=False, install="")
    monkeypatch.setattr("host.cli.doctor.examine", lambda: [finding, optional])
    got, out, _ = run("doctor")
    assert got == code
    assert ("missing: g++: apt-get install g++" in out) == missing


@pytest.mark.parametrize("words, code", [([], 0), (["--tests"], 3)])
def test_what_only_tests_need(run, monkeypatch, words, code):
    values = dict(name="tclsh", found=None, enables="make test", install="apt-get install tcl")
    finding = Finding(**values, required=False, for_tests=True)
    monkeypatch.setattr("host.cli.doctor.examine", lambda: [finding])
    got, out, _ = run("doctor", *words)
    assert got == code and "for tests" in out
    assert ("missing: tclsh: apt-get install tcl" in out) == (code == 3)


def test_report(run, monkeypatch, tmp_path):
    asked = {}

    def make(name, board, out, **values):
        asked.update(name=name, board=board, out=out, **values)
        return {"board": board, "mapped": {"lut": 5}}

    monkeypatch.setattr("host.explore.resource_report.make", make)
    monkeypatch.setattr(
        "host.explore.resource_report.show", lambda result, board, folder: print(folder)
    )
    words = ("report", "stub", "--board", "u50", "--out", tmp_path, "--set", "read.depth=3")
    code, out, _ = run(*words, "--levels", 2)
    assert code == 0 and out.strip().endswith("u50/stub")
    given = {"read.depth": "3"}
    asked_for = dict(name="stub", board="u50", out=tmp_path, levels=2, overwrite=False)
    assert asked == asked_for | {"library": False} | given
    code, out, _ = run(*words, "--json")
    assert code == 0 and json.loads(out)["mapped"] == {"lut": 5}

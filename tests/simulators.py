"""Builds a unit's Verilog for cocotb and runs a bench in it, under Icarus or Verilator."""

import json
import os
import shutil
from pathlib import Path

from cocotb_program import cocotb_program
from cocotb_tools.runner import get_runner

from sim.verilate import built_once
from system.tools import BUILD_DIRECTORY, require

__all__ = ["SIMULATORS", "run_bench"]

ROOT = Path(__file__).parent.parent
SIMULATORS = ("icarus", "verilator")

_TIMESCALE = ("1ns", "1ps")
#: Verilator knows no X: what nothing has written holds random bits, the same in every run.
_ARGUMENTS = {"icarus": [], "verilator": ["+verilator+rand+reset+2", "+verilator+seed+1"]}


def run_bench(simulator, verilog, bench, folder, *, name, case, waves=None):
    """Run the cocotb module ``bench`` on module ``name`` of the text ``verilog``, in ``folder``.

    ``simulator``: one of ``SIMULATORS``, or "icarus-2005", which takes the text for Verilog where
    "icarus" takes it for SystemVerilog: other things come first at time 0. The bench finds ``case``
    as JSON in the environment variable CASE. ``waves``: a path without suffix, where the waveform
    is kept. Raises SystemExit where a test of the bench fails, AssertionError where it has none.
    """
    built = _BUILD[simulator](verilog, name, waves is not None)
    simulator = simulator.partition("-")[0]
    try:
        results = get_runner(simulator).test(
            hdl_toplevel=name,
            hdl_toplevel_lang="verilog",
            test_module=bench,
            build_dir=built,
            test_dir=folder,
            plusargs=_ARGUMENTS[simulator],
            timescale=_TIMESCALE,
            waves=waves is not None,
            extra_env={
                "CASE": json.dumps(case),
                # Twins that a bench asks are compiled once for all.
                "RLFABRIC_BUILD": str(BUILD_DIRECTORY),
                # cocotb has pytest rewrite assertions: in all that a bench imports, NumPy among it,
                # and with all plugins.
                "COCOTB_REWRITE_ASSERTION_FILES": "*_bench.py",
                "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
                "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests")]),
            },
        )
    finally:
        for dump in folder.glob("dump.*"):
            waves.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(dump, waves.with_name(waves.name + dump.suffix))
    assert "<testcase" in Path(results).read_text(), f"{bench} ran no test"


def _icarus(verilog, name, waves, *options):
    """The folder of ``sim.vvp``."""
    require("iverilog", "verilator", "g++")  # builds are kept by the versions of all
    if waves:  # the runner has a module for that, but it names the folder of the build
        verilog += f"\nmodule waves; initial $dumpvars(0, {name}); endmodule\n"
        options += ("-s", "waves")

    def make(work):
        source = work / f"{name}.v"
        source.write_text(verilog)
        get_runner("icarus").build(
            sources=[source],
            hdl_toplevel=name,
            build_dir=work / "out",
            build_args=options,
            timescale=_TIMESCALE,
        )

    return built_once(f"icarus/{name}", (verilog, options), make)


def _verilator(verilog, name, waves):
    """The folder of the program, which has the name of the module."""
    return cocotb_program(name, verilog, trace=waves).parent


_BUILD = {
    "icarus": _icarus,  # -g2012
    "icarus-2005": lambda *arguments: _icarus(*arguments, "-g2005"),
    "verilator": _verilator,
}

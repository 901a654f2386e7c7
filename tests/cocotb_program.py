"""Compile Verilog to a program in which cocotb runs benches, once for each content."""

from cocotb_tools import config as cocotb

from sim.verilate import COMPILE, RUNTIME, TOOLS, built_once, compiled, gathered, runtime
from system.processes import run
from system.tools import require

__all__ = ["cocotb_program"]

#: The names are those that cocotb's main program knows. Few functions, and few options for the
#: compiler: the time of a run goes to Python.
_VERILATE = (
    *("--cc", "--prefix", "Vtop", "--vpi", "--public-depth", "1", "--timescale", "1ns/1ps"),
    *("--no-timing", "-Wno-fatal", "-Wno-lint", "--output-split", "0"),
)
#: cocotb's library calls functions of the program that it is linked to; to optimize them takes
#: longer than the quick benches run.
_VISIBLE = "-fvisibility=default"
_RUNTIME = ("verilated_dpi", "verilated_vpi")


def cocotb_program(top, verilog, *, trace=False):
    """Path of the program in which cocotb finds module ``top`` and its ports, not what is inside.

    Parameters and errors as of ``sim.verilate.shared_library``.
    """
    require(*TOOLS)
    options = (*_VERILATE, "--top-module", top, *(["--trace-vcd"] if trace else []))
    main = cocotb.share_dir / "lib" / "verilator" / "verilator.cpp"
    built = built_once(
        f"cocotb/{top}-trace" if trace else f"cocotb/{top}",
        # A program names cocotb's library by its path.
        (verilog, options, COMPILE, str(cocotb.libs_dir)),
        lambda work: _build_program(work, top, verilog, options, main, cocotb.libs_dir),
    )
    return built / top


def _build_program(work, top, verilog, options, main, libraries):
    (work / "top.v").write_text(verilog)
    run(work, "verilator", *options, "--Mdir", "model", "top.v")
    units = [main, *sorted((work / "model").glob("*.cpp"))]
    whole = gathered(work, "whole.cpp", units)
    flags = (_VISIBLE, f"-DVM_TRACE={int('--trace-vcd' in options)}", "-Imodel")
    objects = compiled(work, [("-O1", whole)], *flags)
    run(
        work, "g++", "-pthread", "-o", f"out/{top}", *objects,
        *runtime(work, "verilated", RUNTIME), *runtime(work, "cocotb", _RUNTIME, _VISIBLE, "-O0"),
        f"-L{libraries}", f"-Wl,-rpath,{libraries}", "-lcocotbvpi_verilator",
    )  # fmt: skip

"""Compile Verilog with a C++ harness to a shared library, or for cocotb, once for each content.

The C++ that Verilator writes is compiled here rather than by its Makefile, which cannot stand
spaces in paths and names the compiler of the machine where the wheel was built.
"""

import fcntl
import functools
import hashlib
import os
import shutil
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from sim.tools import BUILD_DIRECTORY, require, tool_environment

__all__ = ["BuildError", "built_once", "cocotb_program", "shared_library"]

_VERILATE = (
    *("--cc", "--prefix", "Vtop", "-O3", "--no-timing", "--no-assert", "-Wno-fatal", "-Wno-lint"),
    # All registers start at 0: the same run every time, and no clock spent on random values.
    *("--x-assign", "fast", "--x-initial", "fast"),
    # The compiler's time grows faster than its functions.
    *("--output-split-cfuncs", "300"),
)
#: The names are those that cocotb's main program knows. Few functions, and few options for the
#: compiler: the time of a run goes to Python.
_VERILATE_COCOTB = (
    *("--cc", "--prefix", "Vtop", "--vpi", "--public-depth", "1", "--timescale", "1ns/1ps"),
    *("--no-timing", "-Wno-fatal", "-Wno-lint", "--output-split", "0"),
)
_COMPILE = ("g++", "-std=c++17", "-fPIC", "-fvisibility=hidden", "-fno-gnu-unique", "-w")
#: Bytes of C++ from which on a build costs more than it saves: at -O1 a kernel with a learner is
#: built in a third of the time and runs a fifth slower.
_LARGE = 4 << 20
_RUNTIME = ("verilated", "verilated_threads", "verilated_vcd_c")
_RUNTIME_COCOTB = (*_RUNTIME, "verilated_dpi", "verilated_vpi")
#: cocotb's library calls functions of the program that it is linked to.
_VISIBLE = "-fvisibility=default"


class BuildError(RuntimeError):
    """Verilator or the compiler refused its input; the message ends with what it printed."""


def shared_library(top, verilog, sources, *, trace=False):
    """Path of the shared library of module ``top`` and its harness.

    Parameters
    ----------
    top : str
        Module of the Verilog text ``verilog``; in C++ it is the class ``Vtop``.
    sources : dict of str to str
        C++ texts by file name; ``harness.cpp`` is compiled, others are there to be included.
    trace : bool
        Build the slower variant that writes waveforms.

    Raises MissingTool, or BuildError with the tool's output.
    """
    require("verilator", "perl", "g++")
    sources = {**sources, "top.v": verilog}
    options = (*_VERILATE, "--top-module", top, *(["--trace-vcd"] if trace else []))
    built = built_once(
        f"verilated/{top}-trace" if trace else f"verilated/{top}",
        (sorted(sources.items()), options, _COMPILE),
        lambda work: _build(work, sources, options, trace),
    )
    return built / "library.so"


def cocotb_program(top, verilog, *, trace=False):
    """Path of the program in which cocotb finds module ``top`` and its ports, not what is inside.

    Parameters and errors as above.
    """
    from cocotb_tools import config as cocotb

    require("verilator", "perl", "g++")
    options = (*_VERILATE_COCOTB, "--top-module", top, *(["--trace-vcd"] if trace else []))
    main = cocotb.share_dir / "lib" / "verilator" / "verilator.cpp"
    built = built_once(
        f"cocotb/{top}-trace" if trace else f"cocotb/{top}",
        # A program names cocotb's library by its path.
        (verilog, options, _COMPILE, str(cocotb.libs_dir)),
        lambda work: _build_program(work, top, verilog, options, main, cocotb.libs_dir),
    )
    return built / top


def built_once(name, identity, make):
    """The folder ``name`` that ``make(work)`` fills as ``work / "out"``, made if there is none yet.

    One for each ``identity`` and version of the tools, below the build directory.
    """
    key = hashlib.sha256(repr((identity, _versions())).encode()).hexdigest()[:16]
    built = BUILD_DIRECTORY / f"{name}-{key}"
    if not built.exists():
        built.parent.mkdir(parents=True, exist_ok=True)
        with open(built.parent / f".{built.name}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not built.exists():
                # Built aside and renamed: an interrupt never leaves half a build behind.
                with tempfile.TemporaryDirectory(dir=built.parent, prefix=".work-") as work:
                    (Path(work) / "out").mkdir()
                    make(Path(work))
                    (Path(work) / "out").rename(built)
    return built


def _build(work, sources, options, trace):
    for name, text in sources.items():
        (work / name).write_text(text)
    _run(work, "verilator", *options, "--Mdir", "model", "top.v")
    # What runs once, constructors and traces, is one unit, not optimized.
    fast, once = [], []
    for unit in sorted((work / "model").glob("*.cpp")):
        slow = unit.name == "Vtop.cpp" or any(x in unit.name for x in ("Slow", "Syms", "Trace"))
        (once if slow else fast).append(unit.name)
    (work / "once.cpp").write_text("".join(f'#include "{name}"\n' for name in once))
    size = sum((work / "model" / name).stat().st_size for name in fast)
    level = "-O3" if size < _LARGE else "-O1"
    units = [(level, f"model/{name}") for name in fast] + [("-O3", "harness.cpp")]
    objects = _compile(work, [*units, ("-O0", "once.cpp")], f"-DVM_TRACE={int(trace)}", "-Imodel")
    _run(
        work, "g++", "-shared", "-pthread", "-o", "out/library.so", *objects,
        *_runtime("verilated", _RUNTIME),
    )  # fmt: skip


def _build_program(work, top, verilog, options, main, libraries):
    (work / "top.v").write_text(verilog)
    _run(work, "verilator", *options, "--Mdir", "model", "top.v")
    units = [main, *sorted((work / "model").glob("*.cpp"))]
    (work / "whole.cpp").write_text("".join(f'#include "{unit}"\n' for unit in units))
    flags = (_VISIBLE, f"-DVM_TRACE={int('--trace-vcd' in options)}", "-Imodel")
    objects = _compile(work, [("-O1", "whole.cpp")], *flags)
    _run(
        work, "g++", "-pthread", "-o", f"out/{top}", *objects,
        *_runtime("cocotb", _RUNTIME_COCOTB, _VISIBLE),
        f"-L{libraries}", f"-Wl,-rpath,{libraries}", "-lcocotbvpi_verilator",
    )  # fmt: skip


def _runtime(place, names, *flags):
    """Objects of Verilator's own sources, the most of a small build: compiled once for all."""

    def make(work):
        units = [("-O1", f"{_include()}/{name}.cpp") for name in names]
        for name in _compile(work, units, *flags):
            (work / name).rename(work / "out" / name)

    built = built_once(f"{place}/runtime", (_COMPILE, names, flags), make)
    return sorted(map(str, built.glob("*.o")))


def _compile(work, units, *flags):
    """Object files of ``units``, pairs of optimization level and source."""

    def one(unit):
        level, source = unit
        _run(work, *_COMPILE, level, *flags, "-I.", f"-I{_include()}", f"-I{_include()}/vltstd",
             "-c", source)  # fmt: skip
        return f"{Path(source).stem}.o"

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(one, units))


def _run(work, *command):
    environment = tool_environment()
    # subprocess looks programs up on its own PATH, not on that of the environment it passes on.
    program = shutil.which(command[0], path=environment["PATH"])
    result = subprocess.run(
        [program, *command[1:]], cwd=work, env=environment, text=True, capture_output=True
    )
    if result.returncode:
        output = (result.stderr + result.stdout).strip()
        raise BuildError(f"{command[0]} must accept its input, not fail:\n{output[-4000:]}")
    return result.stdout


@functools.cache
def _versions():
    return [_run(".", tool, "--version") for tool in ("verilator", "g++")]


@functools.cache
def _include():
    return Path(_run(".", "verilator", "--getenv", "VERILATOR_ROOT").strip(), "include")

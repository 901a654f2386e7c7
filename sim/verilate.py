"""Compile Verilog with a C++ harness to a shared library, or for cocotb, once for each content.

The C++ that Verilator writes is compiled here rather than by its Makefile, which cannot stand
spaces in paths and names the compiler of the machine where the wheel was built.
"""

import functools
import hashlib
import os
from pathlib import Path

from sim.cache import kept, say
from sim.processes import BuildError, run, run_all
from sim.tools import BUILD_DIRECTORY, require

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
#: Bytes below which the headers, which each unit reads, cost the most: all of it is one unit.
_SMALL = 1 << 19
_RUNTIME = ("verilated", "verilated_threads", "verilated_vcd_c")
_RUNTIME_COCOTB = (*_RUNTIME, "verilated_dpi", "verilated_vpi")
#: cocotb's library calls functions of the program that it is linked to.
_VISIBLE = "-fvisibility=default"


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
        lambda work: _build(work, top, sources, options, trace),
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

    One for each ``identity`` and version of the tools, below the build directory; see
    ``sim.cache.kept``.
    """
    key = hashlib.sha256(repr((identity, _versions())).encode()).hexdigest()[:16]
    return kept(BUILD_DIRECTORY / f"{name}-{key}", make)


def _build(work, top, sources, options, trace):
    for name, text in sources.items():
        (work / name).write_text(text)
    say(f"compiling kernel {top} with Verilator; the next run of it will find it compiled")
    run(work, "verilator", *options, "--Mdir", "model", "top.v")
    objects = _compile(work, _units(work), f"-DVM_TRACE={int(trace)}", "-Imodel")
    run(
        work, "g++", "-shared", "-pthread", "-o", "out/library.so", *objects,
        *_runtime("verilated", _RUNTIME),
    )  # fmt: skip


def _units(work):
    """Level and source of each unit of the library."""
    # What runs once, constructors and traces, is one unit, not optimized.
    fast, once = ["harness.cpp"], []
    for unit in sorted((work / "model").glob("*.cpp")):
        slow = unit.name == "Vtop.cpp" or any(x in unit.name for x in ("Slow", "Syms", "Trace"))
        (once if slow else fast).append(f"model/{unit.name}")
    size = sum((work / name).stat().st_size for name in fast)
    if size < _SMALL:
        return [("-O3", _gathered(work, "whole.cpp", fast + once))]
    level = "-O3" if size < _LARGE else "-O1"
    parts = [(level, part) for part in _parts(work, fast)]
    return [*parts, ("-O0", _gathered(work, "once.cpp", once))]


def _parts(work, names):
    """``names`` in as many units as this process may use cores, alike in size: each unit reads the
    headers again, which takes a third of the time of many small ones."""
    parts = [[] for _ in range(min(len(os.sched_getaffinity(0)), len(names)))]
    sizes = {name: (work / name).stat().st_size for name in names}
    for name in sorted(names, key=sizes.get, reverse=True):
        min(parts, key=lambda part: sum(map(sizes.get, part))).append(name)
    return [_gathered(work, f"part_{k}.cpp", part) for k, part in enumerate(parts)]


def _gathered(work, name, sources):
    (work / name).write_text("".join(f'#include "{source}"\n' for source in sources))
    return name


def _build_program(work, top, verilog, options, main, libraries):
    (work / "top.v").write_text(verilog)
    run(work, "verilator", *options, "--Mdir", "model", "top.v")
    units = [main, *sorted((work / "model").glob("*.cpp"))]
    whole = _gathered(work, "whole.cpp", units)
    flags = (_VISIBLE, f"-DVM_TRACE={int('--trace-vcd' in options)}", "-Imodel")
    objects = _compile(work, [("-O1", whole)], *flags)
    run(
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
    include = ("-I.", f"-I{_include()}", f"-I{_include()}/vltstd")
    run_all(work, [(*_COMPILE, level, *flags, *include, "-c", source) for level, source in units])
    return [f"{Path(source).stem}.o" for _, source in units]


@functools.cache
def _versions():
    return [run(".", tool, "--version") for tool in ("verilator", "g++")]


@functools.cache
def _include():
    return Path(run(".", "verilator", "--getenv", "VERILATOR_ROOT").strip(), "include")

"""Compile Verilog with a C++ harness to a shared library, once for each content.

The C++ that Verilator writes is compiled here rather than by its Makefile, which fails with spaces
in paths and names the compiler of the machine where the wheel was built.
"""

import functools
import hashlib
import os
from pathlib import Path

from sim.cache import kept, say
from sim.processes import BuildError, run, run_all
from sim.tools import BUILD_DIRECTORY, require

__all__ = [
    "COMPILE",
    "RUNTIME",
    "TOOLS",
    "BuildError",
    "built_once",
    "compiled",
    "gathered",
    "runtime",
]
__all__ += ["shared_library"]

_VERILATE = (
    *("--cc", "--prefix", "Vtop", "-O3", "--no-timing", "--no-assert", "-Wno-fatal", "-Wno-lint"),
    # All registers start at 0: the same run every time, and no clock spent on random values.
    *("--x-assign", "fast", "--x-initial", "fast"),
    # The compiler's time grows faster than its functions.
    *("--output-split-cfuncs", "300"),
)
#: Programs that a build runs.
TOOLS = ("verilator", "perl", "g++")
COMPILE = ("g++", "-std=c++17", "-fPIC", "-fvisibility=hidden", "-fno-gnu-unique", "-w")
#: Bytes of C++ from which on a build costs more than it saves: at -O1 a kernel with a learner is
#: built in a third of the time and runs a fifth slower.
_LARGE = 4 << 20
#: Bytes below which the headers, which each unit reads, cost the most: all of it is one unit.
_SMALL = 1 << 19
RUNTIME = ("verilated", "verilated_threads", "verilated_vcd_c")


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
    require(*TOOLS)
    sources = {**sources, "top.v": verilog}
    options = (*_VERILATE, "--top-module", top, *(["--trace-vcd"] if trace else []))
    built = built_once(
        f"verilated/{top}-trace" if trace else f"verilated/{top}",
        (sorted(sources.items()), options, COMPILE),
        lambda work: _build(work, top, sources, options, trace),
    )
    return built / "library.so"


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
    objects = compiled(work, _units(work), f"-DVM_TRACE={int(trace)}", "-Imodel")
    run(
        work, "g++", "-shared", "-pthread", "-o", "out/library.so", *objects,
        *runtime("verilated", RUNTIME),
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
        return [("-O3", gathered(work, "whole.cpp", fast + once))]
    level = "-O3" if size < _LARGE else "-O1"
    parts = [(level, part) for part in _parts(work, fast)]
    return [*parts, ("-O0", gathered(work, "once.cpp", once))]


def _parts(work, names):
    """Groups ``names`` into as many units of similar size as this process may use cores, because
    each unit reads the headers again, which takes a third of the time of many small ones."""
    parts = [[] for _ in range(min(len(os.sched_getaffinity(0)), len(names)))]
    sizes = {name: (work / name).stat().st_size for name in names}
    for name in sorted(names, key=sizes.get, reverse=True):
        min(parts, key=lambda part: sum(map(sizes.get, part))).append(name)
    return [gathered(work, f"part_{k}.cpp", part) for k, part in enumerate(parts)]


def gathered(work, name, sources):
    """``name``, a file in ``work`` that includes ``sources``: they are compiled as one unit."""
    (work / name).write_text("".join(f'#include "{source}"\n' for source in sources))
    return name


def runtime(place, names, *flags):
    """Objects of Verilator's own sources, which are most of a small build; they are compiled once
    for all."""

    def make(work):
        units = [("-O1", f"{_include()}/{name}.cpp") for name in names]
        for name in compiled(work, units, *flags):
            (work / name).rename(work / "out" / name)

    built = built_once(f"{place}/runtime", (COMPILE, names, flags), make)
    return sorted(map(str, built.glob("*.o")))


def compiled(work, units, *flags):
    """Object files in ``work`` of ``units``, pairs of optimization level and source."""
    include = ("-I.", f"-I{_include()}", f"-I{_include()}/vltstd")
    run_all(work, [(*COMPILE, level, *flags, *include, "-c", source) for level, source in units])
    return [f"{Path(source).stem}.o" for _, source in units]


@functools.cache
def _versions():
    return [run(".", tool, "--version") for tool in ("verilator", "g++")]


@functools.cache
def _include():
    return Path(run(".", "verilator", "--getenv", "VERILATOR_ROOT").strip(), "include")

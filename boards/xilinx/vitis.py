"""The flow of Alveo cards: IP, kernel object, link and package with Vitis, a file for XRT."""

import re
import subprocess
from pathlib import Path

from boards.bitstream import (
    AchievedClock,
    BuildFailed,
    Outcome,
    ToolsMissing,
    execute,
    find_tool,
)
from boards.memory import configured
from boards.templates import heading, render, training
from boards.xilinx.kernel import common
from boards.xilinx.releases import XRT, check_release, fitting

__all__ = ["TARGETS", "achieved", "files", "run"]

TARGETS = ("hw", "hw_emu")
#: By itself make would prefer a file GNUmakefile, which is not ours.
_MAKE = ("make", "-f", "Makefile")


def _region(board, banks, mapped):
    """The die for a kernel with the resources ``mapped``: the die of one of its banks, if it fits.

    The index of the first region whose planned share is large enough. None if no region is, if the
    kernel has not been mapped (a design's own estimate leaves out most of its logic), or if no
    bank's region is known: then the tools place the kernel.
    """
    near = [bank.region for bank in banks if bank.region is not None]
    if mapped is None or not near:
        return None
    order = dict.fromkeys([*near, *range(len(board.regions))])
    for region in order:
        if not list(board.planned(board.regions[region]).exceeded(mapped)):
            return region
    return None


def _memory(bank):
    """The name of a bank for v++.

    If pseudo-channels of the HBM are joined, random reads are slow, except through AMD's RAMA block
    at a port of the HBM that no other master has: here the port of the first pseudo-channel.
    (UG1393, PG310; AMD's own examples are HBM[4:7].4.RAMA and HBM[0].0.RAMA: Vitis-Tutorials,
    07-using-hbm, mem_connectivity.mk.)
    """
    found = re.search(r"\[(\d+):\d+\]$", bank.name)
    return f"{bank.name}.{found[1]}.RAMA" if found else bank.name


def files(description, board, banks, mapped):
    """``{file: text}`` of ``package.tcl``, ``ip.tcl``, ``kernel.xml``, ``link.cfg``, ``Makefile``
    and ``README.md``.

    ``banks`` has one bank for each master; ``mapped`` is ``{resource: count}`` of the kernel, by
    which its die is chosen, or None.
    """
    memories = list(map(_memory, banks))
    values = dict(
        heading=heading(description, board),
        kernel=description,
        board=board,
        unit=f"{description.name}_1",
        assigned=list(zip(description.masters, memories, strict=True)),
        joined=any(memory.endswith(".RAMA") for memory in memories),
        region=_region(board, banks, mapped),
        near=any(bank.region is not None for bank in banks),
        mapped=mapped,
        largest=configured(description)[0].largest,
        train=training(description, board, "xrt"),
        releases=fitting(board),
        xrt=XRT,
    )
    return {
        **common(description, board, vitis=True),
        "package.tcl": render(__package__, "package.tcl", **values),
        "link.cfg": render(__package__, "link.cfg", **values),
        "Makefile": render(__package__, "Makefile", **values),
        "README.md": render(__package__, "README.vitis.md", **values),
    }


def achieved(text, asked_mhz):
    """The kernel's ``AchievedClock``, from ``text``, which ``xclbinutil --info`` printed.

    BuildFailed if the clock is not in it. The tools lower a scalable clock that is not met, so only
    the text tells its frequency; ``asked_mhz`` is copied into the result.
    """
    table = re.search(r"^Scalable Clocks\n-+\n(.*?)(?:^System Clocks|\Z)", text, re.M | re.S)
    for entry in (table[1] if table else "").split("\n\n"):
        fields = dict(re.findall(r"^\s*(\w+):\s+(.+?)\s*$", entry, re.M))
        if fields.get("Type") == "DATA":
            mhz = float(fields["Frequency"].split()[0])
            return AchievedClock(name=fields["Name"], asked_mhz=asked_mhz, mhz=mhz)
    raise BuildFailed("info.txt must have the scalable clock of type DATA, not lack it")


def _check_platform(folder, options, advice):
    """ToolsMissing, with the Makefile's message and ``advice``, if the platform is missing."""
    result = subprocess.run(
        [*_MAKE, "platform", *options], cwd=folder, capture_output=True, text=True
    )
    if result.returncode:
        words = result.stderr.strip().rpartition("*** ")[2].removesuffix("Stop.").strip(" .")
        raise ToolsMissing(f"{words}; {advice}")


def run(folder, description, board, *, target, platform):
    """Runs ``make`` in ``folder`` for ``target`` ("hw" or "hw_emu"); returns an ``Outcome``.

    ``platform`` is a name or a path of an .xpfm file that replaces the board's; with None, the
    release of v++ must know the board's platform. Raises ToolsMissing, WrongVersion, BuildFailed.
    An emulation has no clocks.
    """
    advice = (
        f"all its inputs are written: copy the folder to a machine with Vitis "
        f"{fitting(board)[0]} to {fitting(board)[-1]} and run make there (README.md has the steps)"
    )
    needed = ["v++", "vivado", "xclbinutil"] + ["emconfigutil"] * (target == "hw_emu")
    tools = {name: find_tool(name, advice) for name in needed}
    if platform is None:
        check_release(tools["v++"], "--version", board)
    if platform is not None and platform.endswith(".xpfm"):
        platform = Path(platform).resolve()  # make runs in another folder
    options = [f"TARGET={target}"] + [f"PLATFORM={platform}"] * (platform is not None)
    _check_platform(folder, options, advice)
    execute([*_MAKE, *options], folder, "make.log")
    clocks = ()
    if target == "hw":  # an emulation has none
        clocks = (achieved((folder / "info.txt").read_text(encoding="utf-8"), board.clocks[0].mhz),)
    return Outcome(bitstream=folder / f"{description.name}.xclbin", clocks=clocks)

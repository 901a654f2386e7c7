"""The flow of Zynq boards: IP, block design with the processor, bitstream, files for PYNQ."""

import re

from boards.bitstream import AchievedClock, BuildFailed, Outcome, execute, find_tool
from boards.templates import heading, render, training
from boards.xilinx.kernel import common
from boards.xilinx.releases import check_release, fitting
from hw.errors import UsageError
from hw.shell.control import PREFIX

__all__ = ["TARGETS", "achieved", "files", "run"]

TARGETS = ("hw",)


#: S_AXI_HP0_FPD to S_AXI_HP3_FPD, each with its own way to the memory.
_PORTS = 4


def _groups(masters, ports):
    """The masters of each port: one for each port, and further masters in turn."""
    return [masters[port::ports] for port in range(min(ports, len(masters)))]


def files(description, board, banks, mapped):
    """``{file: text}`` of ``ip.tcl``, ``build.tcl`` and ``README.md``; ``mapped`` is not used."""
    (first, *_) = banks
    shared = first if first == board.shared else None
    # Memory on chip has one port for the kernel, the processor's memory has several.
    groups = _groups(description.masters, 1 if shared else _PORTS)
    values = dict(
        heading=heading(description, board),
        kernel=description,
        board=board,
        board_part=board.platform.rpartition(":")[0],
        slave=PREFIX,
        unit=f"{description.name}_1",
        shared=shared,
        groups=groups,
        ports=[] if shared else groups,
        train=training(
            description, board, f"pynq:build/{board.name}/{description.name}/{description.name}.bit"
        ),
        releases=fitting(board),
    )
    return {
        **common(description, board, vitis=False),
        "build.tcl": render(__package__, "build.tcl", **values),
        "README.md": render(__package__, "README.vivado.md", **values),
    }


def achieved(text):
    """The kernel's ``AchievedClock``, from ``text``, which ``build.tcl`` wrote.

    The text has the clock's name, the MHz asked for, the MHz that the processor's dividers give,
    and the slack in ns. BuildFailed if the slack is negative: the clock is not lowered, so such a
    bitstream must not be used.
    """
    found = re.fullmatch(r"(\S+) ([\d.]+) ([\d.]+) (-?[\d.]+)\s*", text)
    if not found:
        raise BuildFailed(f"clock.txt must have a name and three numbers, not {text!r}")
    name, (asked, mhz, slack) = found[1], map(float, found.groups()[1:])
    if slack < 0:
        limit = 1000 / (1000 / mhz - slack)
        raise BuildFailed(
            f"slack of {name} must be 0 ns or more at {mhz:g} MHz, not {slack:g}; "
            f"ask for at most {int(limit)}: vivado -mode batch -source build.tcl -tclargs MHZ"
        )
    return AchievedClock(name=name, asked_mhz=asked, mhz=mhz)


def run(folder, description, board, *, target, platform):
    """Runs ``build.tcl`` in ``folder`` with Vivado; returns an ``Outcome``.

    ``platform`` must be None, because the board files are the newest that Vivado has. Raises
    ValueError for another, ToolsMissing, WrongVersion, BuildFailed.
    """
    if platform is not None:
        raise UsageError(f"platform must be none on {board.title}, not {platform!r}")
    vivado = find_tool(
        "vivado",
        f"all its inputs are written: copy the folder to a machine with Vivado "
        f"{fitting(board)[0]} or later and run `vivado -mode batch -source build.tcl` there "
        "(README.md has the steps)",
    )
    check_release(vivado, "-version", board)
    execute([vivado, "-mode", "batch", "-nojournal", "-log", "vivado.log", "-source", "build.tcl"],
            folder, "build.log")  # fmt: skip
    clock = achieved((folder / "clock.txt").read_text(encoding="utf-8"))
    return Outcome(bitstream=folder / f"{description.name}.bit", clocks=(clock,))

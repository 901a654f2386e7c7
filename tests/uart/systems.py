"""A board with a small replay kernel: its folder as `make bitstream` writes it, its twin."""

import functools
import hashlib
import os
from dataclasses import replace

import boards
from hw.designs import DESIGNS
from hw.replay.config import ReplayConfig
from hw.shell.description import KernelDescription
from hw.uart.config import UartConfig
from hw.uart.system import System, identity
from hw.verilog import to_verilog
from sim.model.uart.system import System as SystemTwin
from system.tools import BUILD_DIRECTORY

__all__ = ["KERNEL", "UART", "describe", "folder", "twin"]

#: The board's own with few leaves: quick to compile.
KERNEL = replace(
    DESIGNS["replay"].default(boards.get("ulx3s").numbers),
    replay=ReplayConfig(capacity=256, fanout=4, ultra_ram=False),
)
#: Four clocks a bit, the fewest: simulated time is dear.
UART = UartConfig(clock_hz=12_000_000, banks=(64 << 10, 24 << 10))


def describe():
    return DESIGNS["replay"].describe(KERNEL)


@functools.cache
def _verilog():
    return to_verilog(System(DESIGNS["replay"].kernel(KERNEL), UART), name="system")


def folder():
    """``build/tests/uart-*/ulx3s/replay``, written once for each state of the hardware."""
    texts = {
        "system.v": _verilog(),
        "uart.json": UART.to_json(),
        "kernel.json": describe().to_json(),
    }
    key = hashlib.sha256(repr(sorted(texts.items())).encode()).hexdigest()[:20]
    path = BUILD_DIRECTORY / "tests" / f"uart-{key}" / "ulx3s" / "replay"
    if not (path / "kernel.json").exists():
        path.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():  # each in one step: parallel tests never see half a file
            part = path / f".{name}.{os.getpid()}"
            part.write_text(text)
            part.replace(path / name)
    return path


def twin(description=None, config=UART):
    """A new twin of the board, of ``KERNEL`` unless another kernel is described."""
    description = description or describe()
    assert isinstance(description, KernelDescription)
    return SystemTwin(description, config, identity(config, description))

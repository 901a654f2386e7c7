"""Units by themselves: latency as declared (tests hold it to the RTL), area and depth by yosys."""

import sys

from bench import row, unit_depth
from boards.area import synthesize
from hw.arith.exp2 import Exp2, Exp2Config
from hw.arith.float32.add import Float32Add
from hw.arith.float32.multiply import Float32Multiply
from hw.arith.float32.reciprocal import Float32Reciprocal
from hw.arith.float32.rsqrt import Float32Rsqrt
from hw.arith.log2 import Log2, Log2Config
from hw.arith.multiply import Multiply
from hw.replay.commands import BUFFERS
from hw.replay.config import ReplayConfig
from hw.replay.priority import PriorityUnit
from hw.replay.tree.draw import Draw
from hw.replay.tree.manager import ReplayManager
from hw.replay.tree.priority_table import PriorityTable
from hw.replay.tree.tree_level import TreeLevel
from hw.replay.weight import WeightUnit
from hw.shell.axi import EngineConfig
from hw.shell.control import Control
from hw.shell.description import standard_arguments
from hw.shell.read_engine import ReadEngine
from hw.shell.write_engine import WriteEngine
from hw.stream.pack import Pack, Unpack
from hw.stream.queue import Queue
from hw.stream.ready_register import ReadyRegister
from hw.stream.skid import SkidBuffer
from hw.stream.split import Split
from hw.verilog import to_verilog
from system.tools import BUILD_DIRECTORY

__all__ = ["rows"]

_CONFIG = ReplayConfig()  # 2^20 leaves, K = 16
_CLEAR_WIDTH = 20

#: name -> (component, latency in clocks or None where it depends on memory)
_UNITS = {
    "multiply 48x44": lambda: (unit := Multiply(48, 44), unit.latency),
    "log2 of 44 bits": lambda: (Log2(Log2Config(width=44)), Log2.LATENCY),
    "exp2": lambda: (Exp2(Exp2Config()), Exp2.LATENCY),
    **{
        f"float32 {name}": lambda unit=unit: (unit(), unit.LATENCY)
        for name, unit in {
            "multiply": Float32Multiply,
            "add": Float32Add,
            "reciprocal": Float32Reciprocal,
            "reciprocal square root": Float32Rsqrt,
        }.items()
    },
    "priority": lambda: (PriorityUnit(), PriorityUnit.LATENCY),
    "weight": lambda: (WeightUnit(), WeightUnit.LATENCY),
    "queue 512x256": lambda: (Queue(512, 256), Queue.latency_of(256)),
    "skid 512": lambda: (SkidBuffer(512), SkidBuffer.LATENCY),
    "ready register 512": lambda: (ReadyRegister(512), ReadyRegister.LATENCY),
    "pack 5 to 4": lambda: (Pack(), Pack.LATENCY),
    "unpack 4": lambda: (Unpack(), Unpack.LATENCY),
    "split 512 to 64": lambda: (Split(64, 8), Split.LATENCY),
    "read engine": lambda: (ReadEngine(EngineConfig()), None),
    "write engine": lambda: (WriteEngine(EngineConfig()), None),
    "control": lambda: (Control(standard_arguments(BUFFERS)), None),
    "draw": lambda: (Draw(), Draw.LATENCY),
    "priority table": lambda: (
        unit := PriorityTable(_CONFIG, clear_width=_CLEAR_WIDTH),
        unit.latency,
    ),
    "root level": lambda: _level(0),
    "leaf level": lambda: _level(_CONFIG.depth - 1),
    "replay manager": lambda: (unit := ReplayManager(_CONFIG), unit.latency),
}


def _level(number):
    unit = TreeLevel(_CONFIG, number, clear_width=_CLEAR_WIDTH)
    return unit, unit.latency


def rows(area=False):
    """The list of rows latency_cycles of every unit whose latency is fixed. If ``area``, also lut,
    ff, bram36, uram and dsp of every unit by yosys, which take some minutes, and the depth of all
    units of all kernels (``bench.unit_depth``), a quarter of an hour."""
    result = []
    for name, make in _UNITS.items():
        unit, latency = make()
        if latency is not None:
            result.append(
                row("units", name, "latency_cycles", latency, "cycles",
                    source="declared; tests count it in the RTL")
            )  # fmt: skip
        if not area:
            continue
        cells = synthesize(to_verilog(unit, name="unit"), "unit", work=BUILD_DIRECTORY / "area")
        for resource in ("lut", "ff", "bram36", "uram", "dsp"):
            result.append(
                row("units", name, resource, cells[resource], "cells",
                    source="estimate: yosys synth_xilinx -family xcup, flattened")
            )  # fmt: skip
    if area:
        result += unit_depth.rows(lambda text: print(text, file=sys.stderr))
    return result

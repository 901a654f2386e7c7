"""hw.shared and hw.verilog: one module for many instances, the same bytes every time."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from arith.free_running import FreeRunning, check

from hw.arith.arithmetic import Arithmetic
from hw.learner.block.config import BlockShape
from hw.learner.block.forward import Forward
from hw.learner.block.layer_config import LayerConfig
from hw.shared import SharedModule
from hw.stream.ram import Ram
from hw.verilog import to_verilog


class Step(wiring.Component):
    """``o`` is ``i + step`` of a clock ago; ``nothing`` has no bits."""

    def __init__(self, step):
        self.step = step
        super().__init__({"i": In(8), "nothing": In(range(1)), "o": Out(8, init=step)})

    def elaborate(self, platform):
        m = Module()
        m.d.sync += self.o.eq(self.i + self.step)
        return m


class Steps(wiring.Component):
    """Two of them, of the same kind as others, and a memory; a shared module in a shared one."""

    i: In(8)
    o: Out(8)

    def elaborate(self, platform):
        m = Module()
        m.submodules.ram = ram = Ram(width=8, depth=100)
        value = self.i
        for k in range(2):
            m.submodules[f"step_{k}"] = step = SharedModule(Step, 3)
            m.d.comb += step.i.eq(value)
            value = step.o
        m.d.comb += [self.o.eq(value), ram.read_address.eq(value)]
        return m


def top():
    def build(m, inputs):
        value = inputs["i"]
        for k, arguments in enumerate(((Step, 3), (Steps,), (Step, 5), (Steps,), (Step, 3))):
            m.submodules[f"unit_{k}"] = unit = SharedModule(*arguments)
            m.d.comb += unit.i.eq(value)
            value = unit.o
        return dict(o=value)

    return FreeRunning(dict(i=8), dict(o=8), build)


def modules(verilog):
    """All but those inside another, which have a dot in their names."""
    return re.findall(r"^module (\w+)", verilog, re.MULTILINE)


def instances(verilog, prefix):
    """Names of the modules of all instances, one each."""
    return re.findall(rf"^  ({prefix}\w*) (?:#\([^)]*\) )?\S+ \($", verilog, re.MULTILINE)


def test_one_module_each():
    verilog = to_verilog(top(), name="top")
    found = modules(verilog)
    steps = [name for name in found if name.startswith("rlfabric_step_")]
    assert sorted(found) == sorted({"top", "rlfabric_steps", "rlfabric_ram", *steps})
    assert len(steps) == 2, "3 and 5 are two modules"
    assert len(instances(verilog, "rlfabric_step")) == 3 + 2 + 2
    assert len(set(instances(verilog, "rlfabric_step"))) == 3
    assert verilog.count(".rst(rst)") == 3 + 2 + 2


def test_equal_bytes():
    """Also where the shared modules have been converted before, and in another process."""
    first = to_verilog(top(), name="top")
    assert to_verilog(top(), name="top") == first
    tests = Path(__file__).parent
    program = (
        "import sys; from test_shared import top; from hw.verilog import to_verilog; "
        "sys.stdout.write(to_verilog(top(), name='top'))"
    )
    path = os.pathsep.join([str(tests), str(tests.parent)])
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": "7"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == first


def test_what_it_does(simulate, tmp_path):
    """Every instance has registers of its own."""
    i = np.random.default_rng(1).integers(0, 256, 100)
    o = (i + 3 + 6 + 5 + 6 + 3) % 256
    check(simulate, tmp_path, top(), dict(i=i), dict(o=o), dict(o=7))


def test_names_of_one_class_alone():
    other = type("Step", (Step,), {"__module__": "elsewhere"})
    to_verilog(top(), name="top")
    unit = FreeRunning(
        {}, {}, lambda m, _: setattr(m.submodules, "unit", SharedModule(other, 3)) or {}
    )
    message = r"^cls must be the only one of its name: rlfabric_step_\w+ is of \S+, not 'elsewhere'"
    with pytest.raises(ValueError, match=message):
        to_verilog(unit, name="top")


def test_equal_columns():
    """All columns of a layer are one module, whatever their group and lane."""
    shape = BlockShape(inputs=20, outputs=19, input_word=2, output_word=4)
    config = LayerConfig(arithmetic=Arithmetic(kind="fixed"), lanes=2)
    verilog = to_verilog(Forward(config, shape, ("online", "target")), name="top")
    found = instances(verilog, "rlfabric_column")
    assert len(found) == 4 * 2 * 2 and len(set(found)) == 1

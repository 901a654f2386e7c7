"""A free-running function of hardware as a unit with ports, its clocks and its area."""

import json

import numpy as np
from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from boards.area import synthesize
from hw.verilog import to_verilog
from system.tools import BUILD_DIRECTORY

__all__ = ["FreeRunning", "check", "dsp_blocks"]


class FreeRunning(wiring.Component):
    """Ports ``inputs`` and ``outputs``, name -> shape; ``build(m, inputs)`` gives the outputs."""

    def __init__(self, inputs, outputs, build):
        self.inputs, self.outputs, self.build = inputs, outputs, build
        super().__init__(
            {
                **{name: In(shape) for name, shape in inputs.items()},
                **{name: Out(shape) for name, shape in outputs.items()},
            }
        )

    def elaborate(self, platform):
        m = Module()
        # A Verilog port alone does not tell that the unit is clocked.
        alive = Signal()
        m.d.sync += alive.eq(1)
        results = self.build(m, {name: getattr(self, name) for name in self.inputs})
        for name, value in results.items():
            assert Value.cast(value).shape() == getattr(self, name).shape(), name
            m.d.comb += getattr(self, name).eq(value)
        return m


def check(simulate, tmp_path, unit, inputs, expected, latency):
    """Arrays in, a row a clock; each output is as expected ``latency[name]`` clocks later."""

    def raw(values, shape):
        mask = (1 << Shape.cast(shape).width) - 1
        return [int(value) & mask for value in np.asarray(values)]

    file = tmp_path / "vectors.json"
    file.write_text(
        json.dumps(
            dict(
                inputs={name: raw(x, unit.inputs[name]) for name, x in inputs.items()},
                expected={name: raw(x, unit.outputs[name]) for name, x in expected.items()},
                latency=latency,
            )
        )
    )
    simulate(unit, "arith.free_bench", vectors=str(file))


def dsp_blocks(unit):
    """DSP48E2 of ``unit`` as yosys maps it to UltraScale+."""
    return synthesize(to_verilog(unit, name="unit"), "unit", work=BUILD_DIRECTORY / "area")["dsp"]

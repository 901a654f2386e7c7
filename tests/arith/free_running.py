"""A free-running function of hardware as a unit with ports, its clocks and its area."""

import json
import re

import numpy as np
from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from boards.area import synthesize
from hw.verilog import to_verilog
from system.tools import BUILD_DIRECTORY

__all__ = ["FreeRunning", "check", "check_together", "dsp_blocks"]


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


def check_together(simulate, tmp_path, cases):
    """``check`` of units beside each other in one simulation: most of its time is its start.

    ``cases``: name -> (unit, inputs, expected, latency), as ``check`` takes them. Of units with
    fewer rows these come again from the first on.
    """
    labels = {name: re.sub(r"\W+", "_", f"of_{name}") for name in cases}
    assert len({*labels.values()}) == len(cases), labels

    def named(kind):
        """``kind(case)``, a dict, of all cases, with names that begin with the case's."""
        return {
            f"{labels[name]}__{port}": value
            for name, case in cases.items()
            for port, value in kind(*case).items()
        }

    def build(m, ports):
        for name, (unit, *_) in cases.items():
            m.submodules[labels[name]] = unit
            for port in unit.inputs:
                m.d.comb += getattr(unit, port).eq(ports[f"{labels[name]}__{port}"])
        return named(lambda unit, *_: {port: getattr(unit, port) for port in unit.outputs})

    rows = max(len(x) for _, inputs, _, _ in cases.values() for x in inputs.values())

    def filled(arrays):
        return {port: np.resize(np.asarray(x), rows) for port, x in arrays.items()}

    unit = FreeRunning(
        named(lambda unit, *_: unit.inputs), named(lambda unit, *_: unit.outputs), build
    )
    check(
        simulate,
        tmp_path,
        unit,
        named(lambda unit, inputs, *_: filled(inputs)),
        named(lambda unit, inputs, expected, _: filled(expected)),
        named(lambda *case: case[-1]),
    )


def dsp_blocks(unit):
    """DSP48E2 of ``unit`` as yosys maps it to UltraScale+."""
    return synthesize(to_verilog(unit, name="unit"), "unit", work=BUILD_DIRECTORY / "area")["dsp"]

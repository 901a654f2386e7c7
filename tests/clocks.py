"""Inputs and expected outputs of a unit, clock by clock."""

import json
import re

from amaranth import Module, Shape
from amaranth.lib import wiring
from packed import packed, port_shapes

__all__ = ["Clocks", "run_together"]


class Clocks:
    """A list of clocks, each with its inputs; ``expect`` names what an output must show in one.

    Values are as ``packed`` takes them. An input that a clock does not name, or a part of it, is
    0; an output that nothing names, or a part of it, may be anything.
    """

    def __init__(self):
        self.inputs, self.expected = [], {}

    def add(self, **inputs):
        """One more clock; returns its number."""
        self.inputs.append(inputs)
        return len(self.inputs) - 1

    def at(self, clock, **inputs):
        """Inputs of a clock that may be there already, or is still to come."""
        while len(self.inputs) <= clock:
            self.add()
        self.inputs[clock].update(inputs)

    def expect(self, clock, **outputs):
        self.expected.setdefault(clock, {}).update(outputs)

    def run(self, simulate, dut, directory):
        """Simulate ``dut`` until the last output that is expected."""
        assert self.expected, "nothing would be checked"
        while len(self.inputs) <= max(self.expected):
            self.add()
        shapes = port_shapes(dut)
        expected = [self.expected.get(k, {}) for k in range(len(self.inputs))]
        path = directory / "clocks.json"
        path.write_text(
            json.dumps(
                dict(
                    inputs={
                        name: [packed(shapes[name], row.get(name, 0))[0] for row in self.inputs]
                        for name in _names(self.inputs, shapes)
                    },
                    expected={
                        name: [packed(shapes[name], row.get(name)) for row in expected]
                        for name in _names(expected, shapes)
                    },
                )
            )
        )
        simulate(dut, "clock_bench", vectors=str(path))


def run_together(simulate, directory, cases):
    """``Clocks.run`` of units beside each other in one simulation: most of its time is its start.

    ``cases``: name -> (Clocks, unit).
    """
    labels = {name: re.sub(r"\W+", "_", f"of_{name}") for name in cases}
    assert len({*labels.values()}) == len(cases), labels
    whole = Clocks()
    for name, (clocks, _) in cases.items():
        assert clocks.expected, f"nothing would be checked of {name}"
        for rows, add in (
            (enumerate(clocks.inputs), whole.at),
            (clocks.expected.items(), whole.expect),
        ):
            for clock, row in rows:
                add(clock, **{f"{labels[name]}__{port}": value for port, value in row.items()})
    whole.run(simulate, _SideBySide({labels[k]: unit for k, (_, unit) in cases.items()}), directory)


class _SideBySide(wiring.Component):
    """Units in one module; their ports begin with their names."""

    def __init__(self, units):
        self._units = units
        super().__init__({name: wiring.Out(unit.signature) for name, unit in units.items()})

    def elaborate(self, platform):
        m = Module()
        for name, unit in self._units.items():
            m.submodules[name] = unit
            wiring.connect(m, unit, wiring.flipped(getattr(self, name)))
        return m


def _names(rows, shapes):
    """The ports that rows name, but those of no bits, which Verilog does not have."""
    return [name for name in sorted(set().union(*rows)) if Shape.cast(shapes[name]).width]

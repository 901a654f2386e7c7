"""Inputs and expected outputs of a unit, clock by clock."""

import json

from amaranth import Shape
from packed import packed, port_shapes

__all__ = ["Clocks"]


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


def _names(rows, shapes):
    """The ports that rows name, but those of no bits, which Verilog does not have."""
    return [name for name in sorted(set().union(*rows)) if Shape.cast(shapes[name]).width]

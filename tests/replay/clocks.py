"""Inputs and expected outputs of a unit without handshakes, clock by clock."""

import json

__all__ = ["Clocks"]


class Clocks:
    """A list of clocks, each with its inputs; ``expect`` names what an output must show in one.

    An input that a clock does not name is 0; an output that nothing names may be anything.
    """

    def __init__(self):
        self.inputs, self.expected = [], {}

    def add(self, **inputs):
        """One more clock; returns its number."""
        self.inputs.append(inputs)
        return len(self.inputs) - 1

    def expect(self, clock, **outputs):
        self.expected.setdefault(clock, {}).update(outputs)

    def run(self, simulate, dut, directory):
        """Simulate ``dut`` until the last output that is expected."""
        assert self.expected, "nothing would be checked"
        while len(self.inputs) <= max(self.expected):
            self.add()
        path = directory / "clocks.json"
        path.write_text(
            json.dumps(
                {
                    "inputs": _columns(self.inputs, 0),
                    "expected": _columns(
                        [self.expected.get(k, {}) for k in range(len(self.inputs))], None
                    ),
                }
            )
        )
        simulate(dut, "replay.clock_bench", vectors=str(path))


def _columns(rows, default):
    names = sorted(set().union(*rows))
    return {name: [_plain(row.get(name, default)) for row in rows] for name in names}


def _plain(value):
    return None if value is None else int(value)

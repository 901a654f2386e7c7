"""hw.fa3c.unit.line_buffer: stitch, shift, two lines in turn, bytes and ones."""

import pytest
from fa3c.networks import network

from hw.fa3c.unit.line_buffer import LineBuffer


@pytest.mark.parametrize(
    "lanes", [16, *(pytest.param(lanes, marks=pytest.mark.long) for lanes in (1, 2, 4, 8))]
)
def test_matches_lines(simulate, lanes):
    config = network(lanes=lanes, input_exponent=-8 if lanes > 1 else 3)
    simulate(LineBuffer(config), "fa3c.unit.line_buffer_bench", config=config.to_dict())


def test_latency():
    """The memory, the words side by side, the conversion of bytes."""
    assert LineBuffer.LATENCY == 3

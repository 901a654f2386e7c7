"""hw.uart.bridge between a line that jams and a port that takes its time."""

import pytest

from hw.uart.bridge import Bridge


@pytest.mark.parametrize("gap", [0.0, 0.4])
def test_bridge(simulate, gap):
    simulate(Bridge(96), "uart.bridge_bench", payload=96, gap=gap, seed=2)

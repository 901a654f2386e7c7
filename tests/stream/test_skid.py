"""hw.stream.skid: a queue of two words without a combinational path."""

import pytest

from hw.stream.skid import SkidBuffer


@pytest.mark.parametrize("width", [1, 32])
def test_skid(simulate, width):
    simulate(
        SkidBuffer(width),
        "stream.queue_bench",
        unit="skid",
        depth=2,
        width=width,
        latency=SkidBuffer.LATENCY,
        interval=SkidBuffer.INTERVAL,
        seed=1,
    )

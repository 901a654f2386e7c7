"""hw.stream.ready_register: a queue of one word, through which another passes at once."""

import pytest

from hw.stream.ready_register import ReadyRegister


@pytest.mark.parametrize("width", [1, 32])
def test_ready_register(simulate, width):
    simulate(
        ReadyRegister(width),
        "stream.queue_bench",
        unit="ready_register",
        depth=1,
        width=width,
        latency=ReadyRegister.LATENCY,
        interval=ReadyRegister.INTERVAL,
        seed=1,
    )

"""hw.uart.memory: bursts, single bytes, both at once, and what is not there."""

import pytest
from later import crossed

from hw.uart.memory import AxiMemory

SIZES = {"128": (4096, 2 << 20, 128), "32": (3 << 11, 1 << 20, 32)}


@pytest.mark.parametrize("sizes, gap", crossed(SIZES, [0.0, 0.4]))
def test_memory(simulate, sizes, gap):
    config = dict(zip(("size", "base", "data_width"), sizes, strict=True))
    simulate(AxiMemory(**config), "uart.memory_bench", gap=gap, seed=3, **config)


@pytest.mark.parametrize(
    "change, message",
    [
        (dict(size=4100), "size must be a multiple of 16 bytes, not 4100"),
        (dict(base=4096), "base must be a multiple of 1048576 bytes, not 4096"),
    ],
)
def test_memory_rejects(change, message):
    with pytest.raises(ValueError, match=message):
        AxiMemory(**{**dict(size=4096, base=1 << 20, data_width=128), **change})

"""hw.stream.transpose: blocks against their transposes."""

import numpy as np
import pytest
from stream.cases import GAPS, texts

from hw.stream.transpose import Transpose

#: Beside the usual ones, of sources and of the sink: a block, and a pause in which its transpose
#: leaves, or the half of it; a sink that takes nothing until both blocks are there.
BLOCKS = {
    2: [([4, 2], 0), ([2, 2], 0), (0, [9, 3])],
    4: [([7, 4], 0), ([2, 4], 0), (0, [20, 5])],
    16: [([30, 16], 0.3), ([9, 16], 0), (0, [60, 17])],
}


def case(width, size, blocks):
    """Inputs and expected outputs as texts."""
    values = np.random.default_rng(size).integers(0, 1 << width, (blocks, size, size))
    bits = (values[..., None] >> np.arange(width) & 1).astype(np.uint8)

    def words(bits):
        return texts(np.packbits(bits.reshape(-1, size * width), axis=1, bitorder="little"))

    return {"i": words(bits)}, words(bits.transpose(0, 2, 1, 3))


@pytest.mark.parametrize("width, size", [(32, 4), (27, 16), (1, 2)])
def test_blocks(run, width, size):
    """Whatever pauses on both sides: also the last one leaves, whole."""
    run(Transpose(width, size), case(width, size, 6), gaps=GAPS + BLOCKS[size])


@pytest.mark.parametrize("width, size, blocks", [(32, 4, 5), (32, 16, 1), (32, 16, 4)])
def test_pace(run, width, size, blocks):
    """A word in and a word out every clock: k blocks take (k + 1) * size and a constant."""
    first = size - 1 + Transpose.LATENCY
    clocks = [first + word for word in range(blocks * size)]
    run(Transpose(width, size), case(width, size, blocks), clocks=clocks)


@pytest.mark.parametrize(
    "values, message",
    [
        ((0, 4), r"width must be an integer in 1\.\.4096, not 0"),
        ((8, 12), "size must be 2, 4, 8, 16 or 32, not 12"),
        ((8, 1), "size must be 2, 4, 8, 16 or 32, not 1"),
    ],
)
def test_rejects(values, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        Transpose(*values)

"""hw.stream.ram: what a memory is made of."""

import pytest

from hw.stream.ram import DEEP, SHALLOW, memory_blocks, style_of


@pytest.mark.parametrize(
    "width, depth, style, blocks",
    [
        (72, 512, "block", 1),
        (73, 512, "block", 2),
        (512, 256, "block", 8),
        (36, 1025, "block", 2),  # two of 1024 x 36, or of 2048 x 18
        (72, 4096, "ultra", 1),
        (72, 4097, "ultra", 2),
        (512, SHALLOW, style_of(SHALLOW), 0),
        (512, SHALLOW + 1, style_of(SHALLOW + 1), 8),
    ],
)
def test_memory_blocks(width, depth, style, blocks):
    assert memory_blocks(width, depth, style) == blocks


@pytest.mark.parametrize(
    "depth, ultra_ram, style",
    [
        (SHALLOW, True, "distributed"),
        (SHALLOW + 1, True, "block"),
        (DEEP - 1, True, "block"),
        (DEEP, True, "ultra"),
        (DEEP, False, "block"),
    ],
)
def test_style_of(depth, ultra_ram, style):
    assert style_of(depth, ultra_ram) == style

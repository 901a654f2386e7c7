"""hw.stream.ram: what a memory is made of."""

import pytest

from hw.stream.ram import DEEP, SHALLOW, memory_blocks, style_of


@pytest.mark.parametrize(
    "width, depth, style, dual, blocks",
    [
        (72, 512, "block", False, 1),
        (73, 512, "block", False, 2),
        (512, 256, "block", False, 8),
        (36, 1025, "block", False, 2),  # two of 1024 x 36, or of 2048 x 18
        (72, 512, "block", True, 2),  # two ports that read have not the widest shape
        (72, 4096, "ultra", False, 1),
        (72, 4097, "ultra", False, 2),
        (512, SHALLOW, style_of(SHALLOW), False, 0),
        (512, SHALLOW + 1, style_of(SHALLOW + 1), False, 8),
    ],
)
def test_memory_blocks(width, depth, style, dual, blocks):
    assert memory_blocks(width, depth, style, dual=dual) == blocks


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

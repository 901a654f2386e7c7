"""Rows of 16 words: what lies side by side in memory, and what memories of them are made of."""

from hw.arith.float32.format import WIDTH
from hw.stream.ram import memory_blocks, memory_joint, style_of

__all__ = ["ROW", "ROW_BYTES", "ROW_WIDTH", "row_blocks"]

#: Words of a row, and the PEs of a lane; its bits; its bytes.
ROW = 16
ROW_WIDTH = ROW * WIDTH
ROW_BYTES = ROW_WIDTH // 8


def row_blocks(rows, ultra_ram):
    """``bram36``, ``uram`` and ``lut`` of an ``Estimate``: of a memory of so many rows, whose style
    ``style_of`` says."""
    style = style_of(rows, ultra_ram)
    blocks = memory_blocks(ROW_WIDTH, rows, style)
    return {
        "lut": memory_joint(ROW_WIDTH, rows, style),
        "bram36": blocks if style == "block" else 0,
        "uram": blocks if style == "ultra" else 0,
    }

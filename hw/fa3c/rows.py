"""Rows of 16 words, the unit of card memory and buffers, and the resources of memories of rows."""

from hw.arith.float32.format import WIDTH
from hw.stream.ram import memory_blocks, memory_joint, style_of

__all__ = ["ROW", "ROW_BYTES", "ROW_WIDTH", "row_blocks"]

#: Words of a row, which are as many as the PEs of a lane; bits of a row; bytes of a row.
ROW = 16
ROW_WIDTH = ROW * WIDTH
ROW_BYTES = ROW_WIDTH // 8


def row_blocks(rows, ultra_ram):
    """Dict of the fields ``lut``, ``bram36`` and ``uram`` of an ``Estimate``, for a memory of
    ``rows`` rows in the style that ``style_of`` chooses. ``ultra_ram``: whether it may be
    UltraRAM."""
    style = style_of(rows, ultra_ram)
    blocks = memory_blocks(ROW_WIDTH, rows, style)
    return {
        "lut": memory_joint(ROW_WIDTH, rows, style),
        "bram36": blocks if style == "block" else 0,
        "uram": blocks if style == "ultra" else 0,
    }

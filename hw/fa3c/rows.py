"""Rows of 16 words, the unit of card memory and buffers, and the resources of memories of rows."""

from hw.arith.float32.format import WIDTH
from hw.stream.ram import Ram, style_of

__all__ = ["ROW", "ROW_BYTES", "ROW_WIDTH", "row_memory"]

#: Words of a row, which are as many as the PEs of a lane; bits of a row; bytes of a row.
ROW = 16
ROW_WIDTH = ROW * WIDTH
ROW_BYTES = ROW_WIDTH // 8


def row_memory(rows, ultra_ram):
    """``Estimate`` of the resources of a memory of ``rows`` rows, in the style that ``style_of``
    chooses. ``ultra_ram``: whether it may be UltraRAM."""
    return Ram.estimate(ROW_WIDTH, rows, style_of(rows, ultra_ram))

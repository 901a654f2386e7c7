"""Rows of 16 words, the unit of card memory and buffers."""

from hw.arith.float32.format import WIDTH

__all__ = ["ROW", "ROW_BYTES", "ROW_WIDTH"]

#: Words of a row, which are as many as the PEs of a lane; bits of a row; bytes of a row.
ROW = 16
ROW_WIDTH = ROW * WIDTH
ROW_BYTES = ROW_WIDTH // 8

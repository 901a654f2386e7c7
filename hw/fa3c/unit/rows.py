"""Rows of 16 words on chip: how wide they are, and what memories of them are made of."""

from hw.fa3c.config import ROW
from hw.stream.ram import memory_blocks, style_of

__all__ = ["ROW_BYTES", "ROW_WIDTH", "row_blocks", "row_style"]

#: Bits and bytes of a row.
ROW_WIDTH = 32 * ROW
ROW_BYTES = ROW_WIDTH // 8

#: Rows up to which a memory is made of RAMB36: a URAM288 of this width is at least 4096 deep.
_BLOCK = 1024


def row_style(rows):
    """``ram_style`` of a memory of so many rows."""
    return "ultra" if rows > _BLOCK else style_of(rows)


def row_blocks(rows):
    """Blocks of a memory of so many rows: ``bram36`` and ``uram`` of an ``Estimate``."""
    style = row_style(rows)
    blocks = memory_blocks(ROW_WIDTH, rows, style)
    return {
        "bram36": blocks if style == "block" else 0,
        "uram": blocks if style == "ultra" else 0,
    }

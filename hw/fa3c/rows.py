"""Rows of 16 words: what lies side by side in memory, and what memories of them are made of."""

from hw.arith.float32.format import WIDTH
from hw.stream.ram import memory_blocks, memory_joint, style_of

__all__ = ["ROW", "ROW_BYTES", "ROW_WIDTH", "row_blocks", "row_style"]

#: Words of a row, and the PEs of a lane; its bits; its bytes.
ROW = 16
ROW_WIDTH = ROW * WIDTH
ROW_BYTES = ROW_WIDTH // 8

#: Rows up to which a memory is made of RAMB36: a URAM288 of this width is at least 4096 deep.
_BLOCK = 1024


def row_style(rows):
    """``ram_style`` of a memory of so many rows."""
    return "ultra" if rows > _BLOCK else style_of(rows)


def row_blocks(rows, style=None):
    """Of a memory of so many rows: ``bram36``, ``uram`` and ``lut`` of an ``Estimate``.

    ``style``: its ``ram_style``; None for that of ``row_style``.
    """
    style = style or row_style(rows)
    blocks = memory_blocks(ROW_WIDTH, rows, style)
    return {
        "lut": memory_joint(ROW_WIDTH, rows, style),
        "bram36": blocks if style == "block" else 0,
        "uram": blocks if style == "ultra" else 0,
    }

"""Snapshots and rollouts, spread over the local masters in blocks of 16 rows."""

import numpy as np

from hw.fa3c.rows import ROW

__all__ = ["Striped"]


class Striped:
    """One space of rows of 16 words, spread over n parts in blocks of 16 rows: block b, with the
    rows 16 * b to 16 * b + 15, is on part b mod n.

    parts : n arrays of uint32, the words of each part from its first row on; ``write`` changes them
    """

    def __init__(self, parts):
        self._parts = [part.reshape(-1, ROW * ROW) for part in parts]

    def read(self, row, count):
        """The ``count`` rows from row ``row`` on, uint32 [count, 16], as a copy."""
        first, begin = divmod(row, ROW)
        blocks = np.empty((-(-(begin + count) // ROW), ROW * ROW), np.uint32)
        for own, held in self._shares(first, len(blocks)):
            blocks[own] = held
        return blocks.reshape(-1, ROW)[begin : begin + count]

    def write(self, row, rows):
        """Writes ``rows``, uint32 [count, 16], to the rows from row ``row`` on, in the parts."""
        first, begin = divmod(row, ROW)
        count = -(-(begin + len(rows)) // ROW)
        if begin or len(rows) % ROW:  # begins or ends inside a block, whose other rows stay
            blocks = self.read(first * ROW, count * ROW)
            blocks[begin : begin + len(rows)] = rows
            rows = blocks
        blocks = rows.reshape(count, -1)
        for own, held in self._shares(first, count):
            held[:] = blocks[own]

    def _shares(self, first, count):
        """For each part: which of ``count`` blocks from ``first`` on it holds, and their view."""
        stripes = len(self._parts)
        for offset in range(min(stripes, count)):
            here = slice(offset, count, stripes)
            place, stripe = divmod(first + offset, stripes)
            size = (count - offset + stripes - 1) // stripes
            yield here, self._parts[stripe][place : place + size]

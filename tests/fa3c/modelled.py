"""Kernel ``a3c`` on card ``model``, and its programs."""

import tempfile
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from programs import Builder, Rig, status_of

from host.cards import open_card
from hw.designs import DESIGNS
from hw.fa3c.commands import COMMANDS, Opcode
from hw.fa3c.records import A3C_STATUS
from hw.fa3c.rows import ROW_BYTES

__all__ = ["CLOCKS", "Card", "opened"]

#: Fields of A3C_STATUS that a twin does not know.
CLOCKS = ("round_cycles", "update_cycles", "unit_cycles")

_NOTHING = np.zeros(0, np.uint8)


@contextmanager
def opened(config):
    """``with opened(config) as kernel``: a loaded ``host.cards.Kernel``."""
    with tempfile.TemporaryDirectory() as directory, open_card("model") as card:
        path = Path(directory) / "kernel.json"
        path.write_text(DESIGNS["a3c"].describe(config).to_json())
        yield card.load(path)


class Card:
    """Runs programs on a ``kernel`` and keeps what they leave; tasks are dicts of the fields of
    TASK.

    Attributes
    ----------
    left : dict of str to uint8 array
        All bytes that the last program could have written.
    """

    def __init__(self, kernel, config):
        self.config = config
        self.rig = Rig(kernel, config.buffer_bytes, A3C_STATUS, CLOCKS)
        self.left = None

    def run(self, builder, **arguments):
        """``(STATUS, A3C_STATUS)`` after the program."""
        self.left = self.rig.run(builder.launch(), **arguments)
        return status_of(self.left["status"], A3C_STATUS)

    def words(self, name, kind=np.float32):
        """Rows of a buffer [rows, 16]."""
        return self.left[name].view(kind).reshape(-1, ROW_BYTES // 4)

    def local(self, row):
        """A row of local memory: blocks of 16 rows lie on the two masters in turn."""
        block, place = divmod(row, 16)
        return self.words(f"local{block % 2}", np.uint32)[block // 2 * 16 + place]

    def load(self, theta, squares):
        builder = Builder(COMMANDS)
        for image, rows in enumerate((theta, squares)):
            builder.raw(Opcode.LOAD, image=image, source=builder.operand(rows))
        return self.run(builder)

    def round(self, records, operands=_NOTHING, results_bytes=0):
        """A ROUND of TASK ``records`` behind ``operands``, uint8."""
        builder = Builder(COMMANDS)
        builder.operand(operands)
        builder.raw(Opcode.ROUND, count=len(records), source=builder.operand(records))
        builder.result(results_bytes)
        return self.run(builder)

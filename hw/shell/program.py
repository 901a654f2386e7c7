"""Programs: what every kernel reads at a launch's start.

A program is a list of 64-byte commands (``command.py``). A launch ends with a status block
(``status_block.py``), which says how many of them were executed, and which error (``errors.py``)
ended the program.
"""

from amaranth.lib import data
from amaranth.utils import exact_log2

__all__ = ["ALIGNMENT", "COMMAND_BYTES", "OUTCOME", "PAGE_BYTES", "misaligned"]

COMMAND_BYTES = 64
#: Every address and byte offset that a host gives is a multiple of this.
ALIGNMENT = 64
#: Every buffer begins on a multiple of this, and a host cannot allocate less.
PAGE_BYTES = 4096

#: What a core answers to a command: 0 or an error, and the number of the item that failed.
OUTCOME = data.StructLayout({"error": 32, "detail": 32})


def misaligned(place):
    """Whether ``place``, an address or a byte offset in hardware, is no multiple of ALIGNMENT."""
    return place[: exact_log2(ALIGNMENT)].any()

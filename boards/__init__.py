"""The boards, by name, and whether something fits one."""

from boards.board import Board
from boards.u50 import U50
from boards.u200 import U200
from boards.ulx3s import ULX3S
from boards.zcu106 import ZCU106

__all__ = ["BOARDS", "Board", "DoesNotFit", "fits", "fits_resources", "get"]

BOARDS = {board.name: board for board in (U200, U50, ZCU106, ULX3S)}


class DoesNotFit(ValueError):
    """A design needs more than the board has; the message has the number that would fit."""


def get(name):
    """The board called ``name``, in any case; ValueError names the known ones."""
    try:
        return BOARDS[name.lower()]
    except KeyError:
        raise ValueError(f"board must be one of {', '.join(BOARDS)}, not {name!r}") from None


def fits(board, count, item_bytes, *, field="capacity"):
    """Raise ``DoesNotFit`` unless ``count * item_bytes`` bytes fit the largest memory bank.

    A buffer lies in one bank. ``field`` is what the message calls ``count``.
    """
    bank = board.largest_bank
    limit = bank.size // item_bytes
    if count > limit:
        raise DoesNotFit(
            f"{field} must be at most {limit} on {board.title} "
            f"(bank {bank.name} of {bank.size} bytes, {item_bytes} bytes each), not {count}"
        )


def fits_resources(board, estimate):
    """Raise ``DoesNotFit`` for the first resource of which ``estimate`` exceeds the usable count.

    ``estimate`` maps lut, ff, bram36, uram, dsp to counts; what is None or absent on either side
    is unknown and passes.
    """
    for name, limit in board.usable.to_dict().items():
        need = estimate.get(name)
        if need is not None and limit is not None and need > limit:
            raise DoesNotFit(
                f"{name} must be at most {limit} on {board.title} (the usable share), not {need}"
            )

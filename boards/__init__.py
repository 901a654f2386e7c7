"""The boards, by name, and whether something fits one."""

import importlib
import pkgutil
import sys
from types import ModuleType

from boards.board import Board
from hw.errors import UsageError
from hw.extension import Registry

__all__ = ["BOARDS", "Board", "DoesNotFit", "fits", "fits_resources", "get", "titles"]


def _found():
    """The board of each package here that has one: a new board is a folder and nothing else."""
    found = pkgutil.iter_modules(__path__, f"{__name__}.")
    for module in sorted(found, key=lambda each: each.name):
        if module.ispkg:
            yield from (
                value
                for value in vars(importlib.import_module(module.name)).values()
                if isinstance(value, Board)
            )


#: By name: ours, and those of installed packages with an entry point.
BOARDS = Registry("rlfabric.boards", Board, {board.name: board for board in _found()})


#: Family -> its lookup tables for one with six inputs, at least: those of an ECP5 have four.
#: A binary32 adder takes 1.4 times as many there, a PE of ``a3c`` 1.6 times, with its memory.
_TABLES = {"ecp5": 1.4}


class DoesNotFit(UsageError):
    """A design needs more than the board has; the message has the number that would fit."""


def titles() -> dict[str, str]:
    """Name of each board, and its title.

    >>> rlfabric.boards()["u50"]
    'Alveo U50'
    """
    return {board.name: board.title for board in BOARDS.values()}


class _Callable(ModuleType):
    """A package that is a function too: where rlfabric is installed, this one stands at the place
    of the public API's ``rlfabric.boards()``."""

    def __call__(self) -> dict[str, str]:
        return titles()


sys.modules[__name__].__class__ = _Callable


def get(name):
    """The board called ``name``, in any case; ValueError names the known ones."""
    try:
        return BOARDS[name.lower()]
    except KeyError:
        raise UsageError(f"board must be one of {', '.join(BOARDS)}, not {name!r}") from None


def fits(board, count, item_bytes, *, buffer, bank=None, field="capacity"):
    """Raise ``DoesNotFit`` unless ``count * item_bytes`` bytes fit ``bank``, or the largest.

    A buffer lies in one bank. ``field`` is what the message calls ``count``, ``buffer`` the name of
    what lies there.
    """
    bank = bank or board.largest_bank
    limit = bank.size // item_bytes
    if count > limit:
        each = f", {item_bytes} bytes each" if item_bytes > 1 else ""
        raise DoesNotFit(
            f"{field} must be at most {limit} on {board.title} "
            f"(buffer {buffer} in bank {bank.name} of {bank.size} bytes{each}), not {count}"
        )


def fits_resources(board, estimate):
    """Raise ``DoesNotFit`` for the first resource of which ``estimate`` exceeds the usable count.

    ``estimate``: an ``hw.estimate.Estimate``, of UltraScale+; what is None on either side is
    unknown and passes.
    """
    needs = estimate.resources
    if needs["lut"] is not None:
        needs["lut"] = round(_TABLES.get(board.family, 1) * needs["lut"])
    for name, limit, need in board.usable.exceeded(needs):
        raise DoesNotFit(
            f"{name} must be at most {limit} on {board.title} (the usable share), not {need}"
        )

"""The boards by name, and checks whether a design fits on one."""

import importlib
import pkgutil
import sys
from types import ModuleType

from boards.board import Board
from hw.errors import UsageError
from hw.extension import Registry

__all__ = ["BOARDS", "Board", "DoesNotFit", "fits", "fits_resources", "get", "needs", "titles"]
__all__ += ["unknown"]


def _found():
    """The boards of the packages in this folder: a new board is one folder more."""
    found = pkgutil.iter_modules(__path__, f"{__name__}.")
    for module in sorted(found, key=lambda each: each.name):
        if module.ispkg:
            yield from (
                value
                for value in vars(importlib.import_module(module.name)).values()
                if isinstance(value, Board)
            )


#: Boards by name: those of this folder, and those of installed packages with an entry point.
BOARDS = Registry("rlfabric.boards", Board, {board.name: board for board in _found()})


class DoesNotFit(UsageError):
    """A design needs more than the board has; the message has the number that would fit."""


def titles() -> dict[str, str]:
    """Name of each board, and its title.

    >>> rlfabric.boards()["u50"]
    'Alveo U50'
    """
    return {board.name: board.title for board in BOARDS.values()}


class _Callable(ModuleType):
    """A package that can be called. If rlfabric is installed, this package has the same name as the
    public API's function ``rlfabric.boards()``, and is both."""

    def __call__(self) -> dict[str, str]:
        return titles()


sys.modules[__name__].__class__ = _Callable


def get(name, design=None):
    """The ``Board`` called ``name``, in upper or lower case, with the banks and clocks that it has
    for the design of the name ``design``; ValueError if there is no such board."""
    try:
        return BOARDS[name.lower()].set_up_for(design)
    except KeyError:
        raise UsageError(f"board must be one of {', '.join(BOARDS)}, not {name!r}") from None


def fits(board, count, item_bytes, *, buffer, bank=None, field="capacity"):
    """Raises ``DoesNotFit`` unless ``count * item_bytes`` bytes fit into ``bank``; None means the
    board's largest bank.

    A buffer lies in one bank. In the message ``field`` is the name of ``count``, and ``buffer`` the
    name of the buffer.
    """
    bank = bank or board.largest_bank
    limit = bank.size // item_bytes
    if count > limit:
        each = f", {item_bytes} bytes each" if item_bytes > 1 else ""
        raise DoesNotFit(
            f"{field} must be at most {limit} on {board.title} "
            f"(buffer {buffer} in bank {bank.name} of {bank.size} bytes{each}), not {count}"
        )


def needs(board, estimate):
    """``{resource: count or None}`` that an ``hw.estimate.Estimate`` takes on ``board``: its counts
    on an ECP5 if the board has one, else on UltraScale+."""
    return estimate.of(board.counted).resources


def unknown(board, estimate):
    """The list of resources that the board limits and whose need is unknown."""
    need = needs(board, estimate)
    return [
        name
        for name, limit in board.usable.to_dict().items()
        if limit is not None and need[name] is None
    ]


def fits_resources(board, estimate):
    """Raises ``DoesNotFit`` for the first resource of which ``estimate`` has more than the board's
    usable count.

    ``estimate``: an ``hw.estimate.Estimate``. An unknown count is refused if its lower bound is too
    much, and passes if not: ``unknown`` names it.
    """
    known = needs(board, estimate)
    for name, limit, least in board.usable.exceeded(estimate.least(board.counted)):
        need = least if known[name] is not None else f"{least:g} or more"
        raise DoesNotFit(
            f"{name} must be at most {limit} on {board.title} (the usable share), not {need}"
        )

"""The memory bank of each master of a kernel, on a card and on the simulated card."""

from boards import fits
from hw import designs

__all__ = ["bank_of_largest", "banks", "configured"]


def configured(description):
    """``(design, config)`` of the kernel that ``description`` describes."""
    design = designs.DESIGNS[description.name]
    return design, design.config_type.from_dict(description.config)


def banks(description, board, *, storage_bytes=None):
    """The tuple of banks on ``board``, one for each master of the described kernel.

    ``Board.assign`` chooses them by the sizes of buffers that the design knows from its config.
    ``storage_bytes`` : bytes of the largest buffer, if the design cannot know them, as with
    experiences of many beats. ``boards.DoesNotFit`` if the bank of that buffer is smaller.
    """
    design, config = configured(description)
    assigned, position = _assigned(design, config, board, storage_bytes or 0)
    if storage_bytes:
        bank = assigned[position]
        fits(board, storage_bytes, 1, buffer=design.largest, bank=bank, field="storage_bytes")
    return assigned


def bank_of_largest(design, config, board):
    """The bank that the largest buffer of ``design`` with ``config`` has on ``board``."""
    assigned, position = _assigned(design, config, board)
    return assigned[position]


def _assigned(design, config, board, storage_bytes=0):
    """The banks, and the position of the master with the largest buffer."""
    masters = design.describe(config).masters
    position = next(k for k, each in enumerate(masters) if design.largest in each.arguments)
    count, item_bytes = design.storage(config)
    fixed = design.buffers(config)
    sizes = [sum(fixed.get(name, 0) for name in master.arguments) for master in masters]
    sizes[position] = max(sizes[position], count * item_bytes, storage_bytes)
    taken = sum(fixed.values()) or None
    return board.assign(sizes, storage=position, taken=taken), position

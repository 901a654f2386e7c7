"""Which memory bank each master of a kernel has: on a card, and on the card that simulates it."""

from hw import designs

__all__ = ["bank_of_largest", "banks"]


def banks(description, board):
    """``Board.assign`` for the described kernel, whose design knows its buffers."""
    design = designs.DESIGNS[description.name]
    return _assigned(design, design.config_type.from_dict(description.config), board)[0]


def bank_of_largest(design, config, board):
    """The bank that the largest buffer of ``design`` with ``config`` has on ``board``."""
    assigned, position = _assigned(design, config, board)
    return assigned[position]


def _assigned(design, config, board):
    """The banks, and the position of the master that the largest buffer is on."""
    masters = design.describe(config).masters
    position = next(k for k, each in enumerate(masters) if design.largest in each.arguments)
    count, item_bytes = design.storage(config)
    sizes = [0] * len(masters)
    sizes[position] = count * item_bytes
    taken = sum(design.buffers(config).values()) or None
    return board.assign(sizes, taken=taken), position

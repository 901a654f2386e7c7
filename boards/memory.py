"""Which memory bank each master of a kernel has: on a card, and on the card that simulates it."""

from hw import designs

__all__ = ["banks"]


def banks(description, board):
    """``Board.assign`` for the described kernel, whose design knows its buffers."""
    design = designs.DESIGNS[description.name]
    config = design.config_type.from_dict(description.config)
    count, item_bytes = design.storage(config)
    taken = sum(design.buffers(config).values()) or None
    return board.assign(len(description.masters), count * item_bytes, taken=taken)

"""Slots as they travel between the units: a step of every row, side by side."""

from amaranth import Shape, signed
from amaranth.lib import data

from hw.gae.records import Kind

__all__ = ["EXPONENT", "EXPONENT_LIMIT", "FACTOR_WIDTH", "NUMBER_WIDTH", "SHIFT_LIMIT"]
__all__ += ["result_layout", "slot_layout"]

#: Bits of a number as it is counted for sums and codes, signed, and of the factor on it.
NUMBER_WIDTH, FACTOR_WIDTH = 27, 26

#: Largest magnitude of an exponent, and the shape that holds it; largest shift.
EXPONENT_LIMIT, SHIFT_LIMIT = 150, 53
EXPONENT = Shape.cast(range(-EXPONENT_LIMIT, EXPONENT_LIMIT + 1))


def slot_layout(config):
    """What is pushed: a cell ``{kind, reward, value}`` for each row, codes of ``code_width``."""
    code = signed(config.code_width)
    cell = data.StructLayout({"kind": Kind, "reward": code, "value": code})
    return data.ArrayLayout(cell, config.rows)


def result_layout(config):
    """What is pulled: ``{advantage, reward_to_go}`` for each row, of ``result_width``."""
    result = signed(config.result_width)
    cell = data.StructLayout({"advantage": result, "reward_to_go": result})
    return data.ArrayLayout(cell, config.rows)

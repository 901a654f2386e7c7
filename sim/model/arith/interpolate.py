"""Bit-exact reference for ``hw.arith.interpolate`` (integers only, no floats)."""

__all__ = ["interpolate"]


def interpolate(x, table):
    """Return the int64 values of ``table`` at int64 ``x``, which fit ``table.x_width`` bits."""
    index = x >> table.remainder_width
    remainder = x & ((1 << table.remainder_width) - 1)
    half = 1 << (table.drop - 1)
    total = (table.base[index] << table.remainder_width) + table.slope[index] * remainder + half
    return total >> table.drop

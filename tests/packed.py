"""Values of structs and arrays as the bits of a port, and which of these bits say something."""

import numpy as np
from amaranth import Shape
from amaranth.lib import data

__all__ = ["packed", "port_shapes"]


def port_shapes(unit):
    """name -> shape of every port of a component, by the names that they have in Verilog."""
    return {
        "__".join(map(str, path)): value.shape() for path, _, value in unit.signature.flatten(unit)
    }


def packed(shape, value):
    """``(bits, care)``: ``value`` as an integer, and a one for each bit that it says.

    ``value`` is an integer, signed or not; a float32, which stands for its bits; for a layout
    also a dict of fields or a sequence of elements, each as here. None, and a field that is not
    named, say nothing. ValueError if a number has more bits than its place.
    """
    if value is None:
        return 0, 0
    if isinstance(shape, data.Layout) and isinstance(value, (dict, list, tuple, np.ndarray)):
        bits = care = 0
        for key, part in value.items() if isinstance(value, dict) else enumerate(value):
            field = shape[key]
            part_bits, part_care = packed(field.shape, part)
            bits |= part_bits << field.offset
            care |= part_care << field.offset
        return bits, care
    if getattr(value, "dtype", None) == np.float32:
        value = value.view(np.uint32)
    width = Shape.cast(shape).width
    number, mask = int(value), (1 << width) - 1
    if not -(1 << width) <= 2 * number < 2 << width:
        raise ValueError(f"value must have {width} bits, not {value!r}")
    return number & mask, mask

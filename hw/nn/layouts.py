"""Layouts that several stages of the learner share: numbers side by side."""

from amaranth import *
from amaranth.lib import data

__all__ = ["MAX_SHIFT", "SHIFT", "feed_layout", "vector_layout"]

#: By how many places errors may be shifted, each way, and the shape of this number in a record.
MAX_SHIFT, SHIFT = 8, signed(8)


def vector_layout(shape, *counts):
    """An ArrayLayout of arrays of numbers of ``shape``. ``counts`` are the lengths, that of the
    outermost array first; without counts it is ``shape`` itself."""
    for count in reversed(counts):
        shape = data.ArrayLayout(shape, count)
    return shape


def feed_layout(shape, inputs, groups, lanes, count=1):
    """What ``SampleReader`` sends to a network's first layer in a clock: ``count`` numbers of the
    same places in the experiences of all lanes.

    last : these are the last numbers of their experiences for this layer
    numbers : ``count`` structures:

    - index : which input of the layer the number is
    - mask : a bit for each group, which is 1 if the group takes the number; all may be 0
    - value : the number, one for each lane

    Of the numbers of one clock, those that a group takes are neighbouring inputs, in any order.
    """
    value = vector_layout(shape, lanes)
    number = data.StructLayout({"index": range(inputs), "mask": groups, "value": value})
    return data.StructLayout({"last": 1, "numbers": data.ArrayLayout(number, count)})

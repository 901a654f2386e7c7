"""Layouts that several stages of the learner share: numbers side by side."""

from amaranth.lib import data

__all__ = ["element_layout", "feed_layout", "vector_layout"]


def vector_layout(shape, *counts):
    """Array of arrays of ``shape``, outermost count first."""
    for count in reversed(counts):
        shape = data.ArrayLayout(shape, count)
    return shape


def element_layout(shape, outputs, groups, lanes):
    """One output of a layer, as ``Forward`` sends it, without back-pressure.

    valid : there is an output in this clock
    index : number of the output
    value : its values, ``[groups][lanes]``
    """
    value = vector_layout(shape, groups, lanes)
    return data.StructLayout({"valid": 1, "index": range(outputs), "value": value})


def feed_layout(shape, inputs, groups, lanes, count=1):
    """``count`` numbers of an experience, for several samples.

    last : they are the last numbers of their experience
    numbers : ``count`` structures:

    - index : number of the input
    - mask : a bit for each group: the number is for this group; it may be for none
    - value : a value for each lane, the same for every group of ``mask``

    Those for one group are numbers of inputs that follow each other, in any order.
    """
    value = vector_layout(shape, lanes)
    number = data.StructLayout({"index": range(inputs), "mask": groups, "value": value})
    return data.StructLayout({"last": 1, "numbers": data.ArrayLayout(number, count)})

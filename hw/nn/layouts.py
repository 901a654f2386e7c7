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


def feed_layout(shape, inputs, groups, lanes):
    """One number of an experience, for several samples.

    index : number of the input
    mask : a bit for each group: the number is for this group
    last : it is the last number of its experience
    value : a value for each lane, the same for every group of ``mask``
    """
    value = vector_layout(shape, lanes)
    return data.StructLayout({"index": range(inputs), "mask": groups, "last": 1, "value": value})

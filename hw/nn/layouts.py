"""Payloads that several stages of the learner share: numbers side by side."""

from amaranth.lib import data

__all__ = ["element_layout", "feed_layout", "vector_layout"]


def vector_layout(shape, *counts):
    """Array of arrays of ``shape``, outermost count first."""
    for count in reversed(counts):
        shape = data.ArrayLayout(shape, count)
    return shape


def element_layout(shape, outputs, groups, lanes):
    """An element of a layer's outputs, as ``Forward`` sends it: no back-pressure."""
    value = vector_layout(shape, groups, lanes)
    return data.StructLayout({"valid": 1, "index": range(outputs), "value": value})


def feed_layout(shape, inputs, groups, lanes):
    """An element of an experience: one value a lane, for every group of ``mask``."""
    value = vector_layout(shape, lanes)
    return data.StructLayout({"index": range(inputs), "mask": groups, "last": 1, "value": value})

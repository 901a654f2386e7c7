"""Requests to the replay manager, and its responses."""

from amaranth import *
from amaranth.lib import data, enum

__all__ = ["Operation", "request_layout", "response_layout"]


class Operation(enum.Enum, shape=2):
    """What a request asks for: GET and SET name a leaf; SAMPLE and FIND search the tree for one."""

    GET = 0  #: priority of ``index``
    SET = 1  #: priority of ``index`` becomes ``value``
    SAMPLE = 2  #: a leaf drawn with probability priority / total
    FIND = 3  #: the leaf that holds the given ``value`` in [0, total)


def request_layout(config):
    """A request: its ``operation``; ``index``, the leaf of a GET or SET; ``value``, the priority of
    a SET or the target of a FIND; ``first``, with SAMPLE: this draw has stratum 0, and later ones
    have the strata 1, 2, ..."""
    return data.StructLayout(
        {
            "operation": Operation,
            "first": 1,
            "index": config.index_width,
            "value": max(config.total_width, config.priority_width),
        }
    )


def response_layout(config):
    """A response: ``index`` of the leaf that was named, drawn or found, and its ``priority`` after
    the operation. If ``error`` is 1, nothing has changed, and the other fields are 0."""
    return data.StructLayout(
        {
            "index": config.index_width,
            "priority": config.priority_width,
            "error": 1,
        }
    )

"""How a design reaches memory: the engines' streams as one port a direction."""

from amaranth.hdl import unsigned
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, Signature

from hw.shell.axi import REQUEST
from hw.shell.program import COMMAND_BYTES, OUTCOME

__all__ = ["core_members", "read_port", "share", "write_port"]


def read_port(data_width):
    """``request`` asks for a run of beats, ``data`` brings them in the order of the requests."""
    return Signature(
        {
            "request": Out(stream.Signature(REQUEST)),
            "data": In(stream.Signature(unsigned(data_width))),
        }
    )


def write_port(data_width):
    """``request`` announces a run of beats, ``data`` holds them, ``done`` is a token a request
    once it is in memory: 1 if memory answered with an error."""
    return Signature(
        {
            "request": Out(stream.Signature(REQUEST)),
            "data": Out(stream.Signature(unsigned(data_width))),
            "done": In(stream.Signature(unsigned(1))),
        }
    )


def core_members(data_width, status, pointers):
    """Members of every core (``docs/adding_a_design.md``): command, outcome, status, the launch's
    arguments and a port a direction to each memory.

    status : Layout of the design's status block
    pointers : names of the design's own buffers, each with a master of its own
    """
    return {
        "command": In(stream.Signature(unsigned(8 * COMMAND_BYTES))),
        "outcome": Out(stream.Signature(OUTCOME)),
        "status": Out(8 * status.size),
        "operands": In(64),
        "results": In(64),
        "operands_bytes": In(32),
        "results_bytes": In(32),
        **{name: In(64) for name in pointers},
        **{f"{name}_read": Out(read_port(data_width)) for name in ("host", *pointers)},
        **{f"{name}_write": Out(write_port(data_width)) for name in ("host", *pointers)},
    }


def share(m, end, claims):
    """One engine or port ``end`` for several ports: ``claims`` are pairs of (owns, port).

    At most one owns ``end`` in a clock, and does so until its last word has moved.
    """
    for name, member in claims[0][1].signature.members.items():
        outer = getattr(end, name)
        for owns, port in claims:
            inner = getattr(port, name)
            if member.flow == Out:
                m.d.comb += inner.ready.eq(outer.ready & owns)
                with m.If(owns):
                    m.d.comb += [outer.payload.eq(inner.payload), outer.valid.eq(inner.valid)]
            else:
                m.d.comb += [inner.payload.eq(outer.payload), inner.valid.eq(outer.valid & owns)]
                with m.If(owns):
                    m.d.comb += outer.ready.eq(inner.ready)

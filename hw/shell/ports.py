"""How a design reaches memory: the engines' streams as one port a direction."""

from amaranth.hdl import unsigned
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, Signature

from hw.shell.axi import REQUEST
from hw.shell.buffers import masters_of
from hw.shell.program import COMMAND_BYTES, OUTCOME

__all__ = ["core_members", "read_beats", "read_port", "mux_ports", "write_port"]


def read_beats(data_width):
    """What a read brings: a beat, and whether memory answered it with an error."""
    return data.StructLayout({"data": data_width, "error": 1})


def read_port(data_width):
    """``request`` asks for a run of beats, ``data`` brings them in the order of the requests.

    A beat with ``error`` holds anything; it comes all the same, so that nothing waits for it.
    """
    return Signature(
        {
            "request": Out(stream.Signature(REQUEST)),
            "data": In(stream.Signature(read_beats(data_width))),
        }
    )


def write_port(data_width):
    """``request`` announces a run of beats, ``data`` holds them, ``done`` is a token a request
    once memory has answered it: 1 if that was an error."""
    return Signature(
        {
            "request": Out(stream.Signature(REQUEST)),
            "data": Out(stream.Signature(unsigned(data_width))),
            "done": In(stream.Signature(unsigned(1))),
        }
    )


def core_members(buffers, data_width, status):
    """Members of every core (``docs/adding_a_design.md``): command, outcome, status, the launch's
    buffers, and a port a direction to each master.

    buffers : all that the core sees, operands and results among them
    data_width : callable, bits of a beat of a master
    status : Layout of the design's status block
    """
    members = {
        "command": In(stream.Signature(unsigned(8 * COMMAND_BYTES))),
        "outcome": Out(stream.Signature(OUTCOME)),
        "status": Out(8 * status.size),
    }
    for buffer in buffers:
        members |= {buffer.name: In(64), buffer.size_name: In(32)}
    for master, access in masters_of(buffers).items():
        for kind, direction, port in (("r", "read", read_port), ("w", "write", write_port)):
            if kind in access:
                members[f"{master}_{direction}"] = Out(port(data_width(master)))
    return members


def mux_ports(m, end, claims):
    """One engine or port ``end`` for several ports: ``claims`` are pairs of (owns, port).

    At most one owns ``end`` in a clock, and does so until its last word has moved: for units that
    by their own structure take turns. Others need ``hw.shell.interconnect``.
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

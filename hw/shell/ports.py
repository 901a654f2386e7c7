"""How a design reaches memory: the engines' streams as one port a direction."""

from amaranth.hdl import unsigned
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, Signature

from hw.shell.axi import REQUEST
from hw.shell.buffers import masters_of
from hw.shell.program import COMMAND_BYTES, OUTCOME

__all__ = ["core_members", "read_beats", "read_port", "mux_ports", "write_port"]


def read_beats(data_width):
    """The layout of an item that a read brings: ``data``, the beat's bits, and ``error``, 1 if
    memory could not read it."""
    return data.StructLayout({"data": data_width, "error": 1})


def read_port(data_width):
    """The signature of a read port, as seen by the unit that reads.

    A request on ``request`` asks for a run of beats; ``data`` brings the beats in the order of the
    requests. If memory could not read a beat, it comes all the same, with any bits and with
    ``error`` 1, so that nothing waits for it for ever.
    """
    return Signature(
        {
            "request": Out(stream.Signature(REQUEST)),
            "data": In(stream.Signature(read_beats(data_width))),
        }
    )


def write_port(data_width):
    """The signature of a write port, as seen by the unit that writes.

    A request on ``request`` announces a run of beats; ``data`` carries the beats of all requests in
    order. ``done`` brings one token for each request, in order, after memory has answered it: 0, or
    1 if an answer was an error.
    """
    return Signature(
        {
            "request": Out(stream.Signature(REQUEST)),
            "data": Out(stream.Signature(unsigned(data_width))),
            "done": In(stream.Signature(unsigned(1))),
        }
    )


def core_members(buffers, data_width, status):
    """The dict of members that every core has: command, outcome, status, address and size of each
    of ``buffers``, and a port to each master for each direction that its buffers need.

    buffers : the ``Buffer`` of all that the core sees, operands and results among them
    data_width : function from a master's short name to the bits of its beat
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
    """Connects one engine or port ``end`` to several ports, one at a time, in the module ``m``.

    ``claims`` are pairs (owns, port): while the bit ``owns`` is 1, ``port`` is connected to
    ``end``; otherwise the port's streams stand still. At most one bit may be 1 in a clock, and it
    must stay 1 until the port's last beat and token have been transferred. Units that do not take
    turns by their own structure need ``hw.shell.interconnect``.
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

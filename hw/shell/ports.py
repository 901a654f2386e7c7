"""How a design reaches memory: the engines' streams as one port a direction."""

from amaranth.hdl import unsigned
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, Signature

from hw.shell.axi import REQUEST

__all__ = ["read_port", "write_port"]


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

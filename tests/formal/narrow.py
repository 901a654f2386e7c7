"""Requests of few bits: what a proof needs, of the same Verilog but for its widths."""

from amaranth.lib import data

from hw.shell import axi

__all__ = ["ADDRESS_WIDTH", "BEAT_BITS", "PORT", "narrow", "request_shape"]

#: Bits of an address in beats.
ADDRESS_WIDTH = 3
#: Bits of an address in bytes that are 0: a beat of 32 bits.
BEAT_BITS = 2
#: The bit of an address in bytes that says which of two ports a request is of.
PORT = BEAT_BITS + ADDRESS_WIDTH


def narrow(monkeypatch, beats_width=3):
    """``REQUEST`` of the memory engines and interconnects, until the end of the test."""
    request = data.StructLayout({"address": PORT + 1, "beats": beats_width})
    for module in ("axi", "arbiter", "burst", "ports", "read_engine", "write_engine"):
        monkeypatch.setattr(f"hw.shell.{module}.REQUEST", request)


def request_shape():
    """What of a request is free: an address in beats, and beats."""
    return data.StructLayout({"address": ADDRESS_WIDTH, "beats": axi.REQUEST["beats"].shape})

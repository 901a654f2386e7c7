"""Requests of few bits: what a proof needs, of the same Verilog but for its widths."""

from amaranth.lib import data

__all__ = ["ADDRESS_WIDTH", "BEATS_WIDTH", "BEAT_BITS", "PORT", "narrow"]

#: Bits of an address in beats, and of a length.
ADDRESS_WIDTH, BEATS_WIDTH = 3, 3
#: Bits of an address in bytes that are 0: a beat of 32 bits.
BEAT_BITS = 2
#: The bit of an address in bytes that says which of two ports a request is of.
PORT = BEAT_BITS + ADDRESS_WIDTH

_REQUEST = data.StructLayout({"address": PORT + 1, "beats": BEATS_WIDTH})


def narrow(monkeypatch):
    """``REQUEST`` of the memory engines and interconnects, until the end of the test."""
    for module in ("axi", "arbiter", "burst", "ports", "read_engine", "write_engine"):
        monkeypatch.setattr(f"hw.shell.{module}.REQUEST", _REQUEST)

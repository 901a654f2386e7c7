"""The one deep memory: simple dual-port, synchronous read, inferable by every synthesizer.

An ``Instance`` of ``ram.v`` rather than ``amaranth.lib.memory``, whose initial contents are written
out word by word: generation time must not depend on capacity.
"""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["RAM_STYLES", "Ram", "memory_blocks"]

RAM_STYLES = ("auto", "distributed", "block", "ultra")

#: Shapes (words, bits) of an UltraScale+ block used as a simple dual-port memory; UG573.
_SHAPES = {
    "block": [(512, 72), (1024, 36), (2048, 18), (4096, 9), (8192, 4), (16384, 2), (32768, 1)],
    "ultra": [(4096, 72)],
}


def memory_blocks(width, depth, style):
    """RAMB36 or URAM288 blocks of a memory: the least over the block's shapes."""
    return min(-(-width // bits) * -(-depth // words) for words, bits in _SHAPES[style])


class Ram(wiring.Component):
    """``read_data`` is ``memory[read_address]`` of the last clock with ``read_enable``.

    A read in the clock of a write to the same address is undefined (UltraRAM forbids it): callers
    forward by named logic. Contents after reset are undefined: callers clear what they need.

    Parameters
    ----------
    width : int
        Bits a word.
    depth : int
        Words, any number from 1.
    style : str
        One of ``RAM_STYLES``, the vendor's ``ram_style``.
    """

    def __init__(self, *, width, depth, style="auto"):
        if style not in RAM_STYLES:
            raise ValueError(f"style must be one of {', '.join(RAM_STYLES)}, not {style!r}")
        for name, value in (("width", width), ("depth", depth)):
            if not isinstance(value, int) or value < 1:
                raise ValueError(f"{name} must be a positive integer, not {value!r}")
        self.width, self.depth, self.style = width, depth, style
        self.address_width = max(1, (depth - 1).bit_length())
        super().__init__(
            {
                "write_enable": In(1),
                "write_address": In(self.address_width),
                "write_data": In(width),
                "read_enable": In(1, init=1),
                "read_address": In(self.address_width),
                "read_data": Out(width),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.memory = Instance(
            "rlfabric_ram",
            p_WIDTH=self.width,
            p_DEPTH=max(2, self.depth),
            p_ADDRESS_WIDTH=self.address_width,
            p_RAM_STYLE=self.style,
            i_clk=ClockSignal(),
            i_write_enable=self.write_enable,
            i_write_address=self.write_address,
            i_write_data=self.write_data,
            i_read_enable=self.read_enable,
            i_read_address=self.read_address,
            o_read_data=self.read_data,
        )
        return m

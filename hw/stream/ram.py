"""The deep memory: simple dual-port, synchronous read, inferable by synthesizers.

It is an ``Instance`` of ``ram.v`` rather than ``amaranth.lib.memory``, whose initial contents are
written out word by word: generation time must not depend on capacity.
"""

import math

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.errors import UsageError
from hw.estimate import Estimate, selector

__all__ = ["DEEP", "RAM_STYLES", "SHALLOW", "Ram", "memory_blocks"]
__all__ += ["memory_joint", "memory_tables", "shallow_memory", "style_of"]

RAM_STYLES = ("auto", "distributed", "block", "ultra")

#: Words up to which a memory is made of lookup tables rather than of blocks, and from which on it
#: may be made of UltraRAM.
SHALLOW, DEEP = 64, 2048

#: Shapes (words, bits) of an UltraScale+ block used as a simple dual-port memory; UG573.
_SHAPES = {
    "block": [(512, 72), (1024, 36), (2048, 18), (4096, 9), (8192, 4), (16384, 2), (32768, 1)],
    "ultra": [(4096, 72)],
}


def style_of(depth, ultra_ram=False):
    """The ``ram_style`` of a memory or queue of ``depth`` words, the same rule in every design.

    It is "distributed" up to ``SHALLOW`` words. Above, it is "ultra" if ``ultra_ram`` and there are
    ``DEEP`` words or more, else "block". For "ultra" the part must have UltraRAM, and the memory's
    collision rules must allow it.
    """
    if depth <= SHALLOW:
        return "distributed"
    return "ultra" if ultra_ram and depth >= DEEP else "block"


def memory_blocks(width, depth, style):
    """RAMB36 (style "block") or URAM288 ("ultra") blocks of a ``Ram``: the least over the block's
    shapes; 0 for style "distributed"."""
    return math.prod(_shape(width, depth, style))


def memory_joint(width, depth, style):
    """Lookup tables that choose among the parts of a deep ``Ram``, as yosys maps them; the vendor's
    tools use the blocks' own cascade."""
    if style == "block":
        _, parts = _mapped(width, depth)
    else:
        parts = -(-depth // 64) if style == "distributed" else _shape(width, depth, style)[1]
    if parts <= 8:
        return width * selector(parts)
    # Where they are no power of two, the last ones are told apart by more bits of the address.
    return width * (parts // 2 if parts & (parts - 1) == 0 else 3 * parts // 5)


def _shape(width, depth, style):
    """``_fewest`` blocks; none for style "distributed"."""
    return (0, 0) if style == "distributed" else _fewest(width, depth, _SHAPES[style])


def _fewest(width, depth, shapes):
    """The least number of blocks with one of ``shapes``, in width and in depth; ties prefer fewer
    in depth."""
    return min(
        ((-(-width // bits), -(-depth // words)) for words, bits in shapes),
        key=lambda shape: (math.prod(shape), shape[1]),
    )


def memory_tables(width, depth, style):
    """Lookup tables of a distributed ``Ram`` (eight hold 14 bits of 32 words, or 7 bits of 64); 0
    if it is made of blocks."""
    if style != "distributed":
        return 0
    bits, words = (14, 32) if depth <= 32 else (7, 64)
    return -(-width // bits) * 8 * -(-depth // words)


#: Bits, times depths of a lookup table, from which on yosys makes blocks of a memory.
_LARGE = 56


def _cheapest(width, depth):
    """The style that yosys chooses for a memory of style "auto"."""
    large = depth > SHALLOW and width * -(-depth // 64) >= _LARGE
    return "block" if large else "distributed"


#: Shapes of half a block, which is a memory of its own.
_HALVES = [(512, 36), (1024, 18), (2048, 9), (4096, 4), (8192, 2), (16384, 1)]


def _halves(width, depth):
    """DP16KD of an ECP5, each half a RAMB36: side by side, and in depth."""
    return _fewest(width, depth, _HALVES)


#: Bits of a block that cost yosys as much as a bit's choice between two parts in depth.
_CHOICE = 72


def _mapped(width, depth):
    """Halves of RAMB36 blocks, and parts in depth, as yosys maps a memory: where the bits of blocks
    and the choice among parts cost least; ties prefer fewer parts."""
    found = []
    for words, bits in (*_HALVES, *_SHAPES["block"]):
        parts, halves = -(-depth // words), 1 + (words * bits > 512 * 36)
        found.append((halves * -(-width // bits) * parts, parts))
    return min(
        found, key=lambda each: (each[0] * 512 * 36 + _CHOICE * width * (each[1] - 1), each[1])
    )


def _folded(width, depth):
    """UltraRAM blocks as yosys counts them: it lays up to eight words beside each other, as a block
    writes bytes of nine bits; the vendor's tools may take a few more (``memory_blocks``)."""
    return -(-(-(-width // 9) * -(-depth // 4096)) // 8)


#: Lookup tables on an ECP5 that choose one of so many bits, as yosys maps them: with multiplexers,
#: two tables of four inputs are one of five, and four are one of six.
_CHOSEN = {1: 0, 2: 1, 3: 2, 4: 4, 5: 3, 6: 10, 7: 6, 8: 6}
#: Bits, times depths of a TRELLIS_DPR16X4, from which on yosys makes a DP16KD of a memory; and the
#: number of those cells from which on it does so for fewer bits.
_LARGE_ECP5, _MANY_ECP5 = 90, 28


def _chosen_ecp5(count):
    return _CHOSEN[count] if count in _CHOSEN else (3 * count - 6) // 2


def _ecp5(width, depth, style):
    """Resources on an ECP5 as yosys maps a ``Ram``; None for a style that an ECP5 lacks.

    A TRELLIS_DPR16X4 has 16 words of 4 bits in two slices; a third slice writes them, and loses its
    tables: six tables. If a word is read and written in the same clock, a DP16KD does not return
    the old word as Verilog does: yosys compares the addresses and keeps the word.
    """
    if style == "auto":
        parts, blocks = -(-depth // 16), math.prod(_halves(width, depth))
        few = width * parts < _LARGE_ECP5 * blocks and -(-width // 4) * parts < _MANY_ECP5 * blocks
        style = "distributed" if few else "block"
    address = max(1, (depth - 1).bit_length())
    if style == "distributed":
        parts = -(-depth // 16)
        cells = 6 * -(-width // 4) * parts + width * _chosen_ecp5(parts)
        return cells + (parts if parts > 1 else 0), width, 0, 0, 0
    if style != "block":
        return None
    beside, behind = _halves(width, depth)
    halves, place = beside * behind, (behind - 1).bit_length()
    lut = width * (1 + _chosen_ecp5(behind)) + 3 * address // 2
    # Data written, data read, address and place of the read.
    ff = 2 * width + address + 2 + place
    return lut, ff, halves / 2 if halves & 1 else halves // 2, 0, 0


def shallow_memory(width, depth):
    """Resources of a memory of lookup tables that is read in the clock of its address."""
    lut, _, *others = _ecp5(width, depth, "distributed")
    # Where nothing waits for the word, yosys chooses among four cells with three tables a bit.
    lut -= width * (-(-depth // 16) == 4)
    return Estimate(lut=memory_tables(width, depth, "distributed"), ecp5=(lut, 0, *others))


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

    Members
    -------
    write_enable : In(1), write_address : In, write_data : In(width)
        In a clock with ``write_enable``, the word ``write_data`` is stored at ``write_address``.
    read_enable : In(1), read_address : In
        In a clock with ``read_enable``, ``memory[read_address]`` is read; 1 if left unconnected.
    read_data : Out(width)
        The word that was read last, from the clock after its ``read_enable`` on.
    """

    def __init__(self, *, width, depth, style="auto"):
        if style not in RAM_STYLES:
            raise UsageError(f"style must be one of {', '.join(RAM_STYLES)}, not {style!r}")
        for name, value in (("width", width), ("depth", depth)):
            if not isinstance(value, int) or value < 1:
                raise UsageError(f"{name} must be a positive integer, not {value!r}")
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

    @classmethod
    def estimate(cls, width, depth, style="auto"):
        """Resources as yosys maps them."""
        ecp5 = _ecp5(width, depth, style)
        if style == "auto":
            style = _cheapest(width, depth)
        tables = memory_tables(width, depth, style)
        return Estimate(
            lut=tables + memory_joint(width, depth, style),
            ff=width if tables else 0,
            bram36=_mapped(width, depth)[0] / 2 if style == "block" else 0,
            uram=_folded(width, depth) if style == "ultra" else 0,
            ecp5=ecp5,
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

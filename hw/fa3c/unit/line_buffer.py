"""The line buffer: rows from several places of a feature map become one line of words (FA3C 4.5).

*Stitch*: rows that are neighbours here may be far apart in the feature buffer. *Shift*: sweeps read
a line in chunks of ``lanes`` words, one a clock, in any order. There are two lines: one is swept
while the other is filled.
"""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.arith.float32.format import BIAS, WIDTH
from hw.fa3c.config import LINE_ROWS
from hw.fa3c.rows import ROW, ROW_WIDTH
from hw.stream.delay import delay
from hw.stream.ram import Ram

__all__ = ["LINE_ROW", "LineBuffer", "byte_to_float"]

#: A row for the line that is filled; ``last``: it is the last row of the line.
LINE_ROW = data.StructLayout({"row": ROW_WIDTH, "last": 1})

_BYTE = 8
#: binary32 1.0: in GC, the gradient of a bias is the sum of 1 * error.
_ONE = BIAS << 23


def byte_to_float(m, byte, exponent, *, name):
    """binary32 of ``byte * 2**exponent``, exact. Combinational."""
    result = Signal(WIDTH, name=name)
    for top in range(_BYTE):
        fraction = Cat(C(0, 23 - top), byte[:top])
        with m.If(byte[top]):
            m.d.comb += result.eq(Cat(fraction, C(BIAS + exponent + top, 8)))
    return result


class LineBuffer(wiring.Component):
    """Gives words of the line that is swept, in chunks, and takes rows of the next line.

    Parameters
    ----------
    config : Fa3cConfig

    Members
    -------
    i : In(stream of LINE_ROW)
        Rows of the next line. Always ready. There is room for two lines; ``Fill`` begins a line
        only while fewer than two are here or on their way.
    full : Out(1)
        A whole line is here.
    release : In(1)
        One clock, with the last address of a line: later addresses are in the next line.
    address : In
        Number of a chunk of the line: ``lanes`` words, or ``lanes`` bytes if ``wide``.
    wide : In(1)
        With ``address``: rows hold 64 bytes instead of 16 words; each byte becomes the binary32
        number byte * 2**input_exponent.
    one : In(1)
        With ``address``: all words of the chunk are 1.0 instead of those of the line.
    words : Out(lanes x 32)
        The chunk of the address of ``LATENCY`` clocks ago, in binary32.
    """

    LATENCY = 3

    def __init__(self, config):
        self.config = config
        super().__init__(
            {
                "i": In(stream.Signature(LINE_ROW)),
                "full": Out(1),
                "release": In(1),
                "address": In(range(LINE_ROWS * 4 * ROW // config.lanes)),
                "wide": In(1),
                "one": In(1),
                "words": Out(data.ArrayLayout(WIDTH, config.lanes)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.ram = ram = Ram(width=ROW_WIDTH, depth=2 * LINE_ROWS, style="distributed")
        writing, reading = Signal(), Signal()  # which half is filled, and which is swept
        row, lines = Signal(range(LINE_ROWS)), Signal(range(3))
        ends = Signal()
        m.d.comb += [
            self.i.ready.eq(1),
            ends.eq(self.i.valid & self.i.p.last),
            ram.write_enable.eq(self.i.valid),
            ram.write_address.eq(Cat(row, writing)),
            ram.write_data.eq(self.i.p.row),
            self.full.eq(lines != 0),
        ]
        with m.If(self.i.valid):
            m.d.sync += [row.eq(Mux(ends, 0, row + 1)), writing.eq(writing ^ ends)]
        m.d.sync += [lines.eq(lines + ends - self.release), reading.eq(reading ^ self.release)]

        lanes = self.config.lanes
        word_bits = (
            ROW // lanes - 1
        ).bit_length()  # bits of an address that choose a chunk in a row of words
        byte_bits = (4 * ROW // lanes - 1).bit_length()
        place = Signal(range(LINE_ROWS))
        m.d.comb += [
            place.eq(Mux(self.wide, self.address >> byte_bits, self.address >> word_bits)),
            ram.read_address.eq(Cat(place, reading)),
        ]
        s1_chunk = delay(m, self.address[:byte_bits], 1, name="chunk")
        s1_wide = delay(m, self.wide, 1, name="wide")
        s2_one = delay(m, self.one, 2, name="one")
        s2_wide = delay(m, s1_wide, 1, name="s1_wide")
        s2_words = Signal(lanes * WIDTH, reset_less=True)
        s3_words = Signal(lanes * WIDTH, reset_less=True)
        words = ram.read_data.word_select(s1_chunk[:word_bits], lanes * WIDTH)
        bytes_ = ram.read_data.word_select(s1_chunk, lanes * _BYTE)
        m.d.sync += s2_words.eq(Mux(s1_wide, bytes_, words))
        for lane in range(lanes):
            number = byte_to_float(
                m,
                s2_words.word_select(lane, _BYTE),
                self.config.input_exponent,
                name=f"number_{lane}",
            )
            word = s2_words.word_select(lane, WIDTH)
            m.d.sync += s3_words.word_select(lane, WIDTH).eq(
                Mux(s2_one, _ONE, Mux(s2_wide, number, word))
            )
        m.d.comb += Value.cast(self.words).eq(s3_words)
        return m

"""Tiles of weights on their way to the arrays: read, rounded to operands, and transposed on
request.

Interval: a band of ``port_words`` rows a clock, over consecutive tiles too; a word of biases takes
one clock more. Latency ``LATENCY`` from a tile's request to its first band, ``side / port_words``
+ 1 more if it is transposed.
"""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hw.fixar.layouts import rows_layout
from hw.fixar.parameters.layouts import WORD_BITS, bias_layout, tile_request_layout, word_width
from hw.fixar.parameters.memories import READ_LATENCY
from hw.stream.transpose import Transpose

__all__ = ["TileLoader", "operand", "transposed_blocks"]


def operand(arithmetic, weight):
    """``weight`` rounded half up to the operand's format, and clipped."""
    drop = arithmetic.weight.fraction - arithmetic.operand.fraction
    if not drop:
        return weight
    kept = weight[drop:].as_signed()
    # Only the largest has no place for what it rounds to.
    largest = ~kept[-1] & kept[:-1].all()
    return (kept + (weight[drop - 1] & ~largest))[: len(kept)].as_signed()


class TileLoader(wiring.Component):
    """Gives the bands of the requested tiles in order, band 0 of each tile first.

    The biases of a tile come in a clock in which the consumer would take a band (``rows.ready``),
    after the last band of the tile before has moved and before the first band of its own is valid.
    There is no pause between tiles, if the next tile is requested by the time the last word of the
    one before is read. One exception: after a transposed tile, a tile that is not transposed waits
    until that one has left.

    Parameters
    ----------
    config : FixarConfig

    Members
    -------
    i : In(stream of tile_request_layout)
        The tiles that are requested.
    enable, address : Out
        The memories' read port, of online and target.
    online, target : In(32 * side * port_words)
        Words of ``READ_LATENCY`` clocks with ``enable`` ago: all words that are side by side with
        that of the address.
    rows : Out(stream of rows_layout)
        Bands of the tiles, as operands.
    bias : Out(bias_layout)
        A word of biases, for requests with ``bias``.
    """

    LATENCY = READ_LATENCY + 2

    def __init__(self, config):
        self.config = config
        word = In(word_width(config) * config.port_words)
        super().__init__(
            {
                "i": In(stream.Signature(tile_request_layout(config))),
                "enable": Out(1),
                "address": Out(range(config.weight_words)),
                "online": word,
                "target": word,
                "rows": Out(stream.Signature(rows_layout(config))),
                "bias": Out(bias_layout(config)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        advance = self.enable
        tag = self._read(m, advance)
        for clock in range(1, self.LATENCY):
            later = {}
            for name, value in tag.items():
                later[name] = Signal(
                    len(value), name=f"s{clock}_{name}", reset_less=name != "valid"
                )
                with m.If(advance):
                    m.d.sync += later[name].eq(value)
            source, tag = tag, later
        # ``source`` goes with the words that the memories show, ``tag`` with the operands.
        operands = Signal(self.rows.p.words.shape(), reset_less=True)
        weight = self.config.arithmetic.weight
        for place in range(self.config.port_words * self.config.side):
            word, lane = divmod(place, self.config.side)
            bits = slice(WORD_BITS * place, WORD_BITS * place + weight.width)
            given = Mux(source["target"], self.target[bits], self.online[bits]).as_signed()
            number = Signal(weight.shape, name=f"weight_{place}")
            m.d.comb += number.eq(Mux(source["exists"][word], given, 0))
            with m.If(advance):
                m.d.sync += operands[word][lane].eq(operand(self.config.arithmetic, number))
        self._leave(m, tag, operands, advance)
        return m

    def _read(self, m, advance):
        """An address a clock, and the signals that accompany its word."""
        port, bands = self.config.port_words, self.config.side // self.config.port_words
        tile, active = Signal(tile_request_layout(self.config), reset_less=True), Signal()
        band, at_bias = Signal(range(bands)), Signal()
        row, last = Signal(range(self.config.side)), Signal()
        m.d.comb += [
            row.eq(band * port),
            last.eq(~at_bias & (band == bands - 1)),
            self.i.ready.eq(~active | (advance & last)),
            self.address.eq(
                Mux(at_bias, tile.bias_address, (tile.address + row)[: len(self.address)])
            ),
        ]
        with m.If(self.i.ready):
            m.d.sync += [
                active.eq(self.i.valid),
                tile.eq(self.i.payload),
                at_bias.eq(self.i.p.bias),
                band.eq(0),
            ]
        with m.Elif(advance):
            m.d.sync += at_bias.eq(0)
            with m.If(~at_bias):
                m.d.sync += band.eq(band + 1)
        exists = [at_bias | ((tile.low <= row + k) & (row + k < tile.high)) for k in range(port)]
        return {
            "valid": active,
            "bias": at_bias,
            "bias_place": tile.bias_address[: (port - 1).bit_length()],
            "transposed": tile.transposed & ~at_bias,
            "target": tile.target,
            "exists": Cat(exists),
        }

    def _leave(self, m, tag, operands, advance):
        """Sends words to ``rows`` and ``bias``, directly or through ``Transpose``, in order."""
        config, rows = self.config, self.rows
        m.submodules.transpose = transpose = Transpose(*transposed_blocks(config))
        bands = config.side // config.port_words
        inside = Signal(range(2 * bands + 2))  # bands that entered and have not left
        enters, left, drained, moved = Signal(), Signal(), Signal(), Signal()
        band = Signal(range(bands))
        m.d.comb += [
            drained.eq(inside == 0),
            transpose.i.valid.eq(tag["valid"] & tag["transposed"]),
            Value.cast(transpose.i.payload).eq(_blocks(config, operands)),
            transpose.o.ready.eq(rows.ready),
            enters.eq(transpose.i.valid & transpose.i.ready),
            left.eq(transpose.o.valid & rows.ready),
            rows.valid.eq(
                Mux(
                    drained,
                    tag["valid"] & ~tag["transposed"] & ~tag["bias"],
                    transpose.o.valid,
                )
            ),
            Value.cast(rows.p.words).eq(
                Mux(drained, operands, _turned(config, transpose.o.payload.as_value()))
            ),
            rows.p.band.eq(band),
            self.bias.valid.eq(tag["valid"] & tag["bias"] & drained & rows.ready),
            self.bias.word.eq(Array(operands)[tag["bias_place"]]),
            moved.eq(rows.valid & rows.ready),
            advance.eq(
                ~tag["valid"] | Mux(tag["transposed"], transpose.i.ready, drained & rows.ready)
            ),
        ]
        m.d.sync += inside.eq(inside + enters - left)
        with m.If(moved):
            m.d.sync += band.eq(band + 1)


def transposed_blocks(config):
    """``(bits, size)`` of the elements that ``Transpose`` turns: a band is ``size`` blocks of
    ``port_words`` x ``port_words`` operands side by side."""
    port = config.port_words
    return port * port * config.arithmetic.operand.width, config.side // port


def _blocks(config, band):
    """A band, [port_words][side], as blocks, each of whose rows is a row of the transpose."""
    port = config.port_words
    blocks = range(config.side // port)
    return Cat(band[w][port * b + k] for b in blocks for k in range(port) for w in range(port))


def _turned(config, blocks):
    """The band of the transpose that these blocks are."""
    port, width = config.port_words, config.arithmetic.operand.width
    row, count = port * width, config.side // port
    return Cat(
        blocks[(b * port + k) * row : (b * port + k + 1) * row]
        for k in range(port)
        for b in range(count)
    )

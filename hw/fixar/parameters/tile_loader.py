"""Tiles of weights on their way to the arrays: read, rounded to operands, and transposed on
request.

Interval: a row a clock, over consecutive tiles too; a word of biases takes one clock more. Latency
``LATENCY`` from a tile's request to its first word, ``side`` + 1 more if it is transposed.
"""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hw.fixar.layouts import operands_layout, rows_layout
from hw.fixar.parameters.layouts import WORD_BITS, bias_layout, tile_request_layout, word_width
from hw.fixar.parameters.memories import READ_LATENCY
from hw.stream.transpose import Transpose

__all__ = ["TileLoader", "operand"]


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
    """Gives the rows of the requested tiles in order, row 0 of each tile first.

    The biases of a tile come in a clock in which the consumer would take a row (``rows.ready``),
    after the last row of the tile before has moved and before the first row of its own is valid.
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
    online, target : In(32 * side)
        Words of ``READ_LATENCY`` clocks with ``enable`` ago.
    rows : Out(stream of rows_layout)
        Rows of the tiles, as operands.
    bias : Out(bias_layout)
        A word of biases, for requests with ``bias``.
    """

    LATENCY = READ_LATENCY + 2

    def __init__(self, config):
        self.config = config
        word = In(word_width(config))
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
                later[name] = Signal(name=f"s{clock}_{name}", reset_less=name != "valid")
                with m.If(advance):
                    m.d.sync += later[name].eq(value)
            source, tag = tag, later
        # ``source`` goes with the words that the memories show, ``tag`` with the operands.
        operands = Signal(operands_layout(self.config), reset_less=True)
        weight = self.config.arithmetic.weight
        for lane in range(self.config.side):
            place = slice(WORD_BITS * lane, WORD_BITS * lane + weight.width)
            given = Mux(source["target"], self.target[place], self.online[place]).as_signed()
            number = Signal(weight.shape, name=f"weight_{lane}")
            m.d.comb += number.eq(Mux(source["exists"], given, 0))
            with m.If(advance):
                m.d.sync += operands[lane].eq(operand(self.config.arithmetic, number))
        self._leave(m, tag, operands, advance)
        return m

    def _read(self, m, advance):
        """An address a clock, and the signals that accompany its word."""
        side = self.config.side
        tile, active = Signal(tile_request_layout(self.config), reset_less=True), Signal()
        row, at_bias = Signal(range(side)), Signal()
        last = Signal()
        m.d.comb += [
            last.eq(~at_bias & (row == side - 1)),
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
                row.eq(0),
            ]
        with m.Elif(advance):
            m.d.sync += at_bias.eq(0)
            with m.If(~at_bias):
                m.d.sync += row.eq(row + 1)
        return {
            "valid": active,
            "bias": at_bias,
            "transposed": tile.transposed & ~at_bias,
            "target": tile.target,
            "exists": at_bias | ((tile.low <= row) & (row < tile.high)),
        }

    def _leave(self, m, tag, operands, advance):
        """Sends words to ``rows`` and ``bias``, directly or through ``Transpose``, in order."""
        config, rows = self.config, self.rows
        operand_width = config.arithmetic.operand.width
        m.submodules.transpose = transpose = Transpose(operand_width, config.side)
        inside = Signal(range(2 * config.side + 2))  # rows that entered and have not left
        enters, left, drained, moved = Signal(), Signal(), Signal(), Signal()
        row = Signal(range(config.side))
        m.d.comb += [
            drained.eq(inside == 0),
            transpose.i.valid.eq(tag["valid"] & tag["transposed"]),
            Value.cast(transpose.i.payload).eq(operands),
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
            Value.cast(rows.p.word).eq(Mux(drained, operands, transpose.o.payload.as_value())),
            rows.p.row.eq(row),
            self.bias.valid.eq(tag["valid"] & tag["bias"] & drained & rows.ready),
            self.bias.word.eq(operands),
            moved.eq(rows.valid & rows.ready),
            advance.eq(
                ~tag["valid"] | Mux(tag["transposed"], transpose.i.ready, drained & rows.ready)
            ),
        ]
        m.d.sync += inside.eq(inside + enters - left)
        with m.If(moved):
            m.d.sync += row.eq(row + 1)

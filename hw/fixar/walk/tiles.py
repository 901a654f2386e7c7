"""The tiles of a pass: requests for weights, or rows of errors, and when the arrays may take a
tile."""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hw.fixar.array.array import PeArray
from hw.fixar.layouts import Layouts, rows_layout
from hw.fixar.parameters.layouts import first_feature, next_column, tile_request_layout
from hw.fixar.plan import Kind
from hw.stream.delay import delay

__all__ = ["Tiles"]


class Tiles(wiring.Component):
    """Loads tiles in the order in which ``Streamer`` takes them, each while another one is in use.

    In FW, row k of a tile has the weights of an input, and the first tile of each result brings the
    biases. In DX, tiles are transposed. In DW, row k has the errors of a sample, or, if activations
    are codes, of two samples in turn; rows beyond the batch are zeros. Rows of weights come in
    bands of ``port_words``, rows of errors one after the other.

    Parameters
    ----------
    config : FixarConfig
    weights : layout
        ``PassTable.WEIGHTS``.
    read_latency : int
        Latency from ``tile_read`` to the arrays, less that from ``row_o`` (which equals a step's).

    Members
    -------
    start : In(1), pass_ : In(PASS), weights : In
        ``start``, one clock: begin the pass. ``weights``: where the weights of the pass's layer
        are, as ``PassTable`` gives it. Both are steady until the pass has ended.
    request : Out(stream of tile_request_layout)
        In FW and DX: the tiles of weights, in order.
    row_i : In(stream of rows_layout), row_o : Out(ROW)
        ``row_i``: bands of the requested tiles. ``row_o``: the same bands to the arrays, once the
        arrays have a place for a tile.
    tile_read : Out(TILE_READ)
        In DW: a read of a row of errors, which goes from their memory to the arrays.
    ready : Out(1)
        The next step with ``swap`` may take a tile: it is there, or its rows will come in time.
    swap : In(1)
        A step takes the tile.
    busy : Out(1)
        Requests or reads of the pass are still to be given. The last tile may come later.
    """

    def __init__(self, config, weights, read_latency):
        self.config, self.layouts, self.read_latency = config, Layouts(config), read_latency
        super().__init__(
            {
                "start": In(1),
                "pass_": In(self.layouts.PASS),
                "weights": In(weights),
                "request": Out(stream.Signature(tile_request_layout(config))),
                "row_i": In(stream.Signature(rows_layout(config))),
                "row_o": Out(self.layouts.ROW),
                "tile_read": Out(self.layouts.TILE_READ),
                "ready": Out(1),
                "swap": In(1),
                "busy": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        gradient = self.pass_.kind == Kind.DW
        asking, reading = Signal(), Signal()
        self._free = Signal(name="free")  # the arrays have a place for a tile
        m.d.comb += self.busy.eq(asking | reading)
        self._ask(m, asking, ~gradient)
        self._read(m, reading, gradient)
        self._hold(m)
        return m

    def _ask(self, m, asking, mine):
        """Requests tiles of weights: in FW the result's tiles are the outer loop and the source's
        the inner one; in DX the other way round."""
        p, w, request, side = self.pass_, self.weights, self.request.p, self.config.side
        backward = p.kind == Kind.DX
        inner, outer = Signal.like(p.inner), Signal.like(p.outer)
        feature = Signal(range(self.config.widest + 2 * side))  # of the tile's first row
        column = Signal.like(request.address)  # of the tile's column of outputs
        stride = next_column(self.config, w)
        inner_ends = inner == p.inner - 1
        m.d.comb += [
            self.request.valid.eq(asking),
            request.target.eq(p.target),
            request.transposed.eq(backward),
            request.address.eq(column + feature - first_feature(self.config, w)),
            request.low.eq(Mux(feature < w.first, _least(w.first - feature, side), 0)),
            request.high.eq(Mux(w.end > feature, _least(w.end - feature, side), 0)),
            request.bias.eq(~backward & (inner == 0)),
            request.bias_address.eq(column + w.bias),
        ]
        with m.If(self.start):
            m.d.sync += [
                asking.eq(mine),
                inner.eq(0),
                outer.eq(0),
                feature.eq(0),
                column.eq(w.base),
            ]
        with m.Elif(asking & self.request.ready):
            m.d.sync += inner.eq(inner + 1)
            with m.If(backward):
                m.d.sync += column.eq(column + stride)
            with m.Else():
                m.d.sync += feature.eq(feature + side)
            with m.If(inner_ends):
                m.d.sync += [inner.eq(0), outer.eq(outer + 1)]
                with m.If(backward):
                    m.d.sync += [column.eq(w.base), feature.eq(feature + side)]
                with m.Else():
                    m.d.sync += [column.eq(column + stride), feature.eq(0)]
                with m.If(outer == p.outer - 1):
                    m.d.sync += asking.eq(0)

    def _read(self, m, reading, mine):
        """Reads rows of errors, once the arrays have a place for a tile."""
        p, read, side = self.pass_, self.tile_read, self.config.side
        inner, outer, row = Signal.like(p.inner), Signal.like(p.outer), Signal(range(side))
        second = Signal()  # of two samples of a row
        before = Signal(range(self.layouts.samples + 2 * side))  # rows of the groups before
        base, place = Signal.like(read.address), Signal(range(2 * self.layouts.samples + 4 * side))
        pairs, single = p.half_x, p.half_x & ~p.half_e
        m.d.comb += [
            place.eq(Mux(single, Cat(second, before + row), before + row)),
            read.valid.eq(reading & (self._free | (row != 0) | second)),
            read.address.eq(base + place),
            read.row.eq(row),
            read.mask.eq(Mux(pairs, Cat(~second, second), 3)),
            read.select.eq(second & p.half_e),
            read.blank.eq(place >= p.error_words),
        ]
        with m.If(self.start):
            m.d.sync += [
                reading.eq(mine),
                inner.eq(0),
                outer.eq(0),
                row.eq(0),
                second.eq(0),
                before.eq(0),
                base.eq(p.errors),
            ]
        with m.Elif(read.valid):
            m.d.sync += second.eq(pairs & ~second)
            with m.If(second | ~pairs):
                m.d.sync += row.eq(row + 1)
                with m.If(row == side - 1):
                    m.d.sync += [inner.eq(inner + 1), before.eq(before + side)]
                    with m.If(inner == p.inner - 1):
                        m.d.sync += [
                            inner.eq(0),
                            before.eq(0),
                            outer.eq(outer + 1),
                            base.eq(base + self.layouts.samples),
                        ]
                        with m.If(outer == p.outer - 1):
                            m.d.sync += reading.eq(0)

    def _hold(self, m):
        """Knows when a tile may be taken. One tile at a time waits in the arrays. A band comes each
        clock, and a row of errors each clock, or for pairs every other clock, so that a tile may be
        taken before its last row is loaded. ``PeArray`` says how soon bands may follow a swap."""
        p, side = self.pass_, self.config.side
        held = Signal()
        row, read = self.row_i, self.tile_read
        again = PeArray.again_of(self.config.port_words)
        freed = delay(m, self.swap, again - 1, name="freed", reset=True)
        m.d.comb += [
            self._free.eq(~held),
            row.ready.eq(~held | (row.p.band != 0)),
            self.row_o.valid.eq(row.valid & row.ready),
            self.row_o.band.eq(row.p.band),
            self.row_o.words.eq(row.p.words),
        ]
        # The row from which on all others will be there in time.
        enough = Mux((p.kind == Kind.DW) & p.half_x, side // 2, 0)
        loaded = Signal()
        m.d.comb += loaded.eq(read.valid & (read.row == enough) & read.mask[0])
        there = self.row_o.valid & (self.row_o.band == 0)
        with m.If(there | (read.valid & (read.row == 0))):
            m.d.sync += held.eq(1)
        with m.Elif(freed):
            m.d.sync += held.eq(0)
        wait = self.read_latency + PeArray.lag_of(side, self.config.port_words)
        there |= delay(m, loaded, wait, name="loaded", reset=True)
        with m.If(self.swap):
            m.d.sync += self.ready.eq(0)
        with m.Elif(there):
            m.d.sync += self.ready.eq(1)


def _least(a, b):
    return Mux(a < b, a, b)[: b.bit_length()]

"""The walk through a pass: reader, tiles and streamer, which use the same order."""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import Out, connect, flipped

from hw.fixar.walk.reader import Reader
from hw.fixar.walk.streamer import Streamer
from hw.fixar.walk.tiles import Tiles

__all__ = ["Walk"]


class Walk(wiring.Component):
    """Gives all fetches, tiles and steps of a pass, the same for all cores.

    Parameters
    ----------
    config : FixarConfig
    weights : layout
        ``PassTable.WEIGHTS``.
    read_latency : int
        Latency from ``tile_read`` to the arrays, less that from ``row_o``.

    Members
    -------
    start : In(1), pass_, weights : In
        ``start``, one clock: begin the pass. ``pass_`` and ``weights`` are steady until it has
        ended.
    fetch : Out(FETCH), room : In(1)
        A word that the cores fetch. While fetches are left, there is one in each clock with
        ``room``.
    word : In(1)
        The next fetched word is ready to enter the arrays, in all cores.
    step : Out(STEP)
        A word enters the arrays.
    request : Out(stream of tile_request_layout)
        In FW and DX: the tiles of weights, in order.
    row_i : In(stream of rows_layout), row_o : Out(ROW)
        ``row_i``: rows of the requested tiles. ``row_o``: the same rows to the arrays.
    tile_read : Out(TILE_READ)
        In DW: a read of a row of errors, which goes from each core's memory to its array.
    busy : Out(1)
        Fetches, tiles or steps are still to come; high from ``start`` on.
    """

    def __init__(self, config, weights, read_latency):
        self._reader, self._streamer = Reader(config), Streamer(config)
        self._tiles = Tiles(config, weights, read_latency)
        of = {
            **self._reader.signature.members,
            **self._streamer.signature.members,
            **self._tiles.signature.members,
        }
        names = ("start", "pass_", "weights", "fetch", "room", "word", "step", "request")
        super().__init__(
            {
                **{name: of[name] for name in (*names, "row_i", "row_o", "tile_read")},
                "busy": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.reader = reader = self._reader
        m.submodules.tiles = tiles = self._tiles
        m.submodules.streamer = streamer = self._streamer
        connect(m, flipped(self.row_i), tiles.row_i)
        connect(m, tiles.request, flipped(self.request))
        for unit in (reader, tiles, streamer):
            m.d.comb += [unit.start.eq(self.start), unit.pass_.eq(self.pass_)]
        begins = Signal()
        m.d.sync += begins.eq(self.start)
        m.d.comb += [
            tiles.weights.eq(self.weights),
            reader.room.eq(self.room),
            self.fetch.eq(reader.fetch),
            self.row_o.eq(tiles.row_o),
            self.tile_read.eq(tiles.tile_read),
            streamer.word.eq(self.word),
            streamer.tile.eq(tiles.ready),
            tiles.swap.eq(streamer.step.valid & streamer.step.swap),
            self.step.eq(streamer.step),
            self.busy.eq(self.start | begins | reader.busy | tiles.busy | streamer.busy),
        ]
        return m

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
        See ``Tiles``.

    Members
    -------
    start : In(1), pass_, weights : In
        ``start``: begin the pass. ``pass_`` and ``weights`` are steady until it has ended.
    fetch, room, word : see ``Reader`` and ``Streamer``
    step : Out(STEP)
        A word enters the arrays.
    request, row_i, row_o, tile_read : see ``Tiles``
    busy : Out(1)
        Steps are still to come.
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

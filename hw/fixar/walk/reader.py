"""The stream past the tiles: addresses of a pass's words, in the order in which they enter."""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.comparison import below
from hw.fixar.layouts import Layouts, stream_words
from hw.fixar.plan import Kind, Version

__all__ = ["Reader"]


class Reader(wiring.Component):
    """Gives the addresses of the words that a pass streams, one a clock while there is room.

    In FW and DX: for each tile of the result and each tile of the source, a word of every sample
    (or pair). In DW: for each tile of the errors and each group of ``side`` words, all tiles of the
    source, a block of ``side`` words each; words beyond the batch are blank.

    Parameters
    ----------
    config : FixarConfig

    Members
    -------
    start : In(1), pass_ : In(PASS)
        ``start``, one clock: begin the pass. ``pass_`` is steady until the pass has ended.
    fetch : Out(FETCH), room : In(1)
        The word to fetch; there is one in every clock with ``room`` while ``busy``.
    busy : Out(1)
        Fetches of the pass are still to come; from the clock after ``start`` on.
    """

    def __init__(self, config):
        self.config, self.layouts = config, Layouts(config)
        super().__init__(
            {
                "start": In(1),
                "pass_": In(self.layouts.PASS),
                "fetch": Out(self.layouts.FETCH),
                "room": In(1),
                "busy": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        p, layouts, side = self.pass_, self.layouts, self.config.side
        samples, fetch = layouts.samples, self.fetch
        gradient = p.kind == Kind.DW
        # In DW a group has ``side`` words, however few samples there are.
        word, tile = Signal(range(max(samples + 1, side))), Signal.like(p.inner)
        group, outer = Signal.like(p.inner), Signal.like(p.outer)
        base, action = Signal.like(fetch.address), Signal.like(fetch.action_address)
        ahead = Signal(range(layouts.samples + 2 * side))  # words before this group
        words = Signal.like(p.words)
        m.d.comb += words.eq(stream_words(p))

        row_ends = Mux(gradient, word == side - 1, word == words - 1)
        tile_ends = tile == Mux(gradient, p.columns, p.inner) - 1
        group_ends = ~gradient | (group == p.inner - 1)
        first_action = Signal.like(action)
        starts = Array([0, *(v * self._action_words for v in range(len(Version) - 1))])
        m.d.comb += [
            first_action.eq(starts[p.version]),
            fetch.valid.eq(self.busy & self.room),
            fetch.address.eq(base + ahead + word),
            fetch.action_address.eq(action + ahead + word),
            fetch.merged.eq(p.frame & (tile < layouts.regions.action_words)),
            fetch.whole.eq(below(tile, self.config.action // side)),
            fetch.blank.eq(gradient & (ahead + word >= words)),
        ]
        again = [base.eq(p.source), action.eq(first_action), tile.eq(0)]
        with m.If(self.start):
            m.d.sync += [self.busy.eq(1), word.eq(0), group.eq(0), outer.eq(0), ahead.eq(0), *again]
        with m.Elif(fetch.valid):
            m.d.sync += word.eq(word + 1)
            with m.If(row_ends):
                m.d.sync += [
                    word.eq(0),
                    tile.eq(tile + 1),
                    base.eq(base + samples),
                    action.eq(action + samples),
                ]
                with m.If(tile_ends):
                    m.d.sync += [*again, group.eq(group + 1), ahead.eq(ahead + side)]
                    with m.If(group_ends):
                        m.d.sync += [group.eq(0), ahead.eq(0), outer.eq(outer + 1)]
                        with m.If(outer == p.outer - 1):
                            m.d.sync += self.busy.eq(0)
        return m

    @property
    def _action_words(self):
        return self.layouts.regions.action_words * self.layouts.samples

"""The inputs of a core's array: the words that stream, and the rows of its tiles."""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.fixar.aap.cells import CellMemory
from hw.fixar.array.array import load_layout
from hw.fixar.array.column import OPERAND_WIDTH, stream_pair
from hw.fixar.config import CELL_WIDTH, CODE_WIDTH
from hw.fixar.layouts import cells_layout, streams_pairs
from hw.fixar.plan import Kind, Version
from hw.stream.delay import delay
from hw.stream.queue import Queue
from hw.stream.transpose import Transpose

__all__ = ["Feed", "TileRows"]


class Feed(wiring.Component):
    """Holds fetched words until a step takes them to the array; in a DW it transposes them.

    Parameters
    ----------
    config : FixarConfig
    layouts : Layouts

    Members
    -------
    pass_ : In(PASS), steady
        The pass under way.
    fetch : In(FETCH)
        The word to fetch; the memories of cells get its addresses in the same clock.
    x, e : In([side] of 32 bits), action : In([action_lanes] of 32 bits)
        The words that the memories give, two clocks after ``fetch``.
    fetch_room : Out(1)
        Fetches may be issued; ``SLACK`` of them may follow once it has fallen.
    word_valid : Out(1)
        A word is available to a step of this clock.
    step : In(STEP)
        A word enters the array. A step without ``ones`` takes the next word, and needs
        ``word_valid``.
    stream : Out({valid, swap, word: [side] of {b0, b1}}), ``LATENCY`` clocks after ``step``
        The step's word, as operands of each row's two DSP blocks.
    """

    LATENCY = 1
    #: Words that wait, and fetches that are allowed once fewer places than that are free.
    DEPTH, SLACK = 16, 4

    def __init__(self, config, layouts):
        self.config = config
        word = cells_layout(config.side)
        stream = {"valid": 1, "swap": 1, "word": data.ArrayLayout(stream_pair(), config.side)}
        super().__init__(
            {
                "pass_": In(layouts.PASS),
                "fetch": In(layouts.FETCH),
                "x": In(word),
                "e": In(word),
                "action": In(cells_layout(layouts.action_lanes)),
                "fetch_room": Out(1),
                "word_valid": Out(1),
                "step": In(layouts.STEP),
                "stream": Out(data.StructLayout(stream)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        side = self.config.side
        m.submodules.queue = queue = Queue(cells_layout(side), self.DEPTH)
        m.submodules.transpose = transpose = Transpose(CELL_WIDTH, side)
        turned, taken = Signal(), Signal()
        # Fetches whose words are not in the queue yet have their places.
        ahead = CellMemory.LATENCY + 1
        m.d.comb += [
            turned.eq(self.pass_.kind == Kind.DW),
            queue.i.valid.eq(
                delay(m, self.fetch.valid, CellMemory.LATENCY, name="fetched", reset=True)
            ),
            queue.i.payload.eq(self._merged(m)),
            self.fetch_room.eq(queue.level < self.DEPTH - self.SLACK - ahead),
            transpose.i.payload.eq(queue.o.payload),
            transpose.i.valid.eq(queue.o.valid & turned),
            self.word_valid.eq(Mux(turned, transpose.o.valid, queue.o.valid)),
            taken.eq(self.step.valid & ~self.step.ones),
            transpose.o.ready.eq(taken & turned),
            queue.o.ready.eq(Mux(turned, transpose.i.ready, taken)),
        ]
        self._operands(m, Mux(turned, transpose.o.payload, queue.o.payload))
        return m

    def _merged(self, m):
        """The word of the fetch of two clocks ago."""
        config, fetch, pass_ = self.config, self.fetch, self.pass_
        side = config.side
        merged, whole, blank = (
            delay(m, getattr(fetch, name), CellMemory.LATENCY, name=name)
            for name in ("merged", "whole", "blank")
        )
        back, acted = Signal(), Signal()
        word = Signal(cells_layout(side))
        m.d.comb += [back.eq(pass_.kind == Kind.DX), acted.eq(pass_.version != Version.NONE)]
        lanes = (config.action - 1) % side + 1
        for k in range(side):
            own = self.x[k]
            if k < len(self.action):
                action = Mux(acted, self.action[k], 0)
                own = Mux(merged & (whole | (k < lanes)), action, own)
            source = Mux(back, self.e[k], own)
            m.d.comb += word[k].eq(Mux(blank, 0, source))
        return word.as_value()

    def _operands(self, m, word):
        """A number's lower and upper 16 bits, or two codes, with a sign or without."""
        pass_, step = self.pass_, self.step
        word = data.View(cells_layout(self.config.side), Value.cast(word))
        half, signs = Signal(), Signal()
        m.d.comb += [
            half.eq(streams_pairs(pass_)),
            signs.eq((pass_.kind == Kind.DX) | pass_.frame),
        ]
        operands = Signal(self.stream.word.shape(), reset_less=True)
        for k in range(self.config.side):
            lower, upper = (word[k].word_select(part, CODE_WIDTH) for part in range(2))
            b0 = Cat(lower, lower[-1] & half & signs)
            b1 = Cat(upper, upper[-1] & (~half | signs))
            m.d.sync += [
                operands[k].b0.eq(Mux(step.ones, 1, b0.as_signed())),
                operands[k].b1.eq(Mux(step.ones, half, b1.as_signed())),
            ]
        m.d.comb += [
            self.stream.word.eq(operands),
            self.stream.valid.eq(delay(m, step.valid, 1, name="step", reset=True)),
            self.stream.swap.eq(delay(m, step.swap, 1, name="swap")),
        ]


class TileRows(wiring.Component):
    """Gives rows of tiles to the array: of weights, which come from outside, or, in a DW, of
    errors, which come from the E cells.

    Parameters
    ----------
    config : FixarConfig
    layouts : Layouts

    Members
    -------
    pass_ : In(PASS), steady
        The pass under way.
    row : In(ROW)
        A band of a tile of weights.
    tile : In(TILE_READ)
        In a DW: which row to read, and how; the memory of E cells gets its address in the same
        clock.
    e : In([side] of 32 bits)
        The word that the memory gives, two clocks after ``tile``.
    load : Out(load_layout(...))
        A band for the array, ``ROW_LATENCY`` clocks after ``row``; or one of its rows,
        ``TILE_LATENCY`` clocks after ``tile``.
    """

    ROW_LATENCY, TILE_LATENCY = 1, CellMemory.LATENCY + 1

    def __init__(self, config, layouts):
        self.config = config
        super().__init__(
            {
                "pass_": In(layouts.PASS),
                "row": In(layouts.ROW),
                "tile": In(layouts.TILE_READ),
                "e": In(cells_layout(config.side)),
                "load": Out(load_layout(config.side, config.port_words)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        wait = CellMemory.LATENCY
        tile_valid = delay(m, self.tile.valid, wait, name="tile_valid", reset=True)
        late = {
            name: delay(m, getattr(self.tile, name), wait, name=name)
            for name in ("row", "mask", "select", "blank")
        }
        port = self.config.port_words
        bits = (port - 1).bit_length()
        valid, load = Signal(), Signal.like(self.load, reset_less=True)
        own = Signal()  # of errors
        m.d.comb += [
            self.load.eq(load),
            self.load.valid.eq(valid),
            own.eq(self.pass_.kind == Kind.DW),
        ]
        with m.If(own):
            m.d.sync += [
                valid.eq(tile_valid),
                load.band.eq(late["row"] >> bits),
                *(
                    load.mask[r].eq(Mux(late["row"][:bits] == r, late["mask"], 0))
                    for r in range(port)
                ),
            ]
        with m.Else():
            m.d.sync += [
                valid.eq(self.row.valid),
                load.band.eq(self.row.band),
                *(load.mask[r].eq(3) for r in range(port)),
            ]
        for k in range(self.config.side):
            code = self.e[k].word_select(late["select"], CODE_WIDTH).as_signed()
            number = self.e[k][:OPERAND_WIDTH].as_signed()
            error = Mux(self.pass_.half_e, code, number)
            error = Mux(late["blank"], 0, error)
            m.d.sync += [
                load.words[r][k].eq(Mux(own, error, self.row.words[r][k])) for r in range(port)
            ]
        return m

"""The steps that enter the arrays: one a clock, when its word and its tile are there."""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.fixar.array.accumulators import Accumulators
from hw.fixar.layouts import Layouts, stream_words
from hw.fixar.plan import Kind, Result

__all__ = ["Streamer"]


class Streamer(wiring.Component):
    """Gives the steps of a pass, in the order of ``Reader``. In a DW a step with ``ones`` ends each
    group.

    If each number of a result takes a clock of its own (TANH, SLOPE), the words of the last tile
    come ``slow`` clocks apart.

    Parameters
    ----------
    config : FixarConfig

    Members
    -------
    start : In(1), pass_ : In(PASS)
        ``start``, one clock: begin the pass. ``pass_`` is steady until the pass has ended.
    word : In(1)
        The next word of the stream is there; a step without ``ones`` takes it.
    tile : In(1)
        The next tile is there, or will be when its rows are needed; a step with ``swap`` takes it.
    step : Out(STEP)
        The step of this clock, if it is ``valid``.
    busy : Out(1)
        Steps of the pass are still to come; from the second clock after ``start`` on.

    Attributes
    ----------
    slow : int
        Clocks from word to word of a last tile in TANH and SLOPE: as many as an action has lanes in
        a word, at least 2.
    """

    def __init__(self, config):
        self.config, self.layouts = config, Layouts(config)
        self.slow = self.slow_of(config)
        super().__init__(
            {
                "start": In(1),
                "pass_": In(self.layouts.PASS),
                "word": In(1),
                "tile": In(1),
                "step": Out(self.layouts.STEP),
                "busy": Out(1),
            }
        )

    @staticmethod
    def slow_of(config):
        """Clocks from a word of the last tile to the next, where numbers leave one by one."""
        return max(2, min(config.side, config.action))

    def elaborate(self, platform):
        m = Module()
        p, step, side = self.pass_, self.step, self.config.side
        gradient = p.kind == Kind.DW
        last_index = Signal.like(step.index)
        inner, outer = Signal.like(p.inner), Signal.like(p.outer)
        wait = Signal(range(self.slow))
        # Of a stream shorter than that, a word comes again only when its sum is back.
        recent = Signal(Accumulators.RETURN - 1)
        serial = (p.result == Result.TANH) | (p.result == Result.SLOPE)
        m.d.sync += last_index.eq(Mux(gradient, p.columns * side, stream_words(p) - 1))

        index = Signal.like(step.index)
        ends = Signal()
        m.d.comb += [
            step.index.eq(index),
            step.swap.eq(index == 0),
            step.first.eq(inner == 0),
            step.last.eq(inner == p.inner - 1),
            ends.eq(index == last_index),
            step.ones.eq(gradient & ends),
            step.valid.eq(
                self.busy
                & (self.word | step.ones)
                & (~step.swap | (self.tile & ~recent.any()))
                & (wait == 0)
            ),
        ]
        m.d.sync += recent.eq(Cat(step.valid & step.swap, recent))
        with m.If(wait != 0):
            m.d.sync += wait.eq(wait - 1)
        begun = Signal()  # the limits of the pass are a clock behind it
        m.d.sync += begun.eq(self.start)
        with m.If(begun):
            m.d.sync += [self.busy.eq(1), index.eq(0), inner.eq(0), outer.eq(0), wait.eq(0)]
        with m.Elif(step.valid):
            m.d.sync += index.eq(index + 1)
            with m.If(serial & step.last):
                m.d.sync += wait.eq(self.slow - 1)
            with m.If(ends):
                m.d.sync += [index.eq(0), inner.eq(inner + 1)]
                with m.If(step.last):
                    m.d.sync += [inner.eq(0), outer.eq(outer + 1)]
                    with m.If(outer == p.outer - 1):
                        m.d.sync += self.busy.eq(0)
        return m

"""When a word's sums leave the array and the accumulators, and where their results belong."""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.fixar.aap.feed import Feed
from hw.fixar.aap.sample_mask import sample_mask
from hw.fixar.array.accumulators import Accumulators, Mode, accumulator_control
from hw.fixar.array.array import PeArray
from hw.fixar.layouts import stream_words, streams_pairs
from hw.fixar.plan import Kind
from hw.stream.delay import delay

__all__ = ["Schedule"]


class Schedule(wiring.Component):
    """Follows every step through the array, and says where its result belongs.

    Parameters
    ----------
    config : FixarConfig
    layouts : Layouts

    Members
    -------
    pass_ : In(PASS), steady
        The pass under way.
    batch : In
        How many samples the batch has from this core's first on.
    end : In(1)
        One clock: the pass is over, so the next step belongs to another pass.
    step : In(STEP)
        A word enters the array.
    control : Out, ``control_latency`` clocks after ``step``
        ``control`` of ``Accumulators``, in the clock in which the step's sums leave the array.
    look : Out, with ``control``
        Address of the X cells whose relu masks the step's errors.
    begun : Out(1), ``Accumulators.BEGIN_DELAY`` clocks after ``control``
        One clock, in a forward pass: the last sum of a tile column has started, so the biases of
        this column have been read for the last time.
    result : Out({index, tile, store, place, final, keep: 2}), with the accumulators' results
        ``store``: address of the result, from ``destination`` on. ``place``: word offset of the
        masking X cells, without their base; a SLOPE reads its actions at this offset. ``tile``:
        which word of a sample the result is. ``final``: that word is the sample's last one.
        ``keep``: which of the word's samples exist.

    Attributes
    ----------
    control_latency, latency : int
        Clocks from a step to ``control``, and to ``result``.
    """

    def __init__(self, config, layouts):
        self.config, self.layouts = config, layouts
        self.control_latency = Feed.LATENCY + PeArray.latency_of(config.side)
        self.latency = self.control_latency + Accumulators.LATENCY
        address = layouts.PASS.members["destination"]
        result = {
            "index": layouts.index,
            "tile": layouts.PASS.members["outer"],
            "store": address,
            "place": address,
            "final": 1,
            "keep": 2,
        }
        super().__init__(
            {
                "pass_": In(layouts.PASS),
                "batch": In(range(config.batch + 1)),
                "end": In(1),
                "step": In(layouts.STEP),
                "control": Out(accumulator_control(layouts.index.stop)),
                "look": Out(address),
                "begun": Out(1),
                "result": Out(data.StructLayout(result)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        pass_, samples = self.pass_, self.config.samples
        pair = Signal()
        m.d.comb += pair.eq(streams_pairs(pass_))

        # s1: two clocks before the control.
        ahead = self.control_latency - 2
        valid = delay(m, self.step.valid, ahead, name="valid", reset=True)
        index, first, last = (
            delay(m, getattr(self.step, name), ahead, name=name)
            for name in ("index", "first", "last")
        )
        at_end = Signal()
        m.d.comb += at_end.eq(index + 1 == stream_words(pass_))
        tile = Signal(pass_.outer.shape())
        base = Signal(self.look.shape())
        with m.If(self.end):
            m.d.sync += [tile.eq(0), base.eq(0)]
        with m.Elif(valid & last & at_end):
            m.d.sync += [tile.eq(tile + 1), base.eq(base + samples)]

        # s2: places. Of errors that are numbers, where activations are codes, two share a word.
        narrow = (pass_.kind == Kind.DX) & pass_.half_x & ~pass_.half_e
        s2_place, s2_other = (Signal.like(base, name=f"s2_{k}", reset_less=True) for k in range(2))
        s2_final, s2_tile = Signal(reset_less=True), Signal.like(tile, reset_less=True)
        m.d.sync += [
            s2_place.eq(base + index),
            s2_other.eq(base + Mux(narrow, index >> 1, index)),
            s2_final.eq(tile + 1 == pass_.outer),
            s2_tile.eq(tile),
        ]
        keep = sample_mask(m, index, pair, self.batch, self.config, name="keep")

        # s3, with the control: addresses.
        s3_store, s3_look = (Signal.like(base, name=f"s3_{k}", reset_less=True) for k in range(2))
        m.d.sync += [
            s3_store.eq(pass_.destination + s2_place),
            s3_look.eq(pass_.mask + s2_other),
        ]
        result, wait = self.result, Accumulators.LATENCY
        m.d.comb += [
            self.control.valid.eq(delay(m, valid, 2, name="control_valid", reset=True)),
            self.control.index.eq(delay(m, index, 2, name="control_index")),
            self.control.first.eq(delay(m, first, 2, name="control_first")),
            self.control.last.eq(delay(m, last, 2, name="control_last")),
            self.look.eq(s3_look),
            self.begun.eq(
                delay(
                    m,
                    valid & first & at_end,
                    2 + Accumulators.BEGIN_DELAY,
                    name="begun",
                    reset=True,
                )
            ),
            result.index.eq(delay(m, self.control.index, wait, name="result_index")),
            result.tile.eq(delay(m, s2_tile, 1 + wait, name="result_tile")),
            result.store.eq(delay(m, s3_store, wait, name="store")),
            result.place.eq(delay(m, s2_other, 1 + wait, name="place")),
            result.final.eq(delay(m, s2_final, 1 + wait, name="final")),
            result.keep.eq(delay(m, keep, wait, name="kept")),
        ]
        with m.If(~pair):
            m.d.comb += self.control.mode.eq(Mode.FULL)
        with m.Elif(pass_.kind == Kind.DW):
            m.d.comb += self.control.mode.eq(Mode.SUM)
        with m.Else():
            m.d.comb += self.control.mode.eq(Mode.PAIR)
        return m

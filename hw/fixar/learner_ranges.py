"""The ranges of all slots, from all units that see numbers: cores, intake, TD errors, seeds."""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hw.fixar.batch.td_errors import error_layout
from hw.fixar.numbers.ranges import NOTHING, Ranges, range_layout
from hw.fixar.precision import error_slot, slots

__all__ = ["LearnerRanges"]


class LearnerRanges(wiring.Component):
    """Joins the ranges of all units of a learner: lowest and highest number of each slot since the
    last ``clear``, the slots of activations first.

    Parameters
    ----------
    config : FixarConfig

    Members
    -------
    cores : In(stream of range_layout).array(cores)
        Ranges of passes, from each core.
    intake : In({valid, low, high})
        With ``valid``, one clock: the range of a batch's numbers, for slot 0.
    errors_begin : In(1), errors : In(error_layout(config)), update : In(1)
        ``errors_begin``, one clock: the TD errors of a batch begin. ``errors``: words of them.
        ``update``, one clock: the batch is used for an update; only then do its TD errors count
        for the range of the errors at the critic's output.
    seeds : In(1)
        One clock: a pass of VALUE has written errors of -1, which count for the same slot.
    clear : In(1)
        One clock: no slot has seen a number.
    low, high : Out(signed(32)).array(slots)
        The range of each slot; where no number was seen, ``low`` is above ``high``.
    """

    def __init__(self, config):
        self.config = config
        count = sum(slots(config))
        number = signed(32)
        super().__init__(
            {
                "cores": In(stream.Signature(range_layout(count))).array(config.cores),
                "intake": In(data.StructLayout({"valid": 1, "low": number, "high": number})),
                "errors_begin": In(1),
                "errors": In(error_layout(config)),
                "update": In(1),
                "seeds": In(1),
                "clear": In(1),
                "low": Out(number).array(count),
                "high": Out(number).array(count),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self.config
        m.submodules.ranges = ranges = Ranges(config.cores + 3, sum(slots(config)))
        for own, core in zip(ranges.i[: config.cores], self.cores, strict=True):
            connect(m, flipped(core), own)
        m.d.comb += [
            ranges.clear.eq(self.clear),
            *(a.eq(b) for a, b in zip(self.low, ranges.low, strict=True)),
            *(a.eq(b) for a, b in zip(self.high, ranges.high, strict=True)),
        ]
        low, high = (
            Signal(signed(32), init=init, name=f"error_{name}")
            for name, init in zip(("low", "high"), NOTHING, strict=True)
        )
        self._see(m, low, high)
        outputs = slots(config)[0] + error_slot(config, "critic", len(config.hidden))
        seed = -1 << config.arithmetic.gradient.fraction
        intake = self.intake
        offers = (
            (intake.valid, 0, intake.low, intake.high),
            (self.update, outputs, low, high),
            (self.seeds, outputs, seed, seed),
        )
        for own, (valid, slot, least, most) in zip(ranges.i[config.cores :], offers, strict=True):
            with m.If(valid):
                m.d.sync += [
                    own.valid.eq(1),
                    own.p.slot.eq(slot),
                    own.p.low.eq(least),
                    own.p.high.eq(most),
                ]
            with m.Elif(own.ready):
                m.d.sync += own.valid.eq(0)
        return m

    def _see(self, m, low, high):
        """The range of this batch's TD errors."""
        with m.If(self.errors_begin):
            m.d.sync += [low.eq(NOTHING[0]), high.eq(NOTHING[1])]
        with m.Elif(self.errors.valid):
            least, most = low, high
            for keep, value in zip(self.errors.keep, self.errors.value, strict=True):
                least = Mux(keep & (value < least), value, least)
                most = Mux(keep & (value > most), value, most)
            m.d.sync += [low.eq(least), high.eq(most)]

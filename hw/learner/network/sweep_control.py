"""Which sweep of a gradient step is under way, and when the next one begins."""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["SweepControl"]


class SweepControl(wiring.Component):
    """Sequences the sweeps of a gradient step. A sweep begins when all samples of the previous
    sweep have passed all layers and its updates have ended, so every unit is idle when ``sweep``
    changes.

    Parameters
    ----------
    config : LearnerConfig

    Members
    -------
    train, update : In(1)
        As in ``LearnerControl``.
    wanted : In(sweeps)
        A bit for each sweep of this gradient step; a later sweep without its bit is left out, the
        first is always wanted. Steady from ``train`` until ``more`` falls.
    sweep : Out(range(sweeps))
        Number of the sweep under way; 0 if none is.
    start : Out(sweeps)
        A pulse of the sweep's bit: it begins, the first one with ``train``.
    updates : Out(sweeps)
        A pulse of the sweep's bit: layers that it trains are to be updated, each when its gradients
        are complete.
    passed, summed : In(1)
        Of the sweep under way: all samples have passed all layers; all samples are in the loss's
        sums.
    updating : In(1)
        An update is asked for and has not begun, or has not ended.
    diverged : In(1)
        A TD error of the first sweep is infinite or NaN: no other sweep follows.
    trained : Out(1)
        All samples of the last wanted sweep, or of a diverged first sweep, have passed and are in
        the sums; high until the next ``train``.
    more : Out(1)
        After ``update``, until the last wanted sweep has ended.
    """

    def __init__(self, config):
        self.sweeps = config.plan.sweeps
        super().__init__(
            {
                "train": In(1),
                "update": In(1),
                "wanted": In(self.sweeps),
                "sweep": Out(range(self.sweeps)),
                "start": Out(self.sweeps),
                "updates": Out(self.sweeps),
                "passed": In(1),
                "summed": In(1),
                "updating": In(1),
                "diverged": In(1),
                "trained": Out(1),
                "more": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        running, complete, last = Signal(), self.passed & self.summed, self.sweeps - 1
        m.d.comb += [self.start[0].eq(self.train), self.updates[0].eq(self.update)]
        ends = complete
        if last:
            begins = Signal()  # a sweep behind the first begins
            following, follows = Signal.like(self.sweep), Signal()
            for sweep in reversed(range(1, self.sweeps)):
                with m.If(self.wanted[sweep] & (self.sweep < sweep)):
                    m.d.comb += [following.eq(sweep), follows.eq(1)]
            ends = complete & ~begins & (~follows | self.diverged)
            over = self.more & self.passed & ~begins & ~self.updating
            over &= follows | self.trained
            m.d.sync += begins.eq(over & follows)
            with m.If(self.update):
                m.d.sync += self.more.eq(1)
            with m.Elif(over):
                m.d.sync += self.sweep.eq(following)
                with m.If(~follows):
                    m.d.sync += self.more.eq(0)
            for sweep in range(1, self.sweeps):
                bit = begins & (self.sweep == sweep)
                m.d.comb += [self.start[sweep].eq(bit), self.updates[sweep].eq(bit)]
        with m.If(self.train):
            m.d.sync += [running.eq(1), self.trained.eq(0)]
        with m.Elif(running & ends):
            m.d.sync += [running.eq(0), self.trained.eq(1)]
        return m

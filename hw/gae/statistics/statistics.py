"""Statistics of a command: exact sums of its numbers, then the moments of rewards, of values.

One beat a clock; from the last beat to ``done`` it takes ``Statistics.latency_of(lanes)`` clocks.
"""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.arith.float32.format import WIDTH
from hw.gae.commands import COMMANDS, Opcode
from hw.gae.layouts import EXPONENT
from hw.gae.records import MOMENTS
from hw.gae.standardize import NUMBER, PRODUCT, Standardize
from hw.gae.statistics.mean_deviation import SUMS, MeanDeviation
from hw.gae.statistics.sums import Sums
from hw.shell.program import COMMAND_BYTES
from hw.stream.delay import delay

__all__ = ["Statistics"]


class Statistics(wiring.Component):
    """Computes what STATISTICS writes, from the numbers and squares of ``Standardize``.

    Parameters
    ----------
    lanes : int
        Numbers in a beat, a power of two.

    Members
    -------
    advance : In(1)
        1: the stages of the sums move at the end of this clock; 0: they stand still. Latencies
        count clocks with ``advance``.
    start : In(1), command : In(512)
        ``start`` is a pulse: sums begin with the prior ones of ``command``, the 64 bytes of a
        STATISTICS, which are steady until ``done``.
    step : In(1), counts : In(lanes), values : In(1), last : In(1)
        ``step``: a beat comes. ``counts``: its lanes that have a number. ``values``: they are
        values, not rewards. ``last``: the last beat.
    x : In([NUMBER], lanes), products : In([PRODUCT], lanes)
        Numbers and squares of a beat: ``x`` comes ``Standardize.X_LATENCY`` clocks after its
        ``step``, ``products`` comes ``Standardize.PRODUCT_LATENCY`` clocks after it.
    rewards_clipped, values_clipped : In(32)
        How many rewards and values were clipped so far, for the field ``clipped`` of the MOMENTS.
    moments : Out(2 * 512), done : Out(1)
        MOMENTS of rewards, then of values, valid from ``done``, a pulse, to the next ``start``.
    """

    INTERVAL = 1

    def __init__(self, lanes):
        self.lanes = lanes
        super().__init__(
            {
                "advance": In(1),
                "start": In(1),
                "command": In(8 * COMMAND_BYTES),
                "step": In(1),
                "counts": In(lanes),
                "values": In(1),
                "last": In(1),
                "x": In(data.ArrayLayout(NUMBER.shape, lanes)),
                "products": In(data.ArrayLayout(PRODUCT, lanes)),
                "rewards_clipped": In(32),
                "values_clipped": In(32),
                "moments": Out(2 * 8 * MOMENTS.size),
                "done": Out(1),
            }
        )

    @staticmethod
    def latency_of(lanes):
        """Clocks from the last beat to ``done``: the sums, then the moments of rewards and of
        values."""
        return Standardize.PRODUCT_LATENCY + Sums.latency_of(lanes) + 2 * MeanDeviation.LATENCY + 1

    def elaborate(self, platform):
        m = Module()
        m.submodules.sums = sums = Sums(self.lanes)
        m.submodules.moments = moments = MeanDeviation()
        command = data.View(COMMANDS[Opcode.STATISTICS].shape, self.command)
        exponents = (command.value_exponent, command.reward_exponent)

        def later(value, clocks, name, reset=False):
            return delay(m, value, clocks, name=name, enable=self.advance, reset=reset)

        clocks = Standardize.PRODUCT_LATENCY
        m.d.comb += [
            sums.advance.eq(self.advance),
            sums.start.eq(self.start),
            sums.prior.count.eq(command.prior_count[: SUMS["count"].width]),
            sums.prior.sum.eq(command.prior_sum[: SUMS["sum"].width].as_signed()),
            sums.prior.squares.eq(Value.cast(command.prior_squares)[: SUMS["squares"].width]),
            sums.x.eq(self.x),
            sums.step.eq(later(self.step, clocks, "step", reset=True)),
            sums.counts.eq(later(self.counts, clocks, "counts")),
            sums.values.eq(later(self.values, clocks, "values")),
        ]
        for square, product in zip(sums.squares, self.products, strict=True):
            m.d.comb += square.eq(product[: len(square)])  # never negative

        # One unit of moments, of rewards first.
        clocks += Sums.latency_of(self.lanes)
        summed = later(self.step & self.last, clocks, "summed", reset=True)
        second, again = Signal(), Signal()
        first_mean, first_deviation = Signal(WIDTH), Signal(WIDTH)
        m.d.sync += again.eq(moments.done & ~second)
        m.d.comb += [
            moments.start.eq(summed | again),
            moments.sums.eq(Mux(second, sums.values_sums, sums.rewards_sums)),
            moments.exponent.eq(
                Mux(second, *(each[: EXPONENT.width] for each in exponents)).as_signed()
            ),
            self.done.eq(moments.done & second),
        ]
        with m.If(self.start):
            m.d.sync += second.eq(0)
        with m.Elif(moments.done & ~second):
            m.d.sync += [
                second.eq(1),
                first_mean.eq(moments.mean),
                first_deviation.eq(moments.deviation),
            ]
        for k, (counted, clipped, mean, deviation) in enumerate(
            (
                (sums.rewards_sums, self.rewards_clipped, first_mean, first_deviation),
                (sums.values_sums, self.values_clipped, moments.mean, moments.deviation),
            )
        ):
            size = 8 * MOMENTS.size
            record = data.View(MOMENTS.shape, self.moments[k * size : (k + 1) * size])
            m.d.comb += [
                record.count.eq(counted.count),
                record.sum.eq(counted.sum),
                Value.cast(record.squares).eq(counted.squares),
                record.mean.eq(mean),
                record.deviation.eq(deviation),
                record.clipped.eq(clipped),
            ]
        return m

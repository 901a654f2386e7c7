"""Exact sums of rewards and of values: trees over the lanes, and two sets of accumulators.

One beat a clock; latency: ``Sums.latency_of(lanes)``.
"""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.gae.standardize import NUMBER, Standardize
from hw.gae.statistics.mean_deviation import SUMS
from hw.stream.delay import delay

__all__ = ["LAG", "Sums"]

#: Clocks by which products are behind their numbers.
LAG = Standardize.PRODUCT_LATENCY - Standardize.X_LATENCY

_SQUARE_WIDTH = 2 * NUMBER.width - 1


class Sums(wiring.Component):
    """Adds up ``count``, ``sum`` and ``squares`` of the rewards and of the values since ``start``.
    The sums of rewards begin with ``prior``, those of values with 0.

    Parameters
    ----------
    lanes : int
        Numbers in a beat, a power of two.

    Members
    -------
    advance : In(1)
        1: every stage moves at the end of this clock; 0: all stand still.
    start : In(1), prior : In(SUMS)
        ``start`` is a pulse, with ``prior`` in the same clock.
    x : In([NUMBER], lanes)
        The numbers, 0 in lanes without one. They come LAG clocks before the members below.
    squares : In([NUMBER squared], lanes)
        The squares of the numbers.
    step : In(1), counts : In(lanes), values : In(1)
        ``step``: a beat comes. ``counts``: its lanes that have a number. ``values``: they are
        values, not rewards.
    rewards_sums, values_sums : Out(SUMS)
        The sums, in which a beat counts from LATENCY clocks after its ``step`` on.
    """

    INTERVAL = 1

    def __init__(self, lanes):
        self.lanes = lanes
        self.LATENCY = self.latency_of(lanes)
        super().__init__(
            {
                "advance": In(1),
                "start": In(1),
                "prior": In(SUMS),
                "x": In(data.ArrayLayout(NUMBER.shape, lanes)),
                "squares": In(data.ArrayLayout(_SQUARE_WIDTH, lanes)),
                "step": In(1),
                "counts": In(lanes),
                "values": In(1),
                "rewards_sums": Out(SUMS),
                "values_sums": Out(SUMS),
            }
        )

    @staticmethod
    def latency_of(lanes):
        """Clocks from a beat to sums with it: log2(lanes) stages, and one for the accumulators."""
        return lanes.bit_length()

    def _later(self, m, value, clocks, name, reset=False):
        return delay(m, value, clocks, name=name, enable=self.advance, reset=reset)

    def _tree(self, m, terms, name):
        """The sum of the inputs, one clock later for each level of the tree."""
        level = 0
        while len(terms) > 1:
            level += 1
            sums = []
            for k, (a, b) in enumerate(zip(terms[0::2], terms[1::2], strict=True)):
                sums.append(Signal((a + b).shape(), name=f"{name}_{level}_{k}", reset_less=True))
                with m.If(self.advance):
                    m.d.sync += sums[-1].eq(a + b)
            terms = sums
        return terms[0]

    def elaborate(self, platform):
        m = Module()
        depth = self.LATENCY - 1
        count = self._tree(m, [self.counts[lane] for lane in range(self.lanes)], "count")
        squares = self._tree(m, [self.squares[lane] for lane in range(self.lanes)], "squares")
        sum_ = self._tree(m, [self.x[lane] for lane in range(self.lanes)], "x")
        sum_ = self._later(m, sum_, LAG, "sum")
        step = self._later(m, self.step, depth, "step", reset=True)
        values = self._later(m, self.values, depth, "values")
        for plane, sums in enumerate((self.rewards_sums, self.values_sums)):
            with m.If(self.advance & step & (values == plane)):
                m.d.sync += [
                    sums.count.eq(sums.count + count),
                    sums.sum.eq(sums.sum + sum_),
                    sums.squares.eq(sums.squares + squares),
                ]
        with m.If(self.start):
            m.d.sync += [self.rewards_sums.eq(self.prior), self.values_sums.eq(0)]
        return m

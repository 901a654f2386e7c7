"""Adds the errors that come back from several networks to the one whose outputs they all take.

A word a clock; ``latency_of`` says how much later it leaves.
"""

from itertools import product

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.area import area
from hw.arith import estimate as arith
from hw.estimate import times
from hw.nn.layouts import vector_layout
from hw.stream.delay import delay

__all__ = ["Merge"]


class Merge(wiring.Component):
    """Each number of ``o`` is the sum over the takers of those numbers of ``i`` that are
    ``wanted``. Takers have equal layers and are given the same numbers in the same clocks, so their
    words come in the same clocks. In binary32 the first two are added first, then the third, and so
    on; in fixed point the sum is exact and clipped once.

    Parameters
    ----------
    config : LearnerConfig
    word : int
        Numbers of a word of each lane.
    paths : int
        Data paths of the network that the errors go to.
    takers : int

    Members
    -------
    i : In({valid, value [paths][lanes][word]}).array(takers)
        The words of each taker, by the path that they go to. A word comes if it is ``valid`` of
        any.
    wanted : In(paths).array(takers)
        Bit p: the taker's numbers for path p are added. Steady while words are on their way.
    o : Out({valid, value})
        The sums.
    saturations : Out
        Number of sums that were clipped in this clock.
    """

    def __init__(self, config, word, paths, takers):
        self.config, self.word, self.paths, self.takers = config, word, paths, takers
        number = config.arithmetic.shape("gradient")
        value = vector_layout(number, paths, config.lanes, word)
        layout = data.StructLayout({"valid": 1, "value": value})
        super().__init__(
            {
                "i": In(layout).array(takers),
                "wanted": In(paths).array(takers),
                "o": Out(layout),
                "saturations": Out(range(paths * config.lanes * word + 1)),
            }
        )

    @staticmethod
    def latency_of(arithmetic, takers):
        """Clocks from a word of ``i`` to its sum."""
        return (takers - 1) * arithmetic.add_latency + arithmetic.requantize_latency

    @staticmethod
    def estimate(config, word, paths, takers):
        """Resources with these parameters."""
        arithmetic = config.arithmetic
        width = Shape.cast(arithmetic.shape("gradient")).width
        width += (takers - 1).bit_length() * arithmetic.saturates
        masked = area("arith.adder_tree.masked", width=width)
        one = [times(takers - 1, arith.add(arithmetic, width), masked)]
        one.append(arith.requantize(arithmetic, width, "gradient", kind="gradient"))
        return times(paths * config.lanes * word, *one)

    def elaborate(self, platform):
        m = Module()
        arithmetic, clipped = self.config.arithmetic, []
        valid = Cat(i.valid for i in self.i).any()
        latency = self.latency_of(arithmetic, self.takers)
        valid = delay(m, valid, latency, name="valid", reset=True)
        m.d.comb += self.o.valid.eq(valid)
        places = product(range(self.paths), range(self.config.lanes), range(self.word))
        for k, (path, lane, place) in enumerate(places):
            terms = []
            for taker in range(self.takers):
                term = Signal(arithmetic.shape("gradient"), name=f"term_{taker}_{k}")
                number = self.i[taker].value[path][lane][place]
                m.d.comb += term.eq(Mux(self.wanted[taker][path], number, arithmetic.zero))
                terms.append(term)
            total = terms[0]
            for taker, term in enumerate(terms[1:]):
                late = delay(m, term, taker * arithmetic.add_latency, name=f"late_{taker}_{k}")
                total = arithmetic.add(m, total, late, name=f"sum_{taker}_{k}")
            value, over = arithmetic.requantize(
                m, total, "gradient", kind="gradient", name=f"total_{k}"
            )
            m.d.comb += self.o.value[path][lane][place].eq(value)
            clipped.append(over & valid)
        m.d.comb += self.saturations.eq(sum(clipped))
        return m

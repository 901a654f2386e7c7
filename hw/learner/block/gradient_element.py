"""An element of a block's gradients: a weight's gradient grows by a super-sample's products.

Interval 1; ``latency`` clocks from the first lane's numbers to the sum.
"""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.config import check_range
from hw.learner.block.layer_clocks import element_clocks

__all__ = ["GradientElement"]


class GradientElement(wiring.Component):
    """``total = (word, or 0 if fresh) + sum over lanes of delta[lane] * x[lane]``.

    The word comes from a memory, and the total is written back, so a weight's gradient can grow
    again after ``loop`` clocks and the memory's latency. In fixed point the sum is exact. If
    ``cascaded``, the word enters the first DSP block of the lanes' cascade; if not, an adder takes
    it after the cascade, for a shorter loop. In binary32, ``Arithmetic.dot`` over lanes is added
    first, then the word.

    Parameters
    ----------
    arithmetic : Arithmetic
    lanes : int
        Samples side by side, at least 1.
    batch : int
        The most samples of a sum, as in ``gradient_sum_shape``.
    cascaded : bool
        In fixed point only.

    Attributes
    ----------
    latency, word_latency : int
        Clocks from lane 0's numbers to ``total``, and to ``word`` and ``fresh``.
    loop : int
        Clocks from ``word`` to ``total``.

    Members
    -------
    delta, x : In [lanes]
        The error and the activation of each lane's sample; lane k comes ``k * dot_skew`` clocks
        after lane 0.
    word : In, fresh : In(1)
        The gradient so far; ``fresh``: it counts as 0.
    total : Out
        The gradient with these samples.
    """

    def __init__(self, arithmetic, lanes, batch, cascaded=True):
        check_range("lanes", lanes, 1, 16)
        self.arithmetic, self.cascaded = arithmetic, cascaded or not arithmetic.saturates
        total = arithmetic.gradient_sum_shape(batch)
        super().__init__(
            {
                "delta": In(data.ArrayLayout(arithmetic.shape("gradient"), lanes)),
                "x": In(data.ArrayLayout(arithmetic.shape("activation"), lanes)),
                "word": In(total),
                "fresh": In(1),
                "total": Out(total),
            }
        )
        self.word_latency, self.latency = element_clocks(arithmetic, lanes, self.cascaded)
        self.loop = self.latency - self.word_latency

    def elaborate(self, platform):
        m = Module()
        arithmetic, shape = self.arithmetic, self.word.shape()
        word = Signal(shape, name="begin")
        m.d.comb += word.eq(Mux(self.fresh, arithmetic.zero, self.word))
        products = [*self.delta], [*self.x]
        if self.cascaded:
            total = arithmetic.dot(m, *products, begin=word, name="dot")
        else:
            total = arithmetic.add(
                m, arithmetic.dot(m, *products, name="dot"), word, name="sum", shape=shape
            )
        m.d.comb += self.total.eq(total)
        return m

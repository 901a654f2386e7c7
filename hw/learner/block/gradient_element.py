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

    The word comes from a memory to which the total goes back, so that a weight's gradient can grow
    again after ``loop`` clocks and those of the memory. In fixed point the sum is exact, and runs
    through the DSP blocks of all lanes if ``cascaded``, the word into the first of them; if not,
    an adder behind them takes the word, for a shorter loop. In binary32, the order of additions is
    that of ``Arithmetic.dot`` over lanes, then the word.

    Parameters
    ----------
    arithmetic : Arithmetic
    lanes : int
        Samples side by side, at least 1.
    batch : int
        The most samples of a sum, as in ``gradient_sum_shape``.
    cascaded : bool
        Fixed point alone.

    Attributes
    ----------
    latency, word_latency : int
        Clocks from lane 0's numbers to ``total``, and to ``word`` and ``fresh``.
    loop : int
        Clocks from ``word`` to ``total``.

    Members
    -------
    delta, x : In [lanes]
        The error and the activation of each lane's sample; those of lane k come ``k * dot_skew``
        clocks after those of lane 0.
    word : In, fresh : In(1)
        The gradient so far; ``fresh``: there is none.
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

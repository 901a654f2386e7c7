"""The sum of the squares of a layer's gradients, a part a clock.

In fixed point the sum is exact, whatever the parts are. In binary32 the squares of a part are added
by a tree of neighbours, and the parts by ``BatchSum``.
"""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.arith.adder_tree import adder_tree
from hw.nn.batch_sum import BatchSum
from hw.nn.layouts import vector_layout
from hw.nn.optimizers import optimizer_of
from hw.stream.delay import delay

__all__ = ["SquareSum", "square_shape"]


def square_shape(config):
    """The shape of the square of a gradient of layers of a LayerConfig."""
    arithmetic = config.arithmetic
    sums = arithmetic.gradient_sum_shape(config.batch)
    return optimizer_of(arithmetic).square_shape(arithmetic, sums)


class SquareSum(wiring.Component):
    """Adds the squares of parts that come one a clock at most.

    Parameters
    ----------
    config : LayerConfig
    shape : BlockShape

    Members
    -------
    clear : In(1)
        A pulse before the first part: the sum begins with 0.
    i : In({valid, last, value [part]})
        The squares of a part, if ``valid``; ``last``: it is the last one.
    done : Out(1), total : Out(sum_shape)
        ``done``, a pulse ``latency_of`` clocks after the last part: ``total`` is the sum. It stays
        until the next ``clear``.
    """

    def __init__(self, config, shape):
        self.config, self.shape = config, shape
        value = vector_layout(square_shape(config), shape.part)
        super().__init__(
            {
                "clear": In(1),
                "i": In(data.StructLayout({"valid": 1, "last": 1, "value": value})),
                "done": Out(1),
                "total": Out(self.sum_shape(config, shape)),
            }
        )

    @staticmethod
    def sum_shape(config, shape):
        """The shape of the sum for a layer of a BlockShape."""
        width, count = square_shape(config).width, shape.parts * shape.part
        return unsigned(width + (count - 1).bit_length() * config.arithmetic.saturates)

    @staticmethod
    def latency_of(config, shape):
        """Clocks from the last part to the sum."""
        arithmetic = config.arithmetic
        tree = (shape.part - 1).bit_length() * arithmetic.add_latency
        return tree + (1 if arithmetic.saturates else BatchSum.LATENCY + BatchSum.FOLD_LATENCY)

    def elaborate(self, platform):
        m = Module()
        arithmetic, part = self.config.arithmetic, self.shape.part
        tree = (part - 1).bit_length() * arithmetic.add_latency
        squares = adder_tree(m, arithmetic, [*self.i.value], name="squares")
        valid = delay(m, self.i.valid, tree, name="valid", reset=True)
        last = delay(m, self.i.valid & self.i.last, tree, name="last", reset=True)
        if arithmetic.saturates:
            with m.If(self.clear):
                m.d.sync += self.total.eq(0)
            with m.Elif(valid):
                m.d.sync += self.total.eq(self.total + squares)
            m.d.comb += self.done.eq(delay(m, last, 1, name="done", reset=True))
            return m
        m.submodules.sum = total = BatchSum()
        m.d.comb += [
            total.clear.eq(self.clear),
            total.i.valid.eq(valid),
            total.i.value.eq(squares),
            total.fold.eq(delay(m, last, BatchSum.LATENCY, name="fold", reset=True)),
            self.done.eq(total.folded),
            self.total.eq(total.total),
        ]
        return m

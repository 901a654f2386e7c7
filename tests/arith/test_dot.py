"""``Arithmetic.dot``: sums of products of every length, their limits, and what they begin with."""

import numpy as np
import pytest
from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from clocks import Clocks
from later import crossed
from learner.numbers import numbers

from hw.arith.arithmetic import Arithmetic
from sim.model.arith.arithmetic import twin_of
from sim.model.nn.product import Order, product_float

FIXED, FLOAT = Arithmetic(kind="fixed"), Arithmetic()
_BEGIN = 48


class DotTop(wiring.Component):
    """A dot product of weights and activations, and one that begins with a number."""

    def __init__(self, arithmetic, count):
        self.arithmetic, self.count = arithmetic, count
        begin = signed(_BEGIN) if arithmetic.saturates else unsigned(32)
        total = signed(_BEGIN + 1) if arithmetic.saturates else unsigned(32)
        super().__init__(
            {
                "a": In(data.ArrayLayout(arithmetic.shape("weight"), count)),
                "b": In(data.ArrayLayout(arithmetic.shape("activation"), count)),
                "begin": In(begin),
                "o": Out(total),
                "begun": Out(begin),
            }
        )

    def elaborate(self, platform):
        m = Module()
        a, b = [*self.a], [*self.b]
        m.d.comb += [
            self.o.eq(self.arithmetic.dot(m, a, b, name="dot")),
            self.begun.eq(self.arithmetic.dot(m, a, b, begin=self.begin, name="begun_dot")),
        ]
        return m


@pytest.mark.parametrize("arithmetic, count", crossed({"fixed": FIXED, "float": FLOAT}, (16, 3, 1)))
def test_dot(simulate, tmp_path, arithmetic, count):
    rng, clocks, rows = np.random.default_rng(count), Clocks(), 60
    a, b = (numbers(arithmetic, kind, (count, rows), rng) for kind in ("weight", "activation"))
    if arithmetic.saturates:
        # The largest sum, 2**47 of 16 products, the lowest, and their neighbours.
        low, high = arithmetic.weight.low, arithmetic.weight.high
        a[:, :4] = low, low, low, high
        b[:, 0], b[:, 1:3] = arithmetic.activation.low, arithmetic.activation.high
        b[:, 3], b[0, 2] = arithmetic.activation.low, arithmetic.activation.low
        begin = rng.integers(-(1 << 40), 1 << 40, rows)
    else:
        a[:, :2], b[:, :2] = -0.0, 1  # -0, of which +0 would make a +0
        begin = numbers(arithmetic, "weight", (rows,), rng)
    twin, unit = twin_of(arithmetic), DotTop(arithmetic, count)
    total, begun = twin.dot(a, b), twin.dot(a, b, begin)
    for row in range(rows):
        for k in range(count):
            at = row + k * arithmetic.dot_skew
            clocks.at(at)
            clocks.inputs[at].setdefault("a", {})[k] = a[k, row]
            clocks.inputs[at].setdefault("b", {})[k] = b[k, row]
        clocks.at(row + arithmetic.begin_latency(count), begin=begin[row])
        clocks.expect(row + arithmetic.dot_latency(count), o=total[row])
        if abs(int(total[row])) < 1 << 46 if arithmetic.saturates else True:
            clocks.expect(row + arithmetic.dot_latency(count, begins=True), begun=begun[row])
    clocks.run(simulate, unit, tmp_path)


def test_latencies():
    """Operands, product, and a clock a number; product, tree, and an addition."""
    assert [FIXED.dot_latency(count) for count in (1, 4, 16)] == [3, 6, 18]
    assert FIXED.dot_latency(4, begins=True) == 6 and FIXED.begin_latency(4) == 1
    product, add = FLOAT.multiply_latency, FLOAT.add_latency
    assert [FLOAT.dot_latency(count) for count in (1, 3, 8)] == [
        product,
        product + 2 * add,
        product + 3 * add,
    ]
    assert FLOAT.dot_latency(3, begins=True) == product + 3 * add


@pytest.mark.parametrize("count", [1, 2, 8, 16])
def test_the_twin_has_the_order_of_the_learner_s_products(count):
    rng = np.random.default_rng(count)
    a, b = rng.normal(size=(2, count, 5)).astype(np.float32)
    columns = [
        (np.ascontiguousarray(a[:, k])[None], np.ascontiguousarray(b[:, k])[:, None])
        for k in range(5)
    ]
    sums = [product_float(*column, Order(1, count))[0, 0] for column in columns]
    assert (twin_of(FLOAT).dot(a, b) == sums).all()

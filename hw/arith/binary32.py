"""binary32 as the arithmetic of a tensor unit; operations and latencies: ``Arithmetic``."""

from dataclasses import dataclass

import numpy as np
from amaranth import *

from hw.arith.adder_tree import adder_tree
from hw.arith.float32.add import Float32Add
from hw.arith.float32.format import EXPONENT_MAX, PRECISION, WIDTH, times_power_of_two
from hw.arith.float32.multiply import Float32Multiply
from hw.arith.float32.unit import free_running
from hw.arith.operations import Arithmetic
from hw.arith.tanh import Tanh
from hw.stream.delay import delay

__all__ = ["Binary32"]


@dataclass(frozen=True, kw_only=True, repr=False)
class Binary32(Arithmetic):
    """IEEE binary32 as the arithmetic of a tensor unit; ``Arithmetic`` describes the operations.

    Each product and each sum of two numbers is rounded to nearest even. A longer sum is rounded
    after each addition, in the order that the unit's docstring gives. The formats of ``weight``,
    ``activation`` and ``gradient`` are not used.
    """

    kind: str = "float32"

    multiply_latency, add_latency = Float32Multiply.LATENCY, Float32Add.LATENCY
    requantize_latency = quantize_latency = to_float_latency = 0
    tanh_latency = Tanh.LATENCY
    dot_skew = 0
    #: Product, difference, product.
    derived_by_tanh_latency = 2 * multiply_latency + add_latency
    #: -0, for +0 would lose a -0.
    zero, saturates = 1 << (WIDTH - 1), False

    def shape(self, kind):
        return unsigned(WIDTH)

    def sum_shape(self, *kinds, count):
        return unsigned(WIDTH)

    def multiply(self, m, a, b, *, name):
        return free_running(m, Float32Multiply, a, b, name=name)

    def add(self, m, a, b, *, name, shape=None):
        return free_running(m, Float32Add, a, b, name=name)

    def dot(self, m, a, b, *, begin=None, name):
        products = [
            self.multiply(m, *operands, name=f"{name}_product_{k}")
            for k, operands in enumerate(zip(a, b, strict=True))
        ]
        total = adder_tree(m, self, products, name=f"{name}_tree")
        return total if begin is None else self.add(m, total, begin, name=f"{name}_begin")

    def dot_latency(self, count, begins=False):
        return self.begin_latency(count) + (self.add_latency if begins else 0)

    def begin_latency(self, count):
        return self.multiply_latency + (count - 1).bit_length() * self.add_latency

    def times_one(self, value):
        return value

    def requantize(self, m, value, *source, kind, name):
        return value, Const(0)

    def quantize(self, m, bits, *, kind, name):
        return bits, Const(0)

    def to_float(self, m, value, *, kind, name):
        return value

    def stream_to_float(self, m, source, sink, *, name):
        m.d.comb += [port.eq(value) for port, value in zip(sink, source, strict=False)]
        return sink[-1]

    def tanh(self, m, value, *, name):
        result = Signal(WIDTH, name=name)
        m.submodules[f"{name}_unit"] = unit = Tanh()
        m.d.comb += [
            unit.i.payload.eq(value),
            unit.i.valid.eq(1),
            unit.o.ready.eq(1),
            result.eq(unit.o.p.result),
        ]
        return result

    def derived_by_tanh(self, m, dx, x, *, name):
        square = self.multiply(m, x, x, name=f"{name}_square")
        minus = square ^ (1 << (WIDTH - 1))
        one = Const(0x3F80_0000, WIDTH)
        rest = self.add(m, one, minus, name=f"{name}_rest")
        clocks = self.multiply_latency + self.add_latency
        return self.multiply(m, delay(m, dx, clocks, name=f"{name}_dx"), rest, name=name)

    def positive(self, m, x, *, name):
        positive = Signal(name=name)
        # A subnormal counts as a zero.
        normal = x[PRECISION - 1 : WIDTH - 1].any()
        infinity = EXPONENT_MAX << (PRECISION - 1)
        m.d.comb += positive.eq(~x[-1] & normal & (x[: WIDTH - 1] <= infinity))
        return positive

    def scaled_down(self, value, places):
        return times_power_of_two(value, -places)

    def order_key(self, value):
        magnitude = value[:-1]
        return Cat(magnitude ^ value[-1].replicate(len(magnitude)), value[-1]).as_signed()

    def number(self, value, *, kind):
        return int(np.float32(value).view(np.uint32)), False

    def weight_words(self, x):
        return np.asarray(x, np.float32).view(np.uint32), 0

    def weights_of(self, words):
        return words.view(np.float32)

"""Activation functions and their derivatives, in either arithmetic: free-running, interval 1.

Latencies: ``activation_latency`` and ``derivative_latency``.
"""

from amaranth import *

from hw.arith.float32.format import EXPONENT_MAX, PRECISION, WIDTH
from hw.arith.tanh import Tanh, TanhFixed
from hw.stream.delay import delay

__all__ = ["ACTIVATIONS", "activate", "activation_latency", "derivative", "derivative_latency"]

ACTIVATIONS = ("linear", "relu", "tanh")

#: Wide operand of a DSP block, less its sign and the bit of a one.
_FRACTION_MAX = 25


def activation_latency(arithmetic, activation):
    """Clocks from a value to its activation."""
    tanh = Tanh.LATENCY if arithmetic.is_float else TanhFixed.LATENCY
    return {"linear": 0, "relu": 1, "tanh": tanh}[activation]


def derivative_latency(arithmetic, activation):
    """Clocks from a gradient to its product with the derivative."""
    multiply, add = arithmetic.multiply_latency, arithmetic.add_latency
    # In binary32 product, difference, product; fixed point rounds in one more.
    tanh = 2 * multiply + add + (not arithmetic.is_float)
    return {"linear": 0, "relu": 1, "tanh": tanh}[activation]


def activate(m, arithmetic, activation, value, *, name):
    """``activation(value)`` of numbers of the kind "activation"; returns ``(result, latency)``.

    relu leaves a NaN as it is, and gives +0 for -0. ``name`` is of the module's submodules too.
    """
    latency = activation_latency(arithmetic, activation)
    if activation == "linear":
        return value, latency
    result = Signal(arithmetic.shape("activation"), name=name, reset_less=True)
    if activation == "relu":
        # In binary32 too: the one NaN that units give has no sign.
        m.d.sync += result.eq(Mux(value[-1], 0, value))
        return result, latency
    unit = Tanh() if arithmetic.is_float else TanhFixed(arithmetic.activation)
    m.submodules[f"{name}_unit"] = unit
    output = unit.o.p.result if arithmetic.is_float else unit.o.payload
    m.d.comb += [
        unit.i.payload.eq(value),
        unit.i.valid.eq(1),
        unit.o.ready.eq(1),
        result.eq(output),
    ]
    return result, latency


def derivative(m, arithmetic, activation, dx, x, *, name):
    """``dx`` times the derivative of ``activation`` where its result is ``x``.

    ``dx`` is a gradient, ``x`` an activation of the same clock. linear: ``dx``. relu: ``dx`` where
    ``x > 0``, else +0. tanh: ``dx * (1 - x**2)``, in fixed point with ``1 - x**2`` cut to 25
    fraction bits so that each product is one DSP block, rounded half up. Returns
    ``(result, latency)``.
    """
    latency = derivative_latency(arithmetic, activation)
    if activation == "linear":
        return dx, latency
    if activation == "relu":
        result = Signal(arithmetic.shape("gradient"), name=name, reset_less=True)
        m.d.sync += result.eq(Mux(_positive(m, arithmetic, x, f"{name}_positive"), dx, 0))
        return result, latency
    if arithmetic.is_float:
        return _tanh_float(m, arithmetic, dx, x, name), latency
    return _tanh_fixed(m, arithmetic, dx, x, name), latency


def _positive(m, arithmetic, x, name):
    positive = Signal(name=name)
    if arithmetic.is_float:
        # A subnormal counts as a zero.
        normal = x[PRECISION - 1 : WIDTH - 1].any()
        infinity = EXPONENT_MAX << (PRECISION - 1)
        m.d.comb += positive.eq(~x[-1] & normal & (x[: WIDTH - 1] <= infinity))
    else:
        m.d.comb += positive.eq(x > 0)
    return positive


def _tanh_float(m, arithmetic, dx, x, name):
    square = arithmetic.multiply(m, x, x, name=f"{name}_square")
    minus = square ^ (1 << (WIDTH - 1))
    one = Const(0x3F80_0000, WIDTH)
    rest = arithmetic.add(m, one, minus, name=f"{name}_rest")
    clocks = arithmetic.multiply_latency + arithmetic.add_latency
    return arithmetic.multiply(m, delay(m, dx, clocks, name=f"{name}_dx"), rest, name=name)


def _tanh_fixed(m, arithmetic, dx, x, name):
    double = 2 * arithmetic.activation.fraction
    fraction = min(double, _FRACTION_MAX)
    square = arithmetic.multiply(m, x, x, name=f"{name}_square")
    # 0..1, as |x| <= 1.
    rest = Signal(fraction + 1, name=f"{name}_rest", reset_less=True)
    m.d.sync += rest.eq(((1 << double) - square) >> (double - fraction))
    delayed = delay(m, dx, arithmetic.multiply_latency + 1, name=f"{name}_dx")
    product = arithmetic.multiply(m, delayed, rest, name=f"{name}_product")
    result = Signal(arithmetic.shape("gradient"), name=name, reset_less=True)
    half = (1 << fraction) >> 1
    m.d.sync += result.eq((product + half) >> fraction)
    return result

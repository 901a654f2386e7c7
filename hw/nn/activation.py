"""Activation functions and their derivatives, in any arithmetic: free-running, interval 1.

Latencies: ``activation_latency`` and ``derivative_latency``.
"""

from amaranth import *

__all__ = ["ACTIVATIONS", "activate", "activation_latency", "derivative", "derivative_latency"]

ACTIVATIONS = ("linear", "relu", "tanh")


def activation_latency(arithmetic, activation):
    """Clocks from a value to its activation."""
    return {"linear": 0, "relu": 1, "tanh": arithmetic.tanh_latency}[activation]


def derivative_latency(arithmetic, activation):
    """Clocks from a gradient to its product with the derivative."""
    return {"linear": 0, "relu": 1, "tanh": arithmetic.derived_by_tanh_latency}[activation]


def activate(m, arithmetic, activation, value, *, name):
    """``activation(value)`` of numbers of the kind "activation"; returns ``(result, latency)``.

    relu leaves a NaN as it is, and gives +0 for -0. ``name`` is also the name of submodules.
    """
    latency = activation_latency(arithmetic, activation)
    if activation == "linear":
        return value, latency
    if activation == "tanh":
        return arithmetic.tanh(m, value, name=name), latency
    result = Signal(arithmetic.shape("activation"), name=name, reset_less=True)
    # This is right in binary32 too: the sign of the only NaN that units give is 0.
    m.d.sync += result.eq(Mux(value[-1], 0, value))
    return result, latency


def derivative(m, arithmetic, activation, dx, x, *, name):
    """``dx`` times the derivative of ``activation`` where its result is ``x``.

    ``dx`` is a gradient, ``x`` an activation of the same clock. linear: ``dx``. relu: ``dx`` if ``x
    > 0``, else +0. tanh: ``dx * (1 - x**2)``; in fixed point, ``1 - x**2`` is cut so that each
    product fits one DSP block, and the result is rounded half up. Returns ``(result, latency)``.
    """
    latency = derivative_latency(arithmetic, activation)
    if activation == "linear":
        return dx, latency
    if activation == "tanh":
        return arithmetic.derived_by_tanh(m, dx, x, name=name), latency
    result = Signal(arithmetic.shape("gradient"), name=name, reset_less=True)
    positive = arithmetic.positive(m, x, name=f"{name}_positive")
    m.d.sync += result.eq(Mux(positive, dx, 0))
    return result, latency

"""Activation functions and their derivatives, in any arithmetic: free-running, interval 1.

An activation is one object, which has all that hardware knows of the function.
"""

from amaranth import *

__all__ = ["ACTIVATIONS", "Activation"]


class Activation:
    """An activation function and its derivative, for hardware in any arithmetic. This class is the
    identity ("linear"); subclasses are other functions.
    """

    def latency(self, arithmetic):
        """Clocks from a value to its activation."""
        return 0

    def derivative_latency(self, arithmetic):
        """Clocks from a gradient to its product with the derivative."""
        return 0

    def apply(self, m, arithmetic, value, *, name):
        """The function of ``value``, a number of kind "activation", ``latency`` clocks later.
        Registers and submodules go to ``m``; their names begin with ``name``."""
        return value

    def derive(self, m, arithmetic, dx, x, *, name):
        """``dx`` times the derivative of the function at the point where the function's result is
        ``x``, ``derivative_latency`` clocks later. ``dx`` is a gradient, ``x`` an activation that
        comes in the same clock.
        """
        return dx


class Relu(Activation):
    """``max(value, 0)``: a NaN stays as it is, -0 becomes +0. The derivative is 1 where the result
    is above 0, else 0, so that ``derive`` gives ``dx`` or +0.
    """

    def latency(self, arithmetic):
        return 1

    def derivative_latency(self, arithmetic):
        return 1

    def apply(self, m, arithmetic, value, *, name):
        result = Signal(arithmetic.shape("activation"), name=name, reset_less=True)
        # This is right in binary32 too: the sign of the only NaN that units give is 0.
        m.d.sync += result.eq(Mux(value[-1], 0, value))
        return result

    def derive(self, m, arithmetic, dx, x, *, name):
        result = Signal(arithmetic.shape("gradient"), name=name, reset_less=True)
        positive = arithmetic.positive(m, x, name=f"{name}_positive")
        m.d.sync += result.eq(Mux(positive, dx, 0))
        return result


class LeakyRelu(Activation):
    """``value`` if it is 0 or above, ``value * 2**-PLACES`` if it is below 0. The derivative is 1
    where the result is above 0, else ``2**-PLACES``.

    A product with ``2**-PLACES`` is rounded, in fixed point half up, so it may be zero.
    """

    #: The slope below 0 is 1/64.
    PLACES = 6

    def latency(self, arithmetic):
        return 1

    def derivative_latency(self, arithmetic):
        return 1

    def apply(self, m, arithmetic, value, *, name):
        result = Signal(arithmetic.shape("activation"), name=name, reset_less=True)
        below = arithmetic.scaled_down(value, self.PLACES)
        m.d.sync += result.eq(Mux(value[-1], below, value))
        return result

    def derive(self, m, arithmetic, dx, x, *, name):
        result = Signal(arithmetic.shape("gradient"), name=name, reset_less=True)
        positive = arithmetic.positive(m, x, name=f"{name}_positive")
        m.d.sync += result.eq(Mux(positive, dx, arithmetic.scaled_down(dx, self.PLACES)))
        return result


class Tanh(Activation):
    """``tanh(value)``; the derivative is ``1 - x**2`` with the result x. In fixed point, x and ``1
    - x**2`` lose low bits, so that each product fits one DSP block, and the result of ``derive`` is
    rounded half up.
    """

    def latency(self, arithmetic):
        return arithmetic.tanh_latency

    def derivative_latency(self, arithmetic):
        return arithmetic.derived_by_tanh_latency

    def apply(self, m, arithmetic, value, *, name):
        return arithmetic.tanh(m, value, name=name)

    def derive(self, m, arithmetic, dx, x, *, name):
        return arithmetic.derived_by_tanh(m, dx, x, name=name)


#: Name -> Activation, for configs.
ACTIVATIONS = {
    "linear": Activation(),
    "relu": Relu(),
    "leaky_relu": LeakyRelu(),
    "tanh": Tanh(),
}

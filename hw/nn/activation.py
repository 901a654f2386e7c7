"""Activation functions and their derivatives, in any arithmetic: free-running, interval 1.

An activation is one object, which has all that hardware and estimates know of the function.
"""

from amaranth import *

from hw.arith import estimate as arith_area
from hw.estimate import Estimate

__all__ = ["ACTIVATIONS", "Activation"]


class Activation:
    """An activation function and its derivative, for hardware in any arithmetic. This class is the
    identity ("linear"); subclasses are other functions.

    Attributes
    ----------
    derivative_products : int
        How many products of two numbers ``derive`` computes.
    """

    derivative_products = 0

    def latency(self, arithmetic):
        """Clocks from a value to its activation."""
        return 0

    def derivative_latency(self, arithmetic):
        """Clocks from a gradient to its product with the derivative."""
        return 0

    def estimate(self, arithmetic):
        """Resources of ``apply``."""
        return Estimate(lut=0, ff=0, dsp=0)

    def derivative_estimate(self, arithmetic):
        """Resources of ``derive``."""
        return Estimate(lut=0, ff=0, dsp=0)

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


def _width(arithmetic, kind):
    return Shape.cast(arithmetic.shape(kind)).width


class Relu(Activation):
    """``max(value, 0)``: a NaN stays as it is, -0 becomes +0. The derivative is 1 where the result
    is above 0, else 0, so that ``derive`` gives ``dx`` or +0.
    """

    def latency(self, arithmetic):
        return 1

    def derivative_latency(self, arithmetic):
        return 1

    def estimate(self, arithmetic):
        # The register's reset chooses.
        return Estimate(lut=4, ff=_width(arithmetic, "activation"), dsp=0)

    def derivative_estimate(self, arithmetic):
        width = _width(arithmetic, "gradient")
        # The comparison, and the choice.
        return Estimate(lut=4 * width // 3, ff=width, dsp=0)

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

    def estimate(self, arithmetic):
        width = _width(arithmetic, "activation")
        return Estimate(lut=2 * width, ff=width, dsp=0)

    def derivative_estimate(self, arithmetic):
        width = _width(arithmetic, "gradient")
        return Estimate(lut=7 * width // 3, ff=width, dsp=0)

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

    derivative_products = 2

    def latency(self, arithmetic):
        return arithmetic.tanh_latency

    def derivative_latency(self, arithmetic):
        return arithmetic.derived_by_tanh_latency

    def estimate(self, arithmetic):
        return arith_area.tanh(arithmetic)

    def derivative_estimate(self, arithmetic):
        return arith_area.derived_by_tanh(arithmetic)

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

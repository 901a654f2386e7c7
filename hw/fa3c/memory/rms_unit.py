"""RU: RMSProp of one parameter a clock, free-running: interval 1, latency 51 (FA3C 4.2.3)."""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.arith.binary32 import Binary32
from hw.arith.float32.format import WIDTH
from hw.arith.float32.rsqrt import Float32Rsqrt
from hw.shared import SharedModule
from hw.stream.delay import delay

__all__ = ["RMS_COEFFICIENTS", "RmsUnit"]

#: The constants of an update, in binary32. FA3C writes 1 - decay for the gain.
RMS_COEFFICIENTS = data.StructLayout(dict.fromkeys(("rate", "decay", "gain", "epsilon"), WIDTH))

_FLOAT = Binary32()
_MULTIPLY, _ADD = _FLOAT.multiply_latency, _FLOAT.add_latency


class RmsUnit(wiring.Component):
    """RMSProp of one parameter in each clock, in binary32, rounded at every step::

        new_squares = decay * squares + gain * gradient**2
        new_theta   = theta - rate * (gradient * rsqrt(new_squares + epsilon))

    There is no back-pressure: in every clock the inputs are taken, whatever they are.

    Members
    -------
    coefficients : In(RMS_COEFFICIENTS)
        rate, decay, gain and epsilon; steady while parameters are in the pipeline.
    gradient, squares, theta : In(32)
        The numbers of one parameter, all in the same clock.
    new_squares : Out(32)
        ``SQUARES_LATENCY`` clocks after the inputs.
    new_theta : Out(32)
        ``LATENCY`` clocks after the inputs.
    """

    SQUARES_LATENCY = 2 * _MULTIPLY + _ADD
    LATENCY = SQUARES_LATENCY + _ADD + Float32Rsqrt.LATENCY + 2 * _MULTIPLY + _ADD

    def __init__(self):
        super().__init__(
            {
                "coefficients": In(RMS_COEFFICIENTS),
                "gradient": In(WIDTH),
                "squares": In(WIDTH),
                "theta": In(WIDTH),
                "new_squares": Out(WIDTH),
                "new_theta": Out(WIDTH),
            }
        )

    def elaborate(self, platform):
        m = Module()
        coefficients, gradient = self.coefficients, self.gradient
        square = _FLOAT.multiply(m, gradient, gradient, name="square")
        gained = _FLOAT.multiply(m, coefficients.gain, square, name="gained")
        kept = _FLOAT.multiply(m, coefficients.decay, self.squares, name="kept")
        kept = delay(m, kept, _MULTIPLY, name="kept")
        squares = _FLOAT.add(m, kept, gained, name="decayed")
        m.d.comb += self.new_squares.eq(squares)

        floored = _FLOAT.add(m, squares, coefficients.epsilon, name="floored")
        m.submodules.rsqrt = rsqrt = SharedModule(Float32Rsqrt)
        m.d.comb += [
            rsqrt.i.p.x.eq(floored),
            rsqrt.i.valid.eq(1),
            rsqrt.o.ready.eq(1),
        ]
        root_clock = self.SQUARES_LATENCY + _ADD + Float32Rsqrt.LATENCY
        gradient = delay(m, gradient, root_clock, name="gradient")
        quotient = _FLOAT.multiply(m, gradient, rsqrt.o.p.result, name="quotient")
        step = _FLOAT.multiply(m, coefficients.rate, quotient, name="step")
        negative = Signal(WIDTH)
        m.d.comb += negative.eq(Cat(step[:-1], ~step[-1]))
        theta = delay(m, self.theta, root_clock + 2 * _MULTIPLY, name="theta")
        m.d.comb += self.new_theta.eq(_FLOAT.add(m, theta, negative, name="moved"))
        return m

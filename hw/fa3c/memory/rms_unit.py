"""RU: RMSProp of one parameter a clock, free-running: interval 1, latency 51 (FA3C 4.2.3).

    g'     = decay * g + gain * gradient**2
    theta' = theta - rate * (gradient / sqrt(g' + epsilon))

in binary32, rounded at every step; the quotient is ``gradient * rsqrt(g' + epsilon)``.
"""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.arith.binary32 import Binary32
from hw.arith.float32.format import WIDTH
from hw.arith.float32.multiply import Float32Multiply
from hw.arith.float32.rsqrt import Float32Rsqrt
from hw.estimate import Estimate
from hw.shared import SharedModule
from hw.stream.delay import delay

__all__ = ["RMS_COEFFICIENTS", "RmsUnit"]

#: What an update says: binary32. FA3C has 1 - decay in place of the gain.
RMS_COEFFICIENTS = data.StructLayout(dict.fromkeys(("rate", "decay", "gain", "epsilon"), WIDTH))

_FLOAT = Binary32()
_MULTIPLY, _ADD = _FLOAT.multiply_latency, _FLOAT.add_latency


class RmsUnit(wiring.Component):
    """``new_g, new_theta = f(gradient, g, theta)`` by the formulas above, without back-pressure.

    Members
    -------
    coefficients : In(RMS_COEFFICIENTS)
        Steady while parameters pass.
    gradient, g, theta : In(32)
        Of a parameter, all in one clock.
    new_g : Out(32)
        ``G_LATENCY`` clocks later.
    new_theta : Out(32)
        ``LATENCY`` clocks later.
    """

    INTERVAL = 1
    G_LATENCY = 2 * _MULTIPLY + _ADD
    LATENCY = G_LATENCY + _ADD + Float32Rsqrt.LATENCY + 2 * _MULTIPLY + _ADD
    #: As yosys maps it to UltraScale+.
    LUT, FF = 2090, 2823

    def __init__(self):
        super().__init__(
            {
                "coefficients": In(RMS_COEFFICIENTS),
                "gradient": In(WIDTH),
                "g": In(WIDTH),
                "theta": In(WIDTH),
                "new_g": Out(WIDTH),
                "new_theta": Out(WIDTH),
            }
        )

    @classmethod
    def estimate(cls):
        """Latency and resources: five products, three sums and a reciprocal root, which has a table
        in a block of memory."""
        dsp = 5 * Float32Multiply.DSP + Float32Rsqrt.DSP
        return Estimate(
            latency=cls.LATENCY,
            interval=cls.INTERVAL,
            lut=cls.LUT,
            ff=cls.FF,
            bram36=1,
            dsp=dsp,
        )

    def elaborate(self, platform):
        m = Module()
        coefficients, gradient = self.coefficients, self.gradient
        square = _FLOAT.multiply(m, gradient, gradient, name="square")
        gained = _FLOAT.multiply(m, coefficients.gain, square, name="gained")
        kept = _FLOAT.multiply(m, coefficients.decay, self.g, name="kept")
        kept = delay(m, kept, _MULTIPLY, name="kept")
        moment = _FLOAT.add(m, kept, gained, name="moment")
        m.d.comb += self.new_g.eq(moment)

        floored = _FLOAT.add(m, moment, coefficients.epsilon, name="floored")
        m.submodules.rsqrt = rsqrt = SharedModule(Float32Rsqrt)
        m.d.comb += [
            rsqrt.i.p.x.eq(floored),
            rsqrt.i.valid.eq(1),
            rsqrt.o.ready.eq(1),
        ]
        root_clock = self.G_LATENCY + _ADD + Float32Rsqrt.LATENCY
        gradient = delay(m, gradient, root_clock, name="gradient")
        quotient = _FLOAT.multiply(m, gradient, rsqrt.o.p.result, name="quotient")
        step = _FLOAT.multiply(m, coefficients.rate, quotient, name="step")
        negative = Signal(WIDTH)
        m.d.comb += negative.eq(Cat(step[:-1], ~step[-1]))
        theta = delay(m, self.theta, root_clock + 2 * _MULTIPLY, name="theta")
        m.d.comb += self.new_theta.eq(_FLOAT.add(m, theta, negative, name="moved"))
        return m

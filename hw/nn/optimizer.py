"""One optimizer: a parameter a clock, free-running, latency by kind (``optimizer_config.timing``).

    g       = scale * gradient
    first'  = first_decay * first + first_gain * g                 (not rmsprop: first' = g)
    second' = second_decay * second + second_gain * g**2           (not sgd)
    u       = first' * (1 / (second' * rsqrt(second') + floor))    (sgd: u = first')
    weight' = weight - rate * u
    target' = keep * target + blend * weight'

in binary32, rounded at every step; ``second' * rsqrt(second')`` is +0 where ``second'`` is zero.
In fixed point the gradient is converted to binary32, ``rate * u`` to the weight's format (half up,
saturating), and ``target' = target + blend * (weight' - target)``, blend a number of
``BLEND_FORMAT``, half up. Source: CF'22 3.2 (WU); Kingma, Ba: Adam, algorithm 1.

A weight enters ``timing.weights`` clocks after its gradient, and moments leave before it does: the
memories are read where the numbers are needed, rather than all at once into long delay lines.
"""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.arith.arithmetic import Arithmetic
from hw.arith.float32.add import Float32Add
from hw.arith.float32.format import WIDTH, decode
from hw.arith.float32.multiply import Float32Multiply
from hw.arith.float32.reciprocal import Float32Reciprocal
from hw.arith.float32.rsqrt import Float32Rsqrt
from hw.arith.multiply import B_LIMB
from hw.arith.quantize import Quantize, quantize
from hw.arith.to_float import ToFloat, to_float
from hw.estimate import Estimate
from hw.nn.optimizer_config import (
    BLEND_FORMAT,
    COEFFICIENTS,
    FIXED_TARGET,
    FIXED_WEIGHT,
    timing,
)
from hw.shared import SharedModule
from hw.stream.delay import delay

__all__ = ["Optimizer"]

_FLOAT = Arithmetic(kind="float32")
_MULTIPLY, _ADD = Float32Multiply.LATENCY, Float32Add.LATENCY


class Optimizer(wiring.Component):
    """``new_* = f(gradient, first, second, weight, target)`` by the formulas above, one parameter a
    cycle, without back-pressure.

    Operands and results have times of their own: gradient and moments in cycle 0, new moments in
    ``timing.moments``, weight and target in ``timing.weights``, new ones in ``timing.latency``.

    Parameters
    ----------
    config : OptimizerConfig
    sum_shape : Shape
        Of a gradient; in fixed point its fraction is that of a product of activation and gradient.

    Members
    -------
    coefficients : In(COEFFICIENTS)
        Steady while parameters pass.
    blend : In(BLEND_FORMAT.shape)
        ``coefficients.blend`` as fixed point needs it, at most 1; not read in float32.
    gradient, first, second : In
        Sum over the batch, moments (32 bits; where the optimizer has none, of no effect).
    new_first, new_second : Out(32)
        ``timing.moments`` later; 0 where the optimizer has none.
    weight, target : In
        ``timing.weights`` after the gradient.
    new_weight, new_target, saturated : Out
        ``timing.latency`` after the gradient; whether the step or the weight was clipped.
    """

    INTERVAL = 1

    def __init__(self, config, sum_shape):
        self.config, self.sum_shape = config, sum_shape
        weight = config.arithmetic.shape("weight")
        super().__init__(
            {
                "coefficients": In(COEFFICIENTS),
                "blend": In(BLEND_FORMAT.shape),
                "gradient": In(sum_shape),
                "first": In(WIDTH),
                "second": In(WIDTH),
                "new_first": Out(WIDTH),
                "new_second": Out(WIDTH),
                "weight": In(weight),
                "target": In(weight),
                "new_weight": Out(weight),
                "new_target": Out(weight),
                "saturated": Out(1),
            }
        )

    @classmethod
    def estimate(cls, config):
        """Latency, and DSP blocks."""
        multiplies = {"sgd": 4, "rmsprop": 7, "adam": 9}[config.optimizer]
        blocks = 0 if config.optimizer == "sgd" else Float32Rsqrt.DSP + Float32Reciprocal.DSP
        if config.arithmetic.is_float:
            multiplies += 2
        else:
            blocks += 2
        return Estimate(
            latency=timing(config).latency,
            interval=cls.INTERVAL,
            dsp=multiplies * Float32Multiply.DSP + blocks,
        )

    def elaborate(self, platform):
        m = Module()
        arithmetic, coefficients = self.config.arithmetic, self.coefficients
        gradient = self.gradient
        if not arithmetic.is_float:
            fraction = arithmetic.fraction("activation", "gradient")
            gradient = to_float(m, gradient, fraction, name="converted")
        g = self._multiply(m, coefficients.scale, gradient, "scaled")
        u = self._moments(m, g)
        move = self._multiply(m, coefficients.rate, u, "move")
        if arithmetic.is_float:
            self._move_float(m, move)
        else:
            self._move_fixed(m, move)
        return m

    def _multiply(self, m, a, b, name):
        return _FLOAT.multiply(m, a, b, name=name)

    def _add(self, m, a, b, name):
        return _FLOAT.add(m, a, b, name=name)

    def _unit(self, m, cls, x, name):
        m.submodules[name] = unit = SharedModule(cls)
        result = Signal(unit.o.p.result.shape(), name=f"{name}_result")
        m.d.comb += [
            unit.i.p.x.eq(x),
            unit.i.valid.eq(1),
            unit.o.ready.eq(1),
            result.eq(unit.o.p.result),
        ]
        return result

    def _decayed(self, m, kind, old, addend, clocks):
        """``decay * old + gain * addend``; ``addend`` is there ``clocks`` after ``old`` came."""
        coefficients = self.coefficients
        kept = self._multiply(m, coefficients[f"{kind}_decay"], old, f"{kind}_kept")
        kept = delay(m, kept, clocks, name=f"{kind}_kept")
        gained = self._multiply(m, coefficients[f"{kind}_gain"], addend, f"{kind}_gained")
        return self._add(m, kept, gained, f"{kind}_moment")

    def _moments(self, m, g):
        """``u`` of a scaled gradient."""
        config = self.config
        at = timing(config)
        scaled = at.weights - (0 if config.arithmetic.is_float else Quantize.LATENCY)
        u_clock = scaled - _MULTIPLY
        g_clock = _MULTIPLY + (0 if config.arithmetic.is_float else ToFloat.LATENCY)
        first, clock = g, g_clock
        if config.optimizer != "rmsprop":
            first = self._decayed(m, "first", self.first, g, g_clock)
            clock += _MULTIPLY + _ADD
            first = delay(m, first, at.moments - clock, name="first")
            clock = at.moments
            m.d.comb += self.new_first.eq(first)
        if config.optimizer == "sgd":
            return first

        square = self._multiply(m, g, g, "square")
        second = self._decayed(m, "second", self.second, square, g_clock + _MULTIPLY)
        m.d.comb += self.new_second.eq(second)

        inverse = self._unit(m, Float32Rsqrt, second, "rsqrt")
        later = delay(m, second, Float32Rsqrt.LATENCY, name="second")
        product = self._multiply(m, later, inverse, "root")
        # Zero times infinity is not a number, but the root of zero is zero.
        zero = Signal()
        m.d.comb += zero.eq(decode(m, later, name="later").zero)
        zero = delay(m, zero, _MULTIPLY, name="zero")
        root = Mux(zero, 0, product)
        divisor = self._add(m, root, self.coefficients.floor, "divisor")
        quotient = self._unit(m, Float32Reciprocal, divisor, "reciprocal")
        first = delay(m, first, u_clock - _MULTIPLY - clock, name="moment")
        return self._multiply(m, first, quotient, "u")

    def _move_float(self, m, move):
        coefficients = self.coefficients
        negative = Signal(WIDTH)
        m.d.comb += negative.eq(Cat(move[:-1], ~move[-1]))
        weight = self._add(m, self.weight, negative, "moved")
        blended = self._multiply(m, coefficients.blend, weight, "blended")
        kept = self._multiply(m, coefficients.keep, self.target, "kept")
        target = self._add(m, delay(m, kept, _ADD, name="kept"), blended, "mixed")
        m.d.comb += [
            self.new_weight.eq(delay(m, weight, _MULTIPLY + _ADD, name="weight")),
            self.new_target.eq(target),
        ]

    def _move_fixed(self, m, move):
        target_format = self.config.arithmetic.weight
        moved, clipped = quantize(m, move, target_format, name="quantized")
        s1_moved = Signal(signed(target_format.width + 1), reset_less=True)
        s1_clipped = Signal(reset_less=True)
        s2_weight = Signal(target_format.shape, reset_less=True)
        s2_clipped = Signal(reset_less=True)
        under, over = s1_moved < target_format.low, s1_moved > target_format.high

        # A blend of 1, the one with its top bit set, is a copy: a DSP block has no room for it.
        copy, part = self.blend[BLEND_FORMAT.fraction], self.blend[: BLEND_FORMAT.fraction]
        s2_target = delay(m, self.target, FIXED_WEIGHT, name="target")
        # At least a limb and the sign, of which narrow weights leave some bits without use.
        distance_width = max(target_format.width + 1, B_LIMB + 1)
        s3_distance = Signal(signed(distance_width), reset_less=True)
        s4_low = Signal(B_LIMB + len(part), reset_less=True)
        s4_high = Signal(signed(len(s3_distance) - B_LIMB + len(part)), reset_less=True)
        s5_product = Signal(signed(len(s3_distance) + len(part)), reset_less=True)
        s5_target = delay(m, s2_target, 3, name="s2_target")
        s5_weight = delay(m, s2_weight, 3, name="s2_weight")
        s6_target = Signal(target_format.shape, reset_less=True)
        half = 1 << (BLEND_FORMAT.fraction - 1)
        mixed = s5_target + ((s5_product + half) >> BLEND_FORMAT.fraction)
        m.d.sync += [
            s1_moved.eq(self.weight - moved),
            s1_clipped.eq(clipped),
            s2_weight.eq(Mux(under, target_format.low, Mux(over, target_format.high, s1_moved))),
            s2_clipped.eq(s1_clipped | under | over),
            s3_distance.eq(s2_weight - s2_target),
            s4_low.eq(s3_distance[:B_LIMB] * part),
            s4_high.eq(s3_distance[B_LIMB:].as_signed() * part),
            s5_product.eq(s4_low + (s4_high << B_LIMB)),
            s6_target.eq(Mux(copy, s5_weight, mixed)),
        ]
        m.d.comb += [
            self.new_weight.eq(delay(m, s5_weight, 1, name="s5_weight")),
            self.new_target.eq(s6_target),
            self.saturated.eq(delay(m, s2_clipped, FIXED_TARGET, name="s2_clipped")),
        ]

"""One optimizer in fixed arithmetic: a parameter a clock, free-running.

    first'  = first - (1 - first_decay) * first + first_gain * scale * gradient     (not rmsprop)
    second' = second - (1 - second_decay) * second + second_gain * (scale * gradient)**2 (not sgd)
    u       = first' * (1 / (sqrt(second') + floor))                (sgd: u = first')
    weight' = clip(weight - rate * u)
    target' = target + blend * (weight' - target)

rmsprop has ``scale * gradient`` in place of first'. Every number has a mantissa and an exponent:
the gradient's mantissa has 24 bits, moments are binary32 words, products are cut to 26 to 30 bits.
The step is rounded half away from zero; weight and target have the weight's format. The error of a
step, given its moments, is at most 2^-15 of the step plus half a unit of the weight. For the errors
of moments see ``FixedMoment``; in addition, the relative error of what the first moment gains is at
most 2^-17, and of what the second moment gains at most 2^-15.4. A step beyond all weights clips,
whatever its exponent is. A gradient's square has a relative error of at most 2^-15, and is then
rounded down to a multiple of 2^-32.

Source: CF'22 3.2 (WU); Kingma, Ba: Adam, algorithm 1.
"""

from amaranth import *
from amaranth.lib import wiring

from hw.arith.float32.format import PRECISION
from hw.arith.multiply import B_LIMB
from hw.errors import UsageError
from hw.nn.fixed_coefficients import FIXED_COEFFICIENTS, FixedCoefficients
from hw.nn.fixed_divisor import FixedDivisor
from hw.nn.fixed_moment import SUM_WIDTH, FixedMoment
from hw.nn.fixed_step import FixedStep
from hw.nn.normalise import normalise
from hw.nn.optimizer_config import Timing, optimizer_ports
from hw.stream.delay import delay

__all__ = ["SQUARE_FRACTION", "FixedOptimizer"]

#: Steps of the shift that normalises a gradient, and the clock in which the mantissa is there.
_STEPS = (16, 4, 1)
_GRADIENT = len(_STEPS)
#: Upper bits of the mantissa's square that are kept.
_SQUARE = 26
#: Fraction bits of a gradient's square.
SQUARE_FRACTION = 32


class FixedOptimizer(wiring.Component):
    """New moments, weight and target by the formulas above, one parameter a clock, without
    back-pressure.

    Parameters
    ----------
    config : OptimizerConfig
    sum_shape : Shape
        Shape of a gradient, at most 48 bits.
    squares : bool
        Whether the optimizer has the port ``square``.

    Members
    -------
    coefficients : In(FIXED_COEFFICIENTS)
        Steady while parameters pass.
    gradient : In(sum_shape)
        Sum over the batch.
    first, second : In(32)
        Old moments, words of ``FixedMoment``, in the clock of the gradient; ignored if the
        optimizer does not have the moment.
    new_first, new_second : Out(32)
        New moments, ``timing.moments`` clocks after the gradient; 0 if the optimizer does not have
        the moment.
    weight, target : In
        Old weight and old target weight, ``timing.weights`` clocks after the gradient.
    new_weight, new_target : Out
        New weight and new target weight, ``timing.latency`` clocks after the gradient.
    square : Out
        ``gradient**2`` with ``SQUARE_FRACTION`` fraction bits, ``timing.moments`` clocks after the
        gradient; only with ``squares``.
    saturated : Out(1)
        In the clock of ``new_weight``: it was clipped.
    """

    INTERVAL = 1
    #: Name of the arithmetic in a saved state; its moments can only be continued in the same one.
    NAME = "fixed point with exponents"
    COEFFICIENTS = FIXED_COEFFICIENTS
    LEAST_DECAYS = {"first_decay": 0, "second_decay": 0.5}
    CONVERSION = FixedCoefficients.LATENCY

    def __init__(self, config, sum_shape, squares=False):
        self.config, self.sum_shape, self.squares = config, sum_shape, squares
        if sum_shape.width - 1 >= 16 * 3:
            raise UsageError(f"sum_shape must have at most 48 bits, not {sum_shape.width!r}")
        square = self.square_shape(config.arithmetic, sum_shape) if squares else None
        super().__init__(optimizer_ports(config, FIXED_COEFFICIENTS, sum_shape, square))

    @staticmethod
    def square_shape(arithmetic, sum_shape):
        """Shape of the square of a gradient."""
        largest = Shape.cast(sum_shape).width - 1
        return unsigned(2 * (largest - arithmetic.gradient_sum_fraction) + SQUARE_FRACTION)

    @staticmethod
    def convert(m, config, sum_shape, coefficients, *, name):
        """Adds a ``FixedCoefficients`` to ``m`` under ``name``; returns its output, which is
        ``coefficients`` as FIXED_COEFFICIENTS, ``FixedCoefficients.LATENCY`` clocks later."""
        m.submodules[name] = unit = FixedCoefficients(config, sum_shape)
        m.d.comb += unit.i.eq(coefficients)
        return unit.o

    @staticmethod
    def timing(config):
        """``Timing`` of an optimizer of ``config``."""
        first, second = FixedMoment.SIGNED[1], FixedMoment.UNSIGNED[1]
        if config.optimizer == "sgd":
            moments, step = first, first + 1
        else:
            moments = max(first, second) if config.optimizer == "adam" else second
            step = second + FixedDivisor.LATENCY + 1
        return Timing(moments, step + FixedStep.WEIGHTS, step + FixedStep.LATENCY)

    def elaborate(self, platform):
        m = Module()
        c, optimizer = self.coefficients, self.config.optimizer
        mantissa, shift, negative, zero = self._gradient(m)
        gained = self._multiply(m, mantissa, c.first_gain, "gained")
        if optimizer == "rmsprop":
            exponent = Signal(signed(10), reset_less=True)
            m.d.sync += exponent.eq(c.first_origin - shift)
            moment, clock = gained[-26:], _GRADIENT + 1
        else:
            first = self._first(m, gained, shift, negative, zero)
            moment = Cat(first[: PRECISION - 1], first[PRECISION - 1 : -1].any())
            exponent, negative = first[PRECISION - 1 : -1], first[-1]
            clock = FixedMoment.SIGNED[1]
        rated = self._multiply(m, moment, c.rate, "rated")
        left = Signal(signed(10), reset_less=True)
        m.d.sync += left.eq(exponent + c.rate_origin)
        if optimizer == "rmsprop":
            negative = delay(m, negative, clock - _GRADIENT, name="negative")
        clock += 1

        m.submodules.step = step = FixedStep(self.config.arithmetic.weight)
        at = self.timing(self.config).weights - FixedStep.WEIGHTS
        m.d.comb += step.negative.eq(delay(m, negative, at - clock + 1, name="step_negative"))
        if optimizer == "sgd":
            m.d.comb += [step.step.eq(rated[-step.width :]), step.right.eq(-left)]
            if self.squares:
                self._square(m, mantissa, shift)
        else:
            divisor = self._second(m, mantissa, shift, zero)
            rated = delay(m, rated[-26:], at - 1 - clock, name="rated")
            left = delay(m, left, at - 1 - clock, name="left")
            quotient = self._multiply(m, rated, divisor.reciprocal, "quotient")
            right = Signal(signed(10), reset_less=True)
            m.d.sync += right.eq(divisor.exponent - left)
            m.d.comb += [step.step.eq(quotient[-step.width :]), step.right.eq(right)]
        m.d.comb += [
            step.weight.eq(self.weight),
            step.target.eq(self.target),
            step.blend.eq(c.blend),
            self.new_weight.eq(step.new_weight),
            self.new_target.eq(step.new_target),
            self.saturated.eq(step.saturated),
        ]
        return m

    def _multiply(self, m, a, b, name):
        product = Signal(len(a) + len(b), name=name, reset_less=True)
        m.d.sync += product.eq(a * b)
        return product

    def _gradient(self, m):
        """Mantissa, shift, sign, and whether the gradient is zero; all in clock ``_GRADIENT``."""
        negative = self.gradient[-1]
        magnitude = self.gradient[:-1] ^ negative.replicate(len(self.gradient) - 1)
        mantissa, shift = normalise(
            m, magnitude, negative, steps=_STEPS, width=PRECISION, name="gradient"
        )
        return (
            mantissa,
            delay(m, shift, 1, name="shift"),
            delay(m, negative, _GRADIENT, name="gradient_negative"),
            ~mantissa[-1],
        )

    def _first(self, m, gained, shift, negative, zero):
        c = self.coefficients
        m.submodules.first_moment = moment = FixedMoment(True)
        m.d.comb += [
            moment.word.eq(self.first),
            moment.kept.eq(c.first_kept),
            moment.loss.eq(c.first_loss),
            moment.shift.eq(shift),
            moment.origin.eq(c.first_origin),
            moment.gained.eq(gained[-SUM_WIDTH:]),
            moment.negative.eq(delay(m, negative, 1, name="gained_negative")),
            moment.nothing.eq(delay(m, zero | ~c.first_gain[-1], 1, name="first_zero")),
            self.new_first.eq(moment.new),
        ]
        return moment.new

    def _square(self, m, mantissa, shift):
        """The upper bits of the mantissa's square, a clock later. ``square`` is these down by twice
        the shift, in three more clocks."""
        square = self._multiply(m, mantissa, mantissa[-B_LIMB:], "square")[-_SQUARE:]
        if not self.squares:
            return square
        late = self.timing(self.config).moments - _GRADIENT - 1 - len(_STEPS)
        value = delay(m, square, late, name="late_square")
        shift = delay(m, shift, 1 + late, name="square_shift")
        value = Cat(Const(0, len(self.square) - _SQUARE), value)
        for place, step in enumerate(_STEPS):
            at = step.bit_length() - 1
            digit = delay(m, shift[at : at + 2], place, name=f"square_digit_{place}")
            lower = Signal(len(value), name=f"square_{place}", reset_less=True)
            m.d.sync += lower.eq(value >> Cat(Const(0, 1 + at), digit))
            value = lower
        m.d.comb += self.square.eq(value)
        return square

    def _second(self, m, mantissa, shift, zero):
        """The ``FixedDivisor`` of the new moment."""
        c = self.coefficients
        m.submodules.second_moment = moment = FixedMoment(False)
        m.submodules.divisor = divisor = FixedDivisor()
        square = self._square(m, mantissa, shift)
        gained = self._multiply(m, square, c.second_gain, "square_gained")
        late = self.timing(self.config).moments - moment.latency
        m.d.comb += [
            moment.word.eq(self.second),
            moment.kept.eq(c.second_kept),
            moment.loss.eq(c.second_loss),
            moment.shift.eq(delay(m, shift, 1, name="second_shift") << 1),
            moment.origin.eq(c.second_origin),
            moment.gained.eq(gained[-SUM_WIDTH:]),
            moment.nothing.eq(delay(m, zero | ~c.second_gain[-1], 2, name="second_zero")),
            divisor.second.eq(moment.new),
            divisor.floor.eq(c.floor),
            divisor.floor_exponent.eq(c.floor_exponent),
            self.new_second.eq(delay(m, moment.new, late, name="new_second")),
        ]
        return divisor

"""Converts the coefficients of a step to the form that the optimizers of fixed arithmetic need.

This is done once for all parameters of a network. The optimizers multiply by mantissas of 17 bits,
and need no ``scale``, since the gains include it.
"""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.arith.binary32 import Binary32
from hw.arith.fixed import SQ
from hw.arith.float32.format import BIAS, PRECISION
from hw.arith.float32.multiply import Float32Multiply
from hw.arith.multiply import B_LIMB
from hw.arith.quantize import Quantize, quantize
from hw.nn.fixed_step import step_width
from hw.nn.optimizer_config import BLEND_FORMAT, COEFFICIENTS

__all__ = ["FIXED_COEFFICIENTS", "FLOOR_WIDTH", "LARGEST_EXPONENT", "FixedCoefficients", "origins"]

#: Bits of the floor's mantissa.
FLOOR_WIDTH = 20

#: Largest biased exponent of what a gain adds to a moment. It keeps moments in the range of
#: binary32: a moment grows no more when the addend is below half a unit of its last place.
LARGEST_EXPONENT = 228

_EXPONENT = signed(10)

#: Mantissas (gains, rate, floor) have a leading one, or are zero. ``*_origin``: see ``origins``.
#: ``*_loss``: 1 - decay, with 24 fraction bits, as many as a decay of 1/2 has in binary32.
#: ``*_kept``: 0 if decay counts as 0. ``blend``: in ``BLEND_FORMAT``.
FIXED_COEFFICIENTS = data.StructLayout(
    {
        "first_gain": B_LIMB,
        "first_origin": _EXPONENT,
        "first_loss": PRECISION,
        "first_kept": 1,
        "second_gain": B_LIMB,
        "second_origin": _EXPONENT,
        "second_loss": PRECISION,
        "second_kept": 1,
        "rate": B_LIMB,
        "rate_origin": _EXPONENT,
        "floor": FLOOR_WIDTH,
        "floor_exponent": 8,
        "blend": BLEND_FORMAT.shape,
    }
)


def origins(config, sum_shape):
    """``{coefficient: int}`` for "first_gain", "second_gain" and "rate": the number that is added
    to the biased exponent of the coefficient. The sum is the coefficient's origin.

    The origin of a gain is the biased exponent of its product with the largest gradient (for the
    second gain, with the square of this gradient), at most ``LARGEST_EXPONENT``. The origin of the
    rate, plus the exponent of the moment, less that of the divisor, is the number of places by
    which the step moves to the left.

    config : OptimizerConfig, or another with optimizer and arithmetic
    sum_shape : Shape of a gradient, which is a sum over the batch
    """
    fraction = config.arithmetic.gradient_sum_fraction
    largest = Shape.cast(sum_shape).width - 1
    point = 252 if config.optimizer == "sgd" else 125
    point += step_width(config.arithmetic.weight)
    return {
        "first_gain": largest - fraction,
        "second_gain": 2 * (largest - fraction),
        "rate": config.arithmetic.weight.fraction - point,
    }


class FixedCoefficients(wiring.Component):
    """Converts ``COEFFICIENTS`` that have been steady for ``LATENCY`` clocks to
    ``FIXED_COEFFICIENTS``.

    Gains become ``scale * first_gain`` (rmsprop: ``scale``) and ``scale**2 * second_gain``, each
    product rounded to binary32. Gains and rate are then rounded to 17 bits, the floor to 20 bits,
    half up; a floor below 2^-126 counts as 2^-126. A decay of more than 1 counts as 1, a second
    decay below 1/2 as 0. ``blend`` is rounded half up, and more than 1 counts as 1.

    Parameters
    ----------
    config : OptimizerConfig
    sum_shape : Shape
        Shape of a gradient, which is a sum over the batch.

    Members
    -------
    i : In(COEFFICIENTS)
        The binary32 coefficients. None may be negative or a NaN; infinity counts as 2^128.
    o : Out(FIXED_COEFFICIENTS)
        The converted coefficients: mantissas, origins (``origins``), losses (1 - decay) and blend.
        Fields of a moment that the optimizer lacks are 0, but for rmsprop's first gain.
    """

    LATENCY = 2 * Float32Multiply.LATENCY + 1

    def __init__(self, config, sum_shape):
        self.config, self.sum_shape = config, sum_shape
        super().__init__({"i": In(COEFFICIENTS), "o": Out(FIXED_COEFFICIENTS)})

    def elaborate(self, platform):
        m = Module()
        given, result = self.i, self.o
        optimizer, added = self.config.optimizer, origins(self.config, self.sum_shape)

        def multiply(a, b, name):
            return Binary32().multiply(m, a, b, name=name)

        def decay(name, least):
            """1 - decay, and whether decay is not 0."""
            one = 1 << PRECISION
            raw, _ = quantize(m, given[f"{name}_decay"], SQ(2, PRECISION), name=f"{name}_raw")
            kept = (raw >= least) & (raw > 0)
            loss = Mux(raw > one, 0, one - raw)
            m.d.sync += [result[f"{name}_loss"].eq(loss), result[f"{name}_kept"].eq(kept)]

        def mantissa(word, width):
            """Mantissa with its leading one, rounded half up to ``width`` bits, and biased exponent
            of the magnitude of a binary32 ``word``; both are 0 if, so rounded, it is still below
            2^-126."""
            drop = PRECISION - width
            rounded = Signal(32 - drop, name="rounded")
            m.d.comb += rounded.eq((word[:31] + (1 << (drop - 1))) >> drop)
            exponent = rounded[width - 1 :]
            value = Cat(rounded[: width - 1], C(1, 1))
            return Mux(exponent.any(), value, 0), exponent

        words = {"rate": given.rate}
        if optimizer == "rmsprop":
            words["first_gain"] = given.scale
        else:
            words["first_gain"] = multiply(given.scale, given.first_gain, "first_scaled")
            decay("first", 0)
        if optimizer != "sgd":
            square = multiply(given.scale, given.scale, "square")
            words["second_gain"] = multiply(square, given.second_gain, "second_scaled")
            decay("second", 1 << (PRECISION - 1))
        for name, word in words.items():
            value, exponent = mantissa(word, B_LIMB)
            if name != "rate":
                limit = LARGEST_EXPONENT - added[name]
                exponent = Mux(exponent > limit, limit, exponent)
            origin = name.removesuffix("_gain")
            m.d.sync += [
                result[name].eq(value),
                result[f"{origin}_origin"].eq(exponent + added[name]),
            ]
        value, exponent = mantissa(given.floor, FLOOR_WIDTH)
        least = ~exponent.any()
        m.d.sync += [
            result.floor.eq(Mux(least, 1 << (FLOOR_WIDTH - 1), value)),
            result.floor_exponent.eq(Mux(least, 1, exponent)),
        ]
        blend, _ = quantize(m, given.blend, SQ(2, BLEND_FORMAT.fraction), name="blend_raw")
        one = 1 << BLEND_FORMAT.fraction
        m.d.sync += result.blend.eq(Mux(blend > one, one, blend))
        return m


assert FixedCoefficients.LATENCY > Quantize.LATENCY and BIAS == 127

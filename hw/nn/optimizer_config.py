"""What an optimizer is given, and when its numbers come and go; formulas in ``hw.nn.optimizer``."""

from dataclasses import dataclass
from typing import NamedTuple

from amaranth import *
from amaranth.lib import data

from hw.arith.arithmetic import Arithmetic
from hw.arith.fixed import SQ, UQ
from hw.arith.float32.add import Float32Add
from hw.arith.float32.format import WIDTH
from hw.arith.float32.multiply import Float32Multiply
from hw.arith.float32.reciprocal import Float32Reciprocal
from hw.arith.float32.rsqrt import Float32Rsqrt
from hw.arith.quantize import Quantize, quantize
from hw.arith.to_float import ToFloat
from hw.config import ConfigBase

__all__ = ["BLEND_FORMAT", "COEFFICIENTS", "OPTIMIZERS", "OptimizerConfig", "Timing", "fixed_blend"]
__all__ += ["FIXED_TARGET", "FIXED_WEIGHT", "timing"]

#: Stochastic gradient descent has momentum.
OPTIMIZERS = ("sgd", "rmsprop", "adam")

#: What a step says, of one network: binary32.
COEFFICIENTS = data.StructLayout(
    dict.fromkeys(
        (
            "scale",
            "first_decay",
            "first_gain",
            "second_decay",
            "second_gain",
            "rate",
            "floor",
            "blend",
            "keep",
        ),
        WIDTH,
    )
)

#: ``blend`` in fixed point; 1 is exact, and more than 1 counts as 1.
BLEND_FORMAT = UQ(1, 17)

_MULTIPLY, _ADD = Float32Multiply.LATENCY, Float32Add.LATENCY
#: Clocks from the step in the weight's format to weight' (subtract, clip), from there to target'
#: (distance, partial products, product, sum).
FIXED_WEIGHT, FIXED_TARGET = 2, 4


@dataclass(frozen=True, kw_only=True)
class OptimizerConfig(ConfigBase):
    """``optimizer``, one of ``OPTIMIZERS``, and the ``arithmetic`` of weights and gradients."""

    optimizer: str = "adam"
    arithmetic: Arithmetic = Arithmetic()

    def __post_init__(self):
        if self.optimizer not in OPTIMIZERS:
            raise ValueError(
                f"optimizer must be one of {', '.join(OPTIMIZERS)}, not {self.optimizer!r}"
            )


class Timing(NamedTuple):
    """Clocks from a gradient: its moments leave, its weight enters, its weight leaves."""

    moments: int
    weights: int
    latency: int


def timing(config):
    """``Timing`` of an ``Optimizer(config)``."""
    fixed = not config.arithmetic.is_float
    g = _MULTIPLY + ToFloat.LATENCY * fixed
    if config.optimizer == "sgd":
        moments = u = g + _MULTIPLY + _ADD
    else:
        moments = g + 2 * _MULTIPLY + _ADD
        root = moments + Float32Rsqrt.LATENCY + _MULTIPLY
        u = root + _ADD + Float32Reciprocal.LATENCY + _MULTIPLY
    step = u + _MULTIPLY
    if fixed:
        weights = step + Quantize.LATENCY
        return Timing(moments, weights, weights + FIXED_WEIGHT + FIXED_TARGET)
    return Timing(moments, step, step + _ADD + _MULTIPLY + _ADD)


def fixed_blend(m, blend):
    """``blend``, binary32, as a number of ``BLEND_FORMAT``: half up, less than 0 is 0."""
    wide, _ = quantize(m, blend, SQ(2, BLEND_FORMAT.fraction), name="blend_raw")
    one = 1 << BLEND_FORMAT.fraction
    return Mux(wide < 0, 0, Mux(wide > one, one, wide))

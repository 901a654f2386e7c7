"""Config, coefficients, ports and timing of optimizers; the formulas are in ``hw.nn.optimizer``."""

from dataclasses import dataclass
from typing import NamedTuple

from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from hw.arith.arithmetic import Arithmetic
from hw.arith.fixed import UQ
from hw.arith.float32.format import WIDTH
from hw.config import ConfigBase
from hw.errors import UsageError

__all__ = ["BLEND_FORMAT", "COEFFICIENTS", "OPTIMIZERS", "OptimizerConfig", "Timing"]
__all__ += ["optimizer_ports"]

#: The optimizers; "sgd" is stochastic gradient descent with momentum.
OPTIMIZERS = ("sgd", "rmsprop", "adam")

#: The coefficients of a step, for one network: binary32.
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


@dataclass(frozen=True, kw_only=True)
class OptimizerConfig(ConfigBase):
    """What all optimizers of a learner have in common.

    optimizer : one of ``OPTIMIZERS``.
    arithmetic : of weights and gradients.
    """

    optimizer: str = "adam"
    arithmetic: Arithmetic = Arithmetic()

    def __post_init__(self):
        if self.optimizer not in OPTIMIZERS:
            raise UsageError(
                f"optimizer must be one of {', '.join(OPTIMIZERS)}, not {self.optimizer!r}"
            )


class Timing(NamedTuple):
    """Clocks of an optimizer, each counted from the clock in which a parameter's gradient enters.

    moments : until the parameter's new moments leave, and the square of its gradient.
    weights : until its old weight and target must enter.
    latency : until its new weight and target leave.
    """

    moments: int
    weights: int
    latency: int


def optimizer_ports(config, coefficients, sum_shape, square_shape=None):
    """``{name: In or Out}``, the members of a component that is an optimizer. The class
    ``hw.nn.optimizer.Optimizer`` describes them.

    config : OptimizerConfig
    coefficients : layout of the coefficients
    sum_shape : shape of a gradient
    square_shape : shape of its square; None: the square is no member
    """
    weight = config.arithmetic.shape("weight")
    square = {} if square_shape is None else {"square": Out(square_shape)}
    return {
        **square,
        "coefficients": In(coefficients),
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

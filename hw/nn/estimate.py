"""Resources of activation functions, and of an optimizer and its coefficients."""

from amaranth import Shape

from hw.area import area
from hw.arith import estimate as arith
from hw.arith.float32.format import WIDTH
from hw.arith.float32.multiply import Float32Multiply
from hw.estimate import times, together
from hw.nn.optimizers import optimizer_of
from hw.stream import estimate as stream

__all__ = ["activation", "coefficients", "derivative", "optimizer", "square"]


def activation(name, arithmetic):
    """``apply`` of the activation function ``name``."""
    if name == "linear":
        return times(0)
    if name == "tanh":
        return arith.tanh(arithmetic)
    # Of relu, the register's reset chooses.
    return area(f"nn.{name}", width=Shape.cast(arithmetic.shape("activation")).width)


def derivative(name, arithmetic):
    """``derive`` of the activation function ``name``."""
    if name == "linear":
        return times(0)
    if name == "tanh":
        return arith.derived_by_tanh(arithmetic)
    # The comparison, and the choice.
    return area(f"nn.{name}.derivative", width=Shape.cast(arithmetic.shape("gradient")).width)


def optimizer(config):
    """One optimizer of an OptimizerConfig."""
    kind = "fixed_optimizer" if config.arithmetic.saturates else "optimizer"
    return area(f"nn.{kind}.{config.optimizer}")


def square(config, width):
    """The square of a gradient, ``width`` bits, as an optimizer of an OptimizerConfig gives it."""
    alone = config.optimizer == "sgd"  # no other part needs the product
    if config.arithmetic.saturates:
        return area("nn.fixed_optimizer.square", width=width, alone=alone)
    late = optimizer_of(config.arithmetic).timing(config).moments - 2 * Float32Multiply.LATENCY
    product = times(alone, area("arith.float32.multiply"))
    return together([product, stream.delay(WIDTH, late)])


def coefficients(config):
    """``convert`` of the optimizers' class, for an OptimizerConfig."""
    if not config.arithmetic.saturates:
        return times(0)
    return area(f"nn.fixed_coefficients.{config.optimizer}")

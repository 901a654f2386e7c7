"""Resources of activation functions, and of an optimizer and its coefficients."""

from amaranth import Shape

from hw.area import area
from hw.arith import estimate as arith
from hw.estimate import times

__all__ = ["activation", "coefficients", "derivative", "optimizer"]


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


def coefficients(config):
    """``convert`` of the optimizers' class, for an OptimizerConfig."""
    if not config.arithmetic.saturates:
        return times(0)
    return area(f"nn.fixed_coefficients.{config.optimizer}")

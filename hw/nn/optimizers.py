"""Chooses the class of optimizers for an arithmetic.

Each class has ``timing(config)``; the layout ``COEFFICIENTS`` of its coefficients; ``convert``,
which makes these from ``optimizer_config.COEFFICIENTS`` in ``CONVERSION`` clocks; ``square_shape``,
the shape of a gradient's square; and ``LEAST_DECAYS``, the limits of the decays.
"""

from hw.nn.fixed_optimizer import FixedOptimizer
from hw.nn.optimizer import Optimizer

__all__ = ["optimizer_of"]

_OPTIMIZERS = {"float32": Optimizer, "fixed": FixedOptimizer, "dual": FixedOptimizer}


def optimizer_of(arithmetic):
    """The class of optimizers for an ``Arithmetic``."""
    return _OPTIMIZERS[arithmetic.kind]

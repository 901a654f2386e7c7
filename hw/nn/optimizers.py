"""Which optimizer an arithmetic has.

Each class has ``timing(config)`` and ``estimate(config)``, the layout ``COEFFICIENTS`` of what it
is given, ``convert``, which makes that of ``optimizer_config.COEFFICIENTS``, and ``LEAST_DECAYS``,
its rules for these.
"""

from hw.nn.fixed_optimizer import FixedOptimizer
from hw.nn.optimizer import Optimizer

__all__ = ["optimizer_of"]

_OPTIMIZERS = {"float32": Optimizer, "fixed": FixedOptimizer, "dual": FixedOptimizer}


def optimizer_of(arithmetic):
    """The class of optimizers of an ``Arithmetic``."""
    return _OPTIMIZERS[arithmetic.kind]

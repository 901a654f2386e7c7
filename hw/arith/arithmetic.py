"""The arithmetic of a tensor unit, of any kind.

``Arithmetic(kind=...)`` makes an object of the kind's class, so this module imports all classes.
"""

from hw.arith.binary32 import Binary32
from hw.arith.fixed_point import DualPrecision, FixedPoint
from hw.arith.operations import Arithmetic

__all__ = ["Arithmetic", "Binary32", "DualPrecision", "FixedPoint"]

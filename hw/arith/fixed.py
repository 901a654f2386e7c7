"""Fixed-point formats, and conversion from one to another in two registers (round, clip)."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from amaranth import *

from hw.config import ConfigBase, check_range
from hw.errors import UsageError

__all__ = ["REQUANTIZE_LATENCY", "SQ", "UQ", "FixedFormat", "requantize"]

REQUANTIZE_LATENCY = 2


@dataclass(frozen=True, kw_only=True)
class FixedFormat(ConfigBase):
    """``value = raw * 2**-fraction``; written ``SQ(i, f)`` or ``UQ(i, f)``.

    signed : whether there is a sign bit.
    integer : bits left of the point, the sign bit among them.
    fraction : bits right of the point.

    A raw value fits int64.
    """

    signed: bool
    integer: int
    fraction: int

    def __post_init__(self):
        check_range("integer", self.integer, int(self.signed), 64)
        check_range("fraction", self.fraction, 0, 64)
        limit = 64 if self.signed else 63
        if not 1 <= self.width <= limit:
            raise UsageError(f"width must be in 1..{limit} (raw is int64), not {self.width!r}")

    def __repr__(self):
        return f"{'SQ' if self.signed else 'UQ'}({self.integer}, {self.fraction})"

    @property
    def width(self):
        return self.integer + self.fraction

    @property
    def low(self):
        """Lowest raw value."""
        return -(1 << (self.width - 1)) if self.signed else 0

    @property
    def high(self):
        """Highest raw value."""
        return (1 << (self.width - self.signed)) - 1

    @property
    def resolution(self):
        return 2.0**-self.fraction

    @property
    def shape(self):
        """The Amaranth shape of a raw value."""
        return Shape(self.width, self.signed)

    def quantize(self, x):
        """``clip(floor(x * 2**fraction + 1/2), low, high)`` for float64 ``x`` of any shape.

        Returns ``(raw, saturated)``: int64 and bool of the shape of ``x``. Infinities saturate;
        ValueError names the first NaN.
        """
        x = np.asarray(x, dtype=np.float64)
        if np.isnan(x).any():
            index = ", ".join(str(axis[0]) for axis in np.nonzero(np.atleast_1d(np.isnan(x))))
            raise UsageError(f"x{f'[{index}]' if x.ndim else ''} must be a number, not nan")
        # Infinities come down to a finite value beyond every format; then each step is exact.
        scaled = np.ldexp(np.clip(x, -(2.0**200), 2.0**200), self.fraction)
        below = np.floor(scaled)
        rounded = below + (scaled - below >= 0.5)
        over = rounded >= float(self.high + 1)
        under = rounded < float(self.low)
        inside = np.where(over | under, 0.0, rounded).astype(np.int64)
        raw = np.where(over, np.int64(self.high), np.where(under, np.int64(self.low), inside))
        return raw, over | under

    def to_float(self, raw):
        """Value of ``raw`` as float64 (exact up to 53 bits)."""
        return np.ldexp(np.asarray(raw).astype(np.float64), -self.fraction)


@lru_cache(maxsize=None, typed=True)
def SQ(integer, fraction):
    """Signed format; ``integer`` counts the sign bit."""
    return FixedFormat(signed=True, integer=integer, fraction=fraction)


@lru_cache(maxsize=None, typed=True)
def UQ(integer, fraction):
    """Unsigned format."""
    return FixedFormat(signed=False, integer=integer, fraction=fraction)


def requantize(m, value, fraction, target, *, name):
    """``floor(value * 2**(target.fraction - fraction) + 1/2)``, clipped to the format ``target``.

    ``value`` is a raw number with ``fraction`` fraction bits. Returns the signals ``(result,
    saturated)``: the raw number of the ``value`` of ``REQUANTIZE_LATENCY`` clocks ago, and whether
    it was clipped. The registers are in ``m`` and begin with ``name``; a new value may come every
    clock.
    """
    shift = fraction - target.fraction
    rounded = (value + (1 << (shift - 1))) >> shift if shift > 0 else value << -shift
    s1_value = Signal(rounded.shape(), name=f"{name}_rounded", reset_less=True)
    result = Signal(target.shape, name=name, reset_less=True)
    saturated = Signal(name=f"{name}_saturated", reset_less=True)
    under, over = s1_value < target.low, s1_value > target.high
    m.d.sync += [
        s1_value.eq(rounded),
        saturated.eq(under | over),
        result.eq(Mux(under, target.low, Mux(over, target.high, s1_value))),
    ]
    return result, saturated

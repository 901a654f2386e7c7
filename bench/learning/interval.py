"""An interval for a weighted sum of means, by Welch's t: it does not assume equal deviations, and
it is as wide as few seeds require."""

import numpy as np

from hw.errors import UsageError

__all__ = ["Sample", "interval"]

#: 0.975 quantiles of Student's t for 1 to 30 degrees of freedom, for an interval of 95 %. A test
#: compares them with SciPy's, as SciPy is no dependency.
_T = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
    2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
    2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip


class Sample:
    """The statistics of ``count`` independent values with ``mean`` and standard ``deviation``.

    ``error`` is the variance of the mean, ``deviation**2 / count``; ``freedom`` is its degrees of
    freedom, ``count - 1``.
    """

    def __init__(self, mean, deviation, count):
        self.mean, self.error, self.freedom = mean, deviation**2 / count, count - 1

    @classmethod
    def of(cls, values):
        """The Sample of ``values``; ValueError if there are fewer than two."""
        if len(values) < 2:
            raise UsageError(f"values must be at least two, not {len(values)}")
        return cls(float(np.mean(values)), float(np.std(values, ddof=1)), len(values))


def interval(parts):
    """``(low, high)`` of the sum of ``weight * mean`` over ``parts``, a list of (weight, Sample):
    with 95 % confidence, two-sided.

    Degrees of freedom are those of Welch and Satterthwaite, rounded down, and at most 30, which
    makes the interval wider, never narrower.
    """
    total = sum(weight * sample.mean for weight, sample in parts)
    errors = [(weight**2 * sample.error, sample.freedom) for weight, sample in parts]
    variance = sum(error for error, _ in errors)
    if variance == 0:
        return total, total
    freedom = variance**2 / sum(error**2 / own for error, own in errors)
    half = _T[min(int(freedom + 1e-9), len(_T)) - 1] * variance**0.5
    return total - half, total + half

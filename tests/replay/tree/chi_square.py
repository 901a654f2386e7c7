"""Pearson's chi-square test, without a dependency for its distribution."""

import math

import numpy as np

__all__ = ["chi_square", "p_value"]


def p_value(statistic, freedom):
    """P(chi-square of ``freedom`` > ``statistic``), by Wilson and Hilferty (PNAS 17, 1931)."""
    variance = 2 / (9 * freedom)
    z = ((statistic / freedom) ** (1 / 3) - (1 - variance)) / math.sqrt(variance)
    return math.erfc(z / math.sqrt(2)) / 2


def chi_square(counts, expected, least=5):
    """``(statistic, freedom)`` of ``counts`` [..., cells] of draws against their expectation.

    Cells of each row that expect fewer than ``least`` draws count together; if all of them expect
    fewer, they are left out. ``freedom`` is the mean of the statistic: cells less the share of the
    draws that they hold.
    """
    counts, expected = (np.atleast_2d(a).astype(float) for a in (counts, expected))
    rare = expected < least
    draws = expected.sum(axis=1, keepdims=True)

    def cells(values):
        """The frequent cells, and one of the rest for each row."""
        rest = np.where(rare, values, 0).sum(axis=1, keepdims=True)
        return np.concatenate([np.where(rare, 0, values), rest], axis=1)

    counts, expected = cells(counts), cells(expected)
    used = expected >= least
    share = (expected / draws)[used]
    statistic = ((counts - expected)[used] ** 2 / expected[used]).sum()
    return statistic, used.sum() - share.sum()

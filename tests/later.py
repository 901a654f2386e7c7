"""Cases of a test that only the long tests run, for a quicker case sees the same bugs."""

from functools import partial
from itertools import product

import pytest

__all__ = ["crossed", "later"]

#: ``later(*values)``: in place of a case of ``pytest.mark.parametrize``.
later = partial(pytest.param, marks=pytest.mark.long)


def crossed(*axes):
    """All combinations of the values of ``axes``, as cases; quick are as few as have each value.

    An axis is a sequence, or a dict of name to value.
    """
    axes = [axis if isinstance(axis, dict) else {str(x): x for x in axis} for axis in axes]
    names = [list(axis) for axis in axes]
    quick = {tuple(each[k % len(each)] for each in names) for k in range(max(map(len, names)))}
    return [
        (pytest.param if chosen in quick else later)(
            *(axis[name] for axis, name in zip(axes, chosen, strict=True)), id="-".join(chosen)
        )
        for chosen in product(*names)
    ]

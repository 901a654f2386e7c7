"""Marks of test cases."""

import pytest

__all__ = ["long_but"]


def long_but(quick, cases):
    """``cases`` as parameters; all that are not in the list ``quick`` are long. A case is a text,
    or a tuple with a value for each parameter."""
    return [
        pytest.param(
            *(case if isinstance(case, tuple) else (case,)),
            marks=[pytest.mark.long] * (case not in quick),
        )
        for case in cases
    ]

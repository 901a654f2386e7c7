"""Finds comparisons with a limit in the generators whose result the type of the value decides."""

import sys
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

from amaranth.hdl import Const
from amaranth.hdl._ast import Operator

import hw

__all__ = ["decided_comparisons"]

_HW = str(Path(hw.__file__).parent)
_SWAPPED = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}


@contextmanager
def decided_comparisons():
    """Yields the list of what hw compares inside by ``<``, ``<=``, ``>`` or ``>=`` with a constant
    although the result is the same for every value of the type, each as ``file:line: x > 255``.

    Values of no bits do not count: an index among one is compared like any. Comparisons of tests
    do not count either.
    """
    found, init = [], Operator.__init__

    def recorded(self, operator, operands, **options):
        init(self, operator, operands, **options)
        if operator in _SWAPPED and (limit := _decided(operator, *self.operands)) is not None:
            frame = sys._getframe(1)
            while frame is not None and not frame.f_code.co_filename.startswith(_HW):
                frame = frame.f_back
            if frame is not None:
                place = f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"
                found.append(f"{place}: x {operator} {limit}")

    with patch.object(Operator, "__init__", recorded):
        yield found


def _decided(operator, a, b):
    """The constant with which a value is compared, if the value's type decides the result, or
    None."""
    if isinstance(a, Const):
        a, b, operator = b, a, _SWAPPED[operator]
    shape = a.shape()
    if isinstance(a, Const) or not isinstance(b, Const) or not shape.width:
        return None
    half = 1 << shape.width - 1
    least, most = (-half, half - 1) if shape.signed else (0, 2 * half - 1)
    limit = b.value
    decided = {
        "<": limit <= least or limit > most,
        ">": limit < least or limit >= most,
        "<=": limit < least or limit >= most,
        ">=": limit <= least or limit > most,
    }[operator]
    return limit if decided else None

"""What a kernel is made of, and what its estimate adds up: units, counted by their classes."""

import importlib
import pkgutil
import re
from collections import Counter
from contextlib import ExitStack
from dataclasses import replace
from unittest import mock

from amaranth.hdl import Fragment
from amaranth.lib.wiring import Component

import hw
import hw.area
from hw.arith.float32.add import Float32Add
from hw.arith.float32.multiply import Float32Multiply
from hw.arith.float32.reciprocal import Float32Reciprocal
from hw.arith.power import Power
from hw.arith.tanh import Tanh, TanhFixed
from hw.nn.batch_sum import BatchSum
from hw.nn.optimizer import Optimizer
from hw.replay.priority import PriorityUnit
from hw.shared import SHARED, SharedModule
from hw.shell.width_conversion import NarrowRead, NarrowWrite

__all__ = ["Estimated", "elaborated", "rows_of"]

#: Units whose row of ``area.json`` is not called by their folder and class, in snake case.
_ROWS = {
    Float32Add: "arith.float32.add",
    Float32Multiply: "arith.float32.multiply",
    Float32Reciprocal: "arith.float32.reciprocal",
    Tanh: "arith.tanh.float32",
    TanhFixed: "arith.tanh.fixed",
    NarrowRead: "shell.upsizer",
    NarrowWrite: "shell.downsizer",
}
#: Units whose row has all that is inside them.
_WHOLE = PriorityUnit, Power, BatchSum, Optimizer


def rows_of(unit):
    """The list of rows of ``area.json`` for a class: its own, or one of several."""
    folder = unit.__module__.removeprefix("hw.").rpartition(".")[0]
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", unit.__name__).lower()
    row = _ROWS.get(unit, f"{folder}.{words}")
    rows = hw.area._ROWS
    return [row] if row in rows else [name for name in rows if name.startswith(f"{row}.")]


def elaborated(kernel):
    """The list of the components in ``kernel``, a shared one as often as it is instantiated."""
    shared = {}

    def inside(fragment):
        for part, *_ in fragment.subfragments:
            unit = part.origins[0] if part.origins else None
            if isinstance(unit, SharedModule):
                if unit.name not in shared:
                    whole = SHARED[unit.name]
                    shared[unit.name] = [whole, *inside(Fragment.get(whole, None))]
                yield from shared[unit.name]
            else:
                if isinstance(unit, Component):
                    yield unit
                if not isinstance(unit, _WHOLE):
                    yield from inside(part)

    return list(inside(Fragment.get(kernel, None)))


#: Bits of one class's count in the registers of a marked estimate.
_COUNT = 40


class Estimated:
    """A context manager, in which each unit's row, or its ``estimate``, has a mark of its class
    besides its registers, so that a kernel's estimate tells how many units of the class it adds up.

    Parameters
    ----------
    classes : sequence of type
        Components that have ``rows_of`` or an ``estimate``.
    """

    def __init__(self, classes):
        self._classes, self._stack = list(classes), ExitStack()

    def __enter__(self):
        _forget()
        self._stack.callback(_forget)
        for number, unit in enumerate(self._classes, 1):
            mark = 1 << _COUNT * number
            if rows := rows_of(unit):
                marked = {row: _marked_row(*hw.area._ROWS[row], mark) for row in rows}
                self._stack.enter_context(mock.patch.dict(hw.area._ROWS, marked))
            else:
                marked = staticmethod(_marked(unit.estimate, mark))
                self._stack.enter_context(mock.patch.object(unit, "estimate", marked))
        return self

    def __exit__(self, *_):
        self._stack.close()

    def count(self, estimate):
        """``Counter`` of the classes in the Estimate ``estimate``."""
        marks = estimate.ff >> _COUNT
        return Counter(
            {
                unit: marks >> _COUNT * number & (1 << _COUNT) - 1
                for number, unit in enumerate(self._classes)
            }
        )


def _marked(function, mark):
    def estimate(*arguments, **options):
        found = function(*arguments, **options)
        return replace(found, ff=(found.ff or 0) + mark)

    return estimate


def _marked_row(names, families, mark):
    functions = list(families["xcup"])
    constant, parts, denominator = functions[1]
    functions[1] = constant + mark * denominator, parts, denominator
    return names, families | {"xcup": functions}


def _forget():
    """Empties the caches of all estimates in ``hw``."""
    for module in pkgutil.walk_packages(hw.__path__, "hw."):
        members = vars(importlib.import_module(module.name))
        for name, value in members.items():
            if re.search("estimate|area", f"{module.name} {name}") and hasattr(
                value, "cache_clear"
            ):
                value.cache_clear()
            if hasattr(getattr(value, "estimate", None), "cache_clear"):
                value.estimate.cache_clear()

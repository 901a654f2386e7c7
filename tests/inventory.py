"""What a kernel is made of, and what its estimate adds up: units, counted by their classes."""

import importlib
import pkgutil
from collections import Counter
from contextlib import ExitStack
from dataclasses import replace
from unittest import mock

from amaranth.hdl import Fragment
from amaranth.lib.wiring import Component

import hw
from hw.shared import SHARED, SharedModule
from hw.shell import estimate as shell
from hw.shell.burst import BurstSplitter
from hw.shell.control import Control
from hw.shell.dispatcher import Dispatcher
from hw.shell.interconnect import ReadInterconnect, WriteInterconnect
from hw.shell.read_engine import ReadEngine
from hw.shell.sequencer import Sequencer
from hw.shell.stripes import StripedRead, StripedWrite
from hw.shell.width_conversion import NarrowRead, NarrowWrite
from hw.shell.write_engine import WriteEngine

__all__ = ["SHELL", "Estimated", "elaborated"]

#: Units whose resources a function of ``hw.shell.estimate`` gives.
SHELL = {
    Control: "control",
    Sequencer: "sequencer",
    Dispatcher: "dispatcher",
    BurstSplitter: "splitter",
    ReadEngine: "read_engine",
    WriteEngine: "write_engine",
    ReadInterconnect: "read_interconnect",
    WriteInterconnect: "write_interconnect",
    StripedRead: "striped_read",
    StripedWrite: "striped_write",
    NarrowRead: "upsizer",
    NarrowWrite: "downsizer",
}


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
                yield from inside(part)

    return list(inside(Fragment.get(kernel, None)))


#: Bits of one class's count in the registers of a marked estimate.
_COUNT = 40


class Estimated:
    """A context manager, in which each unit's ``estimate`` has a mark of its class besides its
    registers, so that a kernel's estimate tells how many units of the class it adds up.

    Parameters
    ----------
    classes : sequence of type
        Components that have an ``estimate``, or are in ``SHELL``.
    """

    def __init__(self, classes):
        self._classes, self._stack = list(classes), ExitStack()

    def __enter__(self):
        _forget()
        self._stack.callback(_forget)
        for number, unit in enumerate(self._classes, 1):
            owner, name = (shell, SHELL[unit]) if unit in SHELL else (unit, "estimate")
            marked = _marked(getattr(owner, name), 1 << _COUNT * number)
            if unit not in SHELL:
                marked = staticmethod(marked)
            self._stack.enter_context(mock.patch.object(owner, name, marked))
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


def _forget():
    """Empties the caches of all estimates in ``hw``."""
    for module in pkgutil.walk_packages(hw.__path__, "hw."):
        members = vars(importlib.import_module(module.name))
        for name, value in members.items():
            if "estimate" in f"{module.name} {name}" and hasattr(value, "cache_clear"):
                value.cache_clear()
            if hasattr(getattr(value, "estimate", None), "cache_clear"):
                value.estimate.cache_clear()

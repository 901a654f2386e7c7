"""How long each primitive takes on each device: PEARL's Primitive Device Assignment Matrix.

``times.csv`` has a line for each device and placement, with microseconds an iteration::

    device,placed,sample_us,insert_us,update_us,learn_us,source
    cpu0,apart,26,1.1,3,540,given
    cpu0,both,280,0.2,3,540,given

``apart`` has the matrix' first two columns, where the replay manager or the learner is alone on the
device; ``both`` is the third, where they share it. An empty cell is a primitive that the device
does not have. Source: PEARL, section VI-A, Table I.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

from host.compose.csv_rows import TEXT, known, read_rows
from host.compose.machine import Machine
from host.rules import NOT_NEGATIVE, POSITIVE, Choice, check_choice, check_fields
from hw.errors import UsageError

__all__ = ["APART", "BOTH", "Times", "Timing"]

APART, BOTH = "apart", "both"


@dataclass(frozen=True, kw_only=True)
class Timing:
    """A row of the matrix: microseconds an iteration of the primitives on a device.

    device : name of the device.
    placed : ``apart`` or ``both``.
    sample_us, insert_us, update_us : of the replay manager: drawing a batch, inserting experiences,
        updating the batch's priorities.
    learn_us : of the learner: a gradient step.
    source : where the numbers come from.
    """

    device: Annotated[str, TEXT]
    placed: Annotated[str, Choice((APART, BOTH))]
    sample_us: Annotated[float | None, POSITIVE] = None
    insert_us: Annotated[float | None, NOT_NEGATIVE] = None
    update_us: Annotated[float | None, NOT_NEGATIVE] = None
    learn_us: Annotated[float | None, POSITIVE] = None
    source: Annotated[str, TEXT]

    def __post_init__(self):
        check_fields(self)

    def known(self, name):
        """The value of field ``name``; UsageError if it is None."""
        return known(self, name, f"{self.device} {self.placed}")


@dataclass(frozen=True, kw_only=True)
class Times:
    """The matrix: ``rows``, a tuple of Timing, one for a device and placement at most, of devices
    of ``machine``. UsageError otherwise."""

    machine: Machine
    rows: tuple

    def __post_init__(self):
        for k, row in enumerate(self.rows):
            _check(row, self.rows[:k], self.machine.names)

    @classmethod
    def read(cls, path, machine):
        """The matrix in the CSV file at ``path``, for the Machine ``machine``. UsageError, with
        file and line, for whatever is wrong."""
        rows = read_rows(path, Timing, lambda row, before: _check(row, before, machine.names))
        return cls(machine=machine, rows=rows)

    @cached_property
    def _by_place(self):
        return {(row.device, row.placed): row for row in self.rows}

    def row(self, device, placed):
        """The Timing of the device called ``device``; UsageError if there is none."""
        if (device, placed) not in self._by_place:
            raise UsageError(f"times must have a line for {device} {placed}, not be without")
        return self._by_place[device, placed]


def _check(row, before, names):
    check_choice("device", row.device, names)
    if (row.device, row.placed) in [(each.device, each.placed) for each in before]:
        raise UsageError(f"times must have {row.device} {row.placed} once, not twice")

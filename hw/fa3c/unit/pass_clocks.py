"""Clocks of passes, computed sweep by sweep from the table of passes; they equal those of the RTL.

A sweep begins when the sweep before it is over, its line and its rows are there and, if it ends
sums, a half of the output line is free. Each of these clocks follows from earlier ones, so neither
data nor a simulation is needed. Where nothing is said of memory, parameters and maps are loaded
before.
"""

from functools import cache
from itertools import chain, product
from typing import NamedTuple

from hw.fa3c.pass_types import Kind, Source
from hw.fa3c.rows import ROW
from hw.fa3c.unit.pass_walk import PassWalk
from hw.timing import Repeats

__all__ = ["PassClocks", "Sweeps", "pass_clocks", "run_passes", "sweeps"]

#: Sweeps that a part of a pass has at least, unless it ends a block.
_PART = 8


class PassClocks(NamedTuple):
    """Clocks of a pass, counted from the beginning of its task.

    start, end : the clock in which it begins, and that in which the next pass may begin
    gradient : of GC, ``(clock, rows)`` of each run of gradient rows: the clock of its last row
    """

    start: int
    end: int
    gradient: list


class Sweeps(NamedTuple):
    """One sweep of a pass, with what its clocks depend on.

    slots : clocks that it takes
    rows : rows that the PEs hold for it
    line : if it begins a line, the rows of the line, else 0
    line_ends : it is the last sweep of its line
    sums_end : it ends sums
    outputs : if it ends a group, the outputs of the group (in GC the rows of its gradient), else 0
    """

    slots: int
    rows: int
    line: int
    line_ends: bool
    sums_end: bool
    outputs: int


def _tap_rows(p, row):
    """Number of tap rows of input row ``row`` that meet an error row."""
    kernel, stride, height = p.taps[:3]
    return sum((row - ky) % stride == 0 and 0 <= row - ky < height * stride for ky in range(kernel))


def sweeps(config, p, batch):
    """Every sweep of a pass, in order."""
    return chain.from_iterable(_parts(config.lanes, p, batch).items)


@cache
def _parts(lanes, p, batch):
    """Repeats of the parts of a pass: lines, or several neighbouring ones, each a tuple of
    Sweeps."""
    alike = {}

    @cache  # many blocks of a pass are equal
    def parts(turns, block_ends, bias):
        found = [[]]
        for sweep in _block(lanes, p, batch, turns, block_ends, bias):
            if sweep.line and len(found[-1]) >= _PART:
                found.append([])
            found[-1].append(sweep)
        return [alike.setdefault(part, part) for part in map(tuple, found)]

    counts, found = [count or batch for count in p.words.counts], []
    for _, n5, n4 in product(*map(range, counts[:3])):
        turns = _tap_rows(p, n5) if p.taps else counts[3]
        block_ends = n4 == counts[2] - 1
        found += parts(turns, block_ends, p.bias and block_ends and n5 == counts[1] - 1)
    return Repeats(found, id)


def _block(lanes, p, batch, turns, block_ends, bias):
    """The sweeps of one turn of level 4, in which level 3 has ``turns`` turns."""
    counts = [count or batch for count in p.words.counts]
    fill = [count or batch for count in p.fill.counts]
    gradient = p.kind == Kind.GC
    held_rows = {Source.ERRORS: 1, Source.COLUMNS: ROW}.get(p.source, lanes)
    outputs = 0 if gradient else (p.drain.counts[-1] or batch)
    slots = (block_ends and p.last_slots) or counts[6]
    line_rows = (block_ends and p.last_rows) or fill[5]
    for n3, n2, n1 in product(range(turns), range(counts[4]), range(counts[5])):
        # A line begins at each turn of level 2 in GC, of level 3 otherwise.
        whole = gradient or n2 == 0
        chunks_end = n1 == counts[5] - 1
        line_ends = chunks_end and (gradient or n2 == counts[4] - 1)
        last = n3 == turns - 1
        group_ends = last and line_ends and n2 == counts[4] - 1
        rows = slots * lanes + bias if gradient else outputs
        yield Sweeps(
            slots=slots + bias,
            rows=held_rows,
            line=line_rows if whole and n1 == 0 else 0,
            line_ends=line_ends,
            sums_end=last and n1 >= counts[5] - p.partials,
            outputs=rows if group_ends else 0,
        )


def pass_clocks(config, passes, batch):
    """List of the clocks of each of ``passes``, in order: from its start to the start of the next.

    The last pass ends when its outputs are in the feature buffer, or its gradient was taken.
    ``batch``: agents of an INFER, steps of a TRAIN.
    """
    return [each.end - each.start for each in run_passes(config, passes, batch)]


def run_passes(config, passes, batch, loaded=None, parameters=None):
    """List of the ``PassClocks`` of ``passes``, in order.

    loaded : sequence of int, for each pass the clock from which on its maps are there; None: all
        are there from clock 0 on
    parameters : ParameterRows of the task; None: all rows are there
    """
    found, start, walk = [], 0, PassWalk(config, parameters)
    for position, p in enumerate(passes):
        if loaded:
            start = max(start, loaded[position])
        follower = passes[position + 1] if position + 1 < len(passes) else None
        end = walk.run(p, batch, _parts(config.lanes, p, batch), start, follower)
        found.append(PassClocks(start, end, walk.gradient))
        start = end
    return found

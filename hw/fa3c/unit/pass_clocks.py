"""Clocks of passes, computed sweep by sweep from the table of passes; they equal those of the RTL.

A sweep begins when the sweep before it is over, its line and its rows are there and, if it ends
sums, a half of the output line is free. Each of these clocks follows from earlier ones, so neither
data nor a simulation is needed. Where nothing is said of memory, parameters and maps are loaded
before.
"""

from collections import deque
from functools import cache
from itertools import product
from typing import NamedTuple

from hw.fa3c.pass_types import Kind, Source
from hw.fa3c.unit.array import PeArray
from hw.fa3c.unit.drain import READ
from hw.fa3c.unit.feature_buffer import FeatureBuffer
from hw.fa3c.unit.line_buffer import LineBuffer
from hw.fa3c.unit.output_rows import OutputRows
from hw.fa3c.unit.taken_rows import Asked, TakenRows

__all__ = ["PassClocks", "Sweeps", "pass_clocks", "run_passes", "sweeps"]

#: Clocks from the last step of a group to the first reading of its sums by the drain.
_TO_DRAIN = LineBuffer.LATENCY + PeArray.LATENCY + 1


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
    counts = [count or batch for count in p.words.counts]
    fill = [count or batch for count in p.fill.counts]
    gradient, lanes = p.kind == Kind.GC, config.lanes
    held_rows = 1 if p.source == Source.ERRORS else lanes
    outputs = 0 if gradient else (p.drain.counts[-1] or batch)

    @cache  # many blocks of a pass are equal
    def block(turns, block_ends, bias):
        found = []
        slots = (block_ends and p.last_slots) or counts[6]
        line_rows = (block_ends and p.last_rows) or fill[5]
        for n3, n2, n1 in product(range(turns), range(counts[4]), range(counts[5])):
            whole = (
                gradient or n2 == 0
            )  # a line begins at each turn of level 2 in GC, of level 3 otherwise
            chunks_end = n1 == counts[5] - 1
            line_ends = chunks_end and (gradient or n2 == counts[4] - 1)
            last = n3 == turns - 1
            group_ends = last and line_ends and n2 == counts[4] - 1
            rows = slots * lanes + bias if gradient else outputs
            sweep = Sweeps(
                slots=slots + bias,
                rows=held_rows,
                line=line_rows if whole and n1 == 0 else 0,
                line_ends=line_ends,
                sums_end=last and n1 >= counts[5] - p.partials,
                outputs=rows if group_ends else 0,
            )
            found.append(sweep)
        return found

    for _, n5, n4 in product(*(range(count) for count in counts[:3])):
        turns = _tap_rows(p, n5) if p.taps else counts[3]
        block_ends = n4 == counts[2] - 1
        bias = p.bias and block_ends and n5 == counts[1] - 1
        yield from block(turns, block_ends, bias)


class _Drain:
    """Clocks in which the halves of the output line become free."""

    def __init__(self, config):
        rows = OutputRows.estimate(config)
        self.steps = rows.interval
        # From the last reading of the sums of a row to the row.
        self.latency = READ + rows.latency - (self.steps - 1)
        self.ready, self.free = 0, deque([0, 0], maxlen=2)
        self.gradient = False  # the group before was a gradient
        self.written = 0  # the clock in which the last row of outputs is written
        self.rows = []  # (clock of the last, rows) of each run of gradient rows

    def group(self, p, end, count, masks):
        """A group of ``count`` rows ends in clock ``end``; ``masks``: requests for masks."""
        # The last row of a gradient stays for a clock before outputs begin.
        shown = self.gradient and p.kind != Kind.GC
        clock, self.gradient = max(end + _TO_DRAIN, self.ready + shown), p.kind == Kind.GC
        each = 1 if p.kind == Kind.GC else self.steps * p.partials
        if p.kind == Kind.BW:
            for _ in range(count):
                clock = max(clock, masks.due[0]) + each
                masks.take(clock - 1)
        else:
            clock += count * each
        last_read = clock - 1
        if p.kind != Kind.GC:
            self.written = last_read + self.latency
        else:
            self.rows.append((last_read, count))
        self.ready = last_read + 1
        self.free.append(last_read + 2)


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
    found, start, drain, number = [], 0, _Drain(config), 0
    for position, p in enumerate(passes):
        if loaded:
            start = max(start, loaded[position])
        drain.rows = []
        last, rows = _run(config, p, batch, start, drain, parameters, number)
        number = rows.end
        follower = passes[position + 1] if position + 1 < len(passes) else None
        if p.kind == Kind.GC:
            following = last + 2 if follower else drain.ready + 1
        else:
            following = drain.written + 2
            # The parameter buffer frees the rows of this pass before it begins the next pass.
            following += follower is not None and follower.segments is not None
        following = rows.close(following)
        found.append(PassClocks(start, following, drain.rows))
        start = following
    return found


def _run(config, p, batch, start, drain, parameters, number):
    """The clock of the last step of pass ``p``, and its ``TakenRows``."""
    every = list(sweeps(config, p, batch))
    # Errors of GC, or masks of BW; both have priority over lines.
    total = {Kind.FW: 0, Kind.GC: len(every), Kind.BW: sum(sweep.outputs for sweep in every)}
    asked = Asked(start, total[p.kind])
    rows = TakenRows(config, p, start, asked, parameters, number)
    asks, releases = start, deque([start, start], maxlen=2)
    ends = line_ready = full = swap = start
    for sweep in every:
        full = rows.take(swap, sweep.rows) + 1
        if sweep.line:
            asks = asked.line(max(asks, releases[0]), sweep.line)
            line_ready = asks + FeatureBuffer.LATENCY + 1
        free = drain.free[0] if sweep.sums_end else 0
        swap = max(ends, line_ready, full, free)
        last = swap + sweep.slots - 1
        ends = swap + max(sweep.slots, p.hold)
        if sweep.line_ends:
            releases.append(last)
        if sweep.outputs:
            drain.group(p, last, sweep.outputs, asked)
            if p.kind == Kind.FW:
                rows.pass_bias()
    return last, rows

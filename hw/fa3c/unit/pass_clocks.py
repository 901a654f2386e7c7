"""Clocks of passes, computed sweep by sweep from the table of passes; they equal those of the RTL.

A sweep begins when the previous sweep has ended, its line and its rows have come and, if it ends
sums, a half of the output line is free. Each of these clocks follows from earlier ones, so neither
data nor a simulation is needed. By default, parameters and maps are loaded before.
"""

from collections import deque
from functools import cache
from itertools import product
from math import prod
from typing import NamedTuple

from hw.fa3c.pass_types import Kind, Source
from hw.fa3c.rows import ROW
from hw.fa3c.unit.array import PeArray
from hw.fa3c.unit.drain import READ
from hw.fa3c.unit.feature_buffer import FeatureBuffer
from hw.fa3c.unit.line_buffer import LineBuffer
from hw.fa3c.unit.output_rows import OutputRows
from hw.fa3c.unit.parameter_buffer import ParameterBuffer
from hw.stream.transpose import Transpose
from hw.timing import Repeats, Walk, since, slots

__all__ = ["PassClocks", "PassWalk", "Sweeps", "pass_clocks", "run_passes"]

#: Clocks from the last step of a group to the first reading of its sums by the drain.
_TO_DRAIN = LineBuffer.LATENCY + PeArray.LATENCY + 1
#: Sweeps that a part of a pass has at least, unless it ends a block.
_PART = 8


class PassClocks(NamedTuple):
    """Clocks of a pass, counted from the beginning of its task.

    start, end : the clock in which it begins, and the earliest clock of the next pass
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
    """The sweeps of one turn of level 4 with ``turns`` turns of level 3."""
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

    loaded : sequence of int, the clock that completes the maps of each pass; None: clock 0
    parameters : ParameterRows of the task; None: all rows have come
    """
    found, start, walk = [], 0, PassWalk(config, parameters)
    for position, p in enumerate(passes):
        if loaded:
            start = max(start, loaded[position])
        follower = passes[position + 1] if position + 1 < len(passes) else None
        parts = _parts(config.lanes, p, batch)
        end = walk.run(p, batch, parts, start, follower)
        rows = (sweep.outputs for part in parts.items for sweep in part if sweep.outputs)
        found.append(PassClocks(start, end, list(zip(walk.events, rows, strict=False))))
        start = end
    return found


class PassWalk(Walk):
    """The passes of a task. ``clock``: the latest sweep begins.

    config : Fa3cConfig
    parameters : ParameterRows of the task, or None if all of its rows have come

    ``events`` : of GC, the clock of the last row of each run of gradient rows
    """

    def __init__(self, config, parameters=None):
        self.config, self.parameters, self.drain = config, parameters, _Drain(config)
        self.number = 0  # of the next pass's first row of parameters

    def run(self, p, batch, parts, start, follower):
        """Walks through a pass; returns the earliest clock of the next pass.

        p, batch : pass_types.Pass, and the agents or steps of its task
        parts : Repeats of the parts of the pass, each a tuple of Sweeps
        start : the clock of its beginning
        follower : the next pass, or None
        """
        self.p, self.events, start = p, [], start - self.skipped
        # Errors of GC, or masks of BW; both have priority over lines.
        total = {
            Kind.FW: lambda: 0,
            Kind.GC: lambda: sum(map(len, parts.items)),
            Kind.BW: lambda: prod(count or batch for count in p.drain.counts),
        }
        self.asked = _Asked(start, total[p.kind]())
        self.rows = _TakenRows(self, p, start)
        # The latest request for a line, and from when each half of the line buffer is free.
        self.asks, self.lines = start, deque([start, start], maxlen=2)
        self.clock = self.ends = self.line_ready = start
        self.walk(parts)
        if p.kind == Kind.GC:
            end = self.last + 2 if follower else self.drain.free[-1]
        else:
            # The parameter buffer frees the rows of this pass before it begins the next pass.
            end = self.drain.written + 2 + (follower is not None and follower.segments is not None)
        self.number = self.rows.end
        return self.rows.close(end) + self.skipped

    def step(self, part):
        rows, asked, drain, p = self.rows, self.asked, self.drain, self.p
        hold, lines, forward = p.hold, self.lines, p.kind == Kind.FW
        begin, ends, asks, line_ready = self.clock, self.ends, self.asks, self.line_ready
        for steps, count, line, line_ends, sums_end, outputs in part:
            full = rows.take(begin, count) + 1
            if line:
                asks = asked.line(max(asks, lines[0]), line)
                line_ready = asks + FeatureBuffer.LATENCY + 1
            begin = max(ends, line_ready, full, drain.free[0] if sums_end else 0)
            last = begin + steps - 1
            ends = begin + max(steps, hold)
            if line_ends:
                lines.append(last)
            if outputs:
                read = drain.group(p, last, outputs, asked)
                if p.kind == Kind.GC:
                    self.events.append(read + self.skipped)
                if forward:
                    rows.pass_bias()
        self.clock, self.ends, self.asks, self.line_ready = begin, ends, asks, line_ready
        self.last = last  # the clock of the last step

    def state(self):
        base = self.clock
        return (
            self.rows.state(base),
            since([self.line_ready, self.ends], base),
            since(self.lines, self.asks),
            self.asks - base,
            self.asked.state(base, self.asks),
            self.drain.state(base),
        )

    def counts(self):
        flow = self.parameters.counts() if self.rows.flowing else ()
        return self.asked.total, self.rows.number, *flow

    def times(self, items, before, now):
        times, asked = super().times(items, before, now), before[2][0] - now[2][0]
        if times and asked:
            times = min(times, now[2][0] // asked)
        if times and self.rows.flowing:
            times = min(times, self.parameters.times(before[2][2:], now[2][2:]))
        return times

    def repeat(self, before, now, times, clocks):
        self.asked.total -= times * (before[0] - now[0])
        self.rows.number += times * (now[1] - before[1])
        if self.rows.flowing:
            self.parameters.repeat(before[2:], now[2:], times, clocks)


class _Drain:
    """The drain. ``free``: clocks that free the halves of the output line, the next one first,
    a clock after the last reading of sums; ``written``: the latest row of outputs is in the feature
    buffer."""

    def __init__(self, config):
        self.steps = OutputRows.steps_of(config)
        # From the last reading of the sums of a row to the row.
        self.latency = READ + OutputRows.latency_of(config) - (self.steps - 1)
        self.free, self.written = slots(2), 0
        self.gradient = False  # the group before was a gradient

    def group(self, p, end, count, masks):
        """The clock of the last reading of a group of ``count`` rows that ends in clock ``end``;
        ``masks``: requests for masks."""
        # The last row of a gradient stays for a clock before outputs begin.
        shown = self.gradient and p.kind != Kind.GC
        clock, self.gradient = max(end + _TO_DRAIN, self.free[-1] - 1 + shown), p.kind == Kind.GC
        each = 1 if p.kind == Kind.GC else self.steps * p.partials
        if p.kind == Kind.BW:
            for _ in range(count):
                clock = max(clock, masks.due[0]) + each
                masks.take(clock - 1)
        else:
            clock += count * each
        if p.kind != Kind.GC:
            self.written = clock - 1 + self.latency
        self.free.append(clock + 1)
        return clock - 1

    def state(self, base):
        """State relative to ``base`` that determines later clocks."""
        return self.gradient, since(self.free, base)


class _Asked:
    """Requests of one port of the feature buffer: a row a clock, while the port has room.

    ``clocks`` of the latest requests, which delay a port of lower priority; ``due``: the arrival of
    each requested row; ``total``: requests left.
    """

    def __init__(self, start, total):
        self.total, self.latest, self.clocks, self.due = total, start, set(), deque()
        for _ in range(FeatureBuffer.AHEAD):
            self._ask(0)

    def _ask(self, earliest):
        if self.total:
            self.total -= 1
            self.latest = max(self.latest + 1, earliest)
            self.clocks.add(self.latest)
            self.due.append(self.latest + FeatureBuffer.LATENCY)

    def line(self, clock, rows):
        """The clock of the last of ``rows`` requests for a line, which wait for this port's."""
        if not self.clocks:
            return clock + rows
        for _ in range(rows):
            clock += 1
            while clock in self.clocks:
                clock += 1
        return clock

    def take(self, clock):
        """Takes the next row in ``clock``, which makes room for one more request."""
        self.due.popleft()
        self._ask(clock + 1)

    def state(self, base, line):
        """State relative to ``base`` that determines later clocks, except ``total``; the latest
        line was requested in clock ``line``."""
        self.clocks = {clock for clock in self.clocks if clock > line}
        clocks = tuple(sorted([clock - base for clock in self.clocks]))
        latest = max(0, self.latest - base) if self.total else None
        return latest, since(self.due, base), clocks


class _TakenRows:
    """The intake of rows for the PEs, one after the other: errors of the feature buffer, or
    parameters.

    ``number``, ``end`` : number of the next row of parameters, and of the first after the pass
    ``flowing`` : rows are read once, in order, and then leave the ring
    """

    def __init__(self, walk, p, start):
        self.walk, self.asked = walk, walk.asked if p.source == Source.ERRORS else None
        self.parameters = walk.parameters if p.segments is not None else None
        self.last = start  # the clock in which the latest row was taken
        self.later = ParameterBuffer.LATENCY
        if p.source == Source.TRANSPOSED:
            self.later += ROW - 1 + Transpose.LATENCY
        self.first = start + 1 + self.later
        self.number = self.begin = self.end = walk.number
        self.flowing = self.scattered = False
        if self.parameters:
            self.end += p.segments.total
            self.flowing, self.transposed = not p.segments.resident, p.source == Source.TRANSPOSED
            #: Rows are read in another order than they come.
            self.scattered = p.segments.resident and p.kind == Kind.BW
            self.group = walk.config.layers[p.layer].group_rows
            if self.scattered:
                self.first = max(self.first, self._came(self.end - 1) + self.later)

    def _came(self, number):
        return self.parameters.clock(number) - self.walk.skipped

    def take(self, earliest, count):
        """The clock of the last of the next ``count`` rows, not before ``earliest``."""
        if not self.asked:
            self.last = max(earliest, self.last + 1, self.first) + count - 1
            if self.parameters:
                self._wait(count)
            return self.last
        for _ in range(count):
            self.last = max(earliest, self.last + 1, self.asked.due[0])
            self.asked.take(self.last)
        return self.last

    def _wait(self, count):
        """Waits for the next ``count`` rows of parameters. A pass that reads rows repeatedly waits
        for a row only the first time; a patch is transposed when it is whole."""
        if self.scattered or not self.flowing and self.number >= self.end:
            return
        self.number += count
        last, later = self.number - 1, ParameterBuffer.LATENCY
        if self.transposed:
            place = (last - self.begin) % ROW
            last, later = last + ROW - 1 - place, later + Transpose.LATENCY + place
        self.last = max(self.last, self._came(last) + later)
        if self.flowing:
            self.parameters.release(self.last + self.walk.skipped, count)

    def pass_bias(self):
        """A row of biases passes, in order with the other rows; padding follows it in a resident
        layer."""
        self.last = max(self.last + 1, self.first)
        if self.parameters:
            self._wait(1)
            if not self.flowing:
                self.number += (self.begin - self.number) % self.group

    def close(self, clock):
        """Ends the pass in ``clock``, or when all its rows have come; returns that clock."""
        if self.parameters and not self.flowing:
            clock = max(clock, self._came(self.end - 1))
            self.parameters.release(clock + self.walk.skipped, self.end - self.begin)
        return clock

    def state(self, base):
        """State relative to ``base`` that determines later clocks."""
        own = self.last - base, max(0, self.first - self.last - 1)
        if not self.parameters or self.scattered:
            return own
        if not self.flowing:
            return *own, self.number
        place = (self.number - self.begin) % ROW if self.transposed else 0
        flow = self.parameters.state(self.number, base + self.walk.skipped, self.later)
        return *own, place, flow

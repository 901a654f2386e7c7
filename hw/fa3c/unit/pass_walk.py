"""Walks through the sweeps of a pass, and multiplies what repeats."""

from collections import deque
from math import prod
from sys import maxsize
from typing import NamedTuple

from hw.fa3c.pass_types import Kind
from hw.fa3c.unit.array import PeArray
from hw.fa3c.unit.drain import READ
from hw.fa3c.unit.feature_buffer import FeatureBuffer
from hw.fa3c.unit.line_buffer import LineBuffer
from hw.fa3c.unit.output_rows import OutputRows
from hw.fa3c.unit.repeats import since
from hw.fa3c.unit.taken_rows import Asked, TakenRows

__all__ = ["Drain", "Walk"]

#: Clocks from the last step of a group to the first reading of its sums by the drain.
_TO_DRAIN = LineBuffer.LATENCY + PeArray.LATENCY + 1


class Drain:
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

    def state(self, base):
        """All that its clocks after ``base`` depend on, counted from it."""
        return self.gradient, since([self.ready, *self.free], base)

    def repeat(self, before, now, times, clocks):
        """Runs of gradient rows ``before`` up to ``now`` come again ``times`` times, each time
        ``clocks`` later."""
        for turn in range(1, times + 1):
            self.rows += [(clock + turn * clocks, rows) for clock, rows in self.rows[before:now]]
        self.ready, self.written = self.ready + times * clocks, self.written + times * clocks
        self.free = deque([clock + times * clocks for clock in self.free], maxlen=2)


class _Mark(NamedTuple):
    """Where a walk stands: the number of the next part, the clock of its latest swap, requests for
    errors or masks that are left, runs of gradient rows, parts that were walked, and the mark of
    the ParameterRows if it reads them in order."""

    part: int
    swap: int
    total: int
    rows: int
    walked: int
    flow: tuple | None


class Walk:
    """The clocks of a pass that begins in clock ``start``.

    p, batch : pass_types.Pass, and the agents or steps of its task
    parts : Repeats of the parts of the pass, each a tuple of Sweeps
    drain : Drain, as the passes before leave it
    parameters, number : as of TakenRows

    ``last`` : the clock of the last step of the pass
    ``rows`` : its TakenRows
    """

    def __init__(self, config, p, batch, parts, start, drain, parameters, number):
        self.p, self.parts, self.drain = p, parts, drain
        # Errors of GC, or masks of BW; both have priority over lines.
        total = {
            Kind.FW: lambda: 0,
            Kind.GC: lambda: sum(map(len, parts.items)),
            Kind.BW: lambda: prod(count or batch for count in p.drain.counts),
        }
        self.asked = Asked(start, total[p.kind]())
        self.rows = TakenRows(config, p, start, self.asked, parameters, number)
        self.parameters = parameters if self.rows.flowing else None
        self.asks, self.releases = start, deque([start, start], maxlen=2)
        self.ends = self.line_ready = self.swap = self.last = start
        self.seen, self.margins = {}, []
        part = 0
        while part < len(parts.items):
            self._walk(parts.items[part])
            part = self._skip(part + 1)

    def _walk(self, part):
        """Walks through one part."""
        rows, asked, drain, p = self.rows, self.asked, self.drain, self.p
        hold, releases, forward = p.hold, self.releases, p.kind == Kind.FW
        swap, ends, asks, line_ready = self.swap, self.ends, self.asks, self.line_ready
        for slots, count, line, line_ends, sums_end, outputs in part:
            full = rows.take(swap, count) + 1
            if line:
                asks = asked.line(max(asks, releases[0]), line)
                line_ready = asks + FeatureBuffer.LATENCY + 1
            swap = max(ends, line_ready, full, drain.free[0] if sums_end else 0)
            last = swap + slots - 1
            ends = swap + max(slots, hold)
            if line_ends:
                releases.append(last)
            if outputs:
                drain.group(p, last, outputs, asked)
                if forward:
                    rows.pass_bias()
        self.swap, self.ends, self.asks, self.line_ready = swap, ends, asks, line_ready
        self.last = last

    def _state(self):
        """All that the next clocks depend on, counted from the latest swap; None if it cannot be
        compared with others."""
        base, rows = self.swap, self.rows.state(self.swap)
        if rows is None:
            return None
        lines = since([self.line_ready, self.ends], base), since(self.releases, self.asks)
        asked = self.asked.state(base, self.asks)
        return rows, lines, self.asks - base, asked, self.drain.state(base)

    def _skip(self, part):
        """The next part, ``part`` or a later one: parts in between are as they were before."""
        flow = self.parameters
        if flow:
            self.margins.append((self.rows.early, flow.slack))
            self.rows.early = flow.slack = maxsize
        state = self._state()
        if state is None:
            return part
        now = _Mark(
            part,
            self.swap,
            self.asked.total,
            len(self.drain.rows),
            len(self.margins),
            flow and flow.mark(self.rows.number),
        )
        before = self.seen.get(state)
        self.seen[state] = now
        times = before and self._times(before, now)
        if not times:
            return part
        self._repeat(before, now, times)
        return part + times * (part - before.part)

    def _times(self, before, now):
        """How often all goes on as from mark ``before`` to mark ``now``."""
        found, asked = self.parts.times(before.part, now.part), before.total - now.total
        if asked:
            found = min(found, now.total // asked)
        if found and self.parameters:
            margins = zip(*self.margins[before.walked : now.walked], strict=True)
            clocks = now.swap - before.swap
            found = min(
                found, self.parameters.times(before.flow, now.flow, clocks, *map(min, margins))
            )
        return found

    def _repeat(self, before, now, times):
        each = now.swap - before.swap
        clocks = times * each
        self.swap, self.ends, self.last = self.swap + clocks, self.ends + clocks, self.last + clocks
        self.asks, self.line_ready = self.asks + clocks, self.line_ready + clocks
        self.releases = deque([clock + clocks for clock in self.releases], maxlen=2)
        self.asked.shift(clocks, times * (before.total - now.total))
        self.drain.repeat(before.rows, now.rows, times, each)
        self.rows.last += clocks
        if self.parameters:
            self.parameters.repeat(before.flow, now.flow, times, each)
            self.rows.number += times * (now.flow.number - before.flow.number)
            if now.flow.piece > before.flow.piece and now.flow.latest != before.flow.latest + each:
                self.seen.clear()  # margins of what was before are other ones

"""Clocks in which a pass asks the feature buffer for rows, and takes the rows that the PEs hold."""

from collections import deque
from sys import maxsize

from hw.fa3c.pass_types import Kind, Source
from hw.fa3c.rows import ROW
from hw.fa3c.unit.feature_buffer import FeatureBuffer
from hw.fa3c.unit.parameter_buffer import ParameterBuffer
from hw.fa3c.unit.repeats import since
from hw.stream.transpose import Transpose

__all__ = ["Asked", "TakenRows"]


class Asked:
    """Requests of one port of the feature buffer: a row a clock, while the port has room.

    ``clocks`` are the clocks in which a request goes out; a port of lower priority waits in them.
    ``due`` are the clocks in which the requested rows come.
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
        """The next row is taken in ``clock``: there is room for one more request."""
        self.due.popleft()
        self._ask(clock + 1)

    def state(self, base, line):
        """All that its clocks after ``base`` depend on, besides ``total``, counted from it; the
        latest line was asked for in clock ``line``."""
        self.clocks = {clock for clock in self.clocks if clock > line}
        clocks = tuple(sorted([clock - base for clock in self.clocks]))
        latest = max(0, self.latest - base) if self.total else None
        return latest, since(self.due, base), clocks

    def shift(self, clocks, asked):
        """All that has happened is so many ``clocks`` later, and ``asked`` requests are further
        ones."""
        self.latest, self.total = self.latest + clocks, self.total - asked
        self.clocks = {clock + clocks for clock in self.clocks}
        self.due = deque(clock + clocks for clock in self.due)


class TakenRows:
    """Clocks in which the rows for the PEs are taken, one after the other.

    ``parameters`` : ParameterRows, or None if all are there; ``begin``: the number, in them, of the
    first row of the pass
    """

    def __init__(self, config, p, start, asked, parameters, begin):
        self.asked = asked if p.source == Source.ERRORS else None
        self.last = start  # the clock in which the latest row was taken
        self.later = ParameterBuffer.LATENCY
        if p.source == Source.TRANSPOSED:
            self.later += ROW - 1 + Transpose.LATENCY
        self.first = start + 1 + self.later
        self.parameters = parameters if p.segments is not None else None
        self.number, self.end, self.resident = begin, begin, True
        #: The least clocks, since it was set, by which a row was there before it could be taken.
        self.early = maxsize
        if self.parameters:
            self.end += p.segments.total
            self.resident, self.transposed = p.segments.resident, p.source == Source.TRANSPOSED
            #: Rows are read in another order than they come.
            self.scattered = self.resident and p.kind == Kind.BW
            self.begin, self.group = begin, config.layers[p.layer].group_rows
            if self.scattered:
                self.first = max(self.first, parameters.clock(self.end - 1) + self.later)

    def take(self, earliest, count):
        """The clock of the last of the next ``count`` rows, not before ``earliest``."""
        if not self.asked:
            self.last = max(earliest, self.last + 1, self.first) + count - 1
            if self.parameters:
                self._come(count)
            return self.last
        for _ in range(count):
            self.last = max(earliest, self.last + 1, self.asked.due[0])
            self.asked.take(self.last)
        return self.last

    def _come(self, count):
        """The next ``count`` rows of parameters must have come. A pass that reads rows repeatedly
        waits for each of them only at first; a patch is transposed when it is whole."""
        if self.scattered or self.resident and self.number >= self.end:
            return
        self.number += count
        last, later = self.number - 1, ParameterBuffer.LATENCY
        if self.transposed:
            place = (last - self.begin) % ROW
            last, later = last + ROW - 1 - place, later + Transpose.LATENCY + place
        there = self.parameters.clock(last) + later
        self.early = min(self.early, self.last - there)
        self.last = max(self.last, there)
        if not self.resident:
            self.parameters.release(self.last, count)

    @property
    def flowing(self):
        """The rows are parameters that are read once each, in order."""
        return not self.resident

    def state(self, base):
        """All that the next clocks depend on, besides places in the ring, counted from ``base``;
        None if it cannot be compared with others."""
        own = self.last - base, max(0, self.first - self.last - 1)
        if not self.parameters or self.scattered or self.resident and self.number >= self.end:
            return own
        if self.resident:
            return None
        place = (self.number - self.begin) % ROW if self.transposed else 0
        if self.parameters.arrived(self.number, base - self.later):
            return *own, place, self.parameters.piece
        flow = self.parameters.state(self.number)
        return flow and (*own, place, flow)

    def pass_bias(self):
        """A row of biases passes, in order with the other rows; padding follows it if all rows of
        the layer are there."""
        self.last = max(self.last + 1, self.first)
        if self.parameters:
            self._come(1)
            if self.resident:
                self.number += (self.begin - self.number) % self.group

    def close(self, clock):
        """The pass ends in ``clock`` or later: the clock in which all its rows have come."""
        if self.parameters and self.resident:
            clock = max(clock, self.parameters.clock(self.end - 1))
            self.parameters.release(clock, self.end - self.begin)
        return clock

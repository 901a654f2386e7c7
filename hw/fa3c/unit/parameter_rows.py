"""When rows of parameters arrive in the ring of a unit."""

from collections import deque
from functools import cache
from itertools import product

from hw.fa3c.rows import ROW
from hw.timing import Repeats, Stage, pending, since, slots

__all__ = ["ParameterRows"]

#: Pieces of requests of a striped port that may be under way.
_PIECES = 16
#: Clocks from the beginning of a task to its first request for parameters; clocks from a row on the
#: port to its place in the ring.
_BEGIN, _RING = 3, 1


@cache
def _pieces(parts, alike):
    """Repeats of ``(row, rows)`` of each request for ``parts``, each pass_types.Segments; rows that
    lie a multiple of ``alike`` apart are alike."""
    found = []
    for part in parts:
        for a, b, _ in product(*map(range, (*part.counts, part.turns))):
            row = part.base + a * part.strides[0] + b * part.strides[1]
            for first in range(0, part.rows, ROW):
                found.append((row + first, min(ROW, part.rows - first)))
    return Repeats(found, lambda piece: (piece[0] % alike, piece[1]))


class ParameterRows:
    """The rows of parameters of a task, as they arrive in the ring of a unit that begins the task
    in clock 0. They are requested in the order of ``passes``, as far ahead as the ring has room.

    config : Fa3cConfig
    passes : sequence of pass_types.Pass of the task
    reads : Reads

    ``skipped`` : int, clocks of skipped periods. The ring's own clocks are less by this number than
        the task's, which ``clock`` and ``release`` have.
    """

    def __init__(self, config, passes, reads):
        parts = tuple(p.segments for p in passes if p.segments is not None)
        self.reads, self.pieces, self.piece = reads, _pieces(parts, reads.alike), 0
        #: Earliest request for each free place.
        self.free = deque([0] * config.parameter_rows)
        self.requests, self.under_way = Stage(), slots(_PIECES)
        self.requests.next = _BEGIN + 1
        # Clocks of the rows from number ``first`` on.
        self.clocks, self.first, self.skipped = [], 0, 0

    @property
    def count(self):
        """Rows requested so far."""
        return self.first + len(self.clocks)

    def clock(self, number):
        """Earliest fetch of row ``number`` of the task."""
        while self.count <= number:
            self._ask(self._earliest())
        return self.clocks[number - self.first] + self.skipped

    def _earliest(self):
        """The clock of the next request; None after the last, or while the ring is full."""
        if self.piece == len(self.pieces):
            return None
        rows = self.pieces.items[self.piece][1]
        if rows > len(self.free):
            return None
        return max(self.requests.next, self.under_way[0], self.free[rows - 1])

    def _ask(self, clock):
        row, rows = self.pieces.items[self.piece]
        self.piece += 1
        for _ in range(rows):
            self.free.popleft()
        self.requests.begin(clock)
        self.clocks += [each + _RING for each in self.reads.ask(clock, row, rows)]
        self.under_way.append(self.clocks[-1] + 1)

    def release(self, clock, rows):
        """``rows`` rows, in order, are free from ``clock`` on."""
        self.free.extend([clock + 1 - self.skipped] * rows)

    def state(self, number, clock, latency):
        """State relative to ``clock`` that determines later clocks. Row ``number`` is taken next,
        not before ``clock``; a row can be taken ``latency`` clocks after its arrival."""
        base = clock - self.skipped
        while (request := self._earliest()) is not None and request <= base:
            self._ask(request)
        return (
            self.count - number,
            pending(self.clocks, base - latency),
            len(self.free),
            pending(self.free, base),
            since([self.requests.next, *self.under_way], base),
            self.reads.state(base),
        )

    def counts(self):
        """The next piece, and the rows requested so far."""
        return self.piece, self.count

    def times(self, before, now):
        """How often the requests between ``counts`` ``before`` and ``now`` follow again."""
        return self.pieces.times(before[0], now[0])

    def repeat(self, before, now, times, clocks):
        """Skips the period between ``counts`` ``before`` and ``now``, of ``clocks`` clocks,
        ``times`` times."""
        self.piece += times * (now[0] - before[0])
        self.first += times * (now[1] - before[1])
        self.skipped += times * clocks

"""Clocks in which rows of parameters come into the ring of a unit."""

from collections import deque
from functools import cache
from itertools import product
from sys import maxsize
from typing import NamedTuple

from hw.fa3c.rows import ROW
from hw.fa3c.unit.repeats import Repeats, since

__all__ = ["ParameterRows"]

#: Pieces of requests of a striped port that may be under way.
_PIECES = 16
#: Clocks from the beginning of a task to its first request for parameters; clocks from a row on the
#: port to its place in the ring.
_BEGIN, _RING = 3, 1
#: Rows whose taking is looked at by itself if all of them are there.
_MANY = 8 * ROW


class _Mark(NamedTuple):
    """Where the reading stands: the clock of the latest request, the next piece, the row of the
    task that is taken next, places without rows, the releases that were used and known, and the
    clock of the one that was used last."""

    latest: int
    piece: int
    number: int
    room: int
    used: int
    known: int
    front: int


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
    """The rows of parameters of a task, as they come into the ring of a unit that begins the task
    in clock 0. They are asked for in the order of ``passes``, as far ahead as the ring has room.

    config : Fa3cConfig
    passes : sequence of pass_types.Pass, those of the task
    reads : Reads

    ``slack`` : int, the least clocks, since it was set, by which places were free before their
        request could be made; negative: some were awaited
    """

    def __init__(self, config, passes, reads):
        parts = tuple(p.segments for p in passes if p.segments is not None)
        self.reads, self.pieces, self.piece = reads, _pieces(parts, reads.alike), 0
        self.room, self.used = config.parameter_rows, 0
        # Releases of places: (clocks after the one before, places); and the clocks of the latest
        # that is used, and known.
        self.freed, self.front, self.back = [], 0, 0
        # Clocks of the rows from number ``skipped`` on.
        self.clocks, self.skipped, self.latest = [], 0, _BEGIN
        self.under_way = deque([0] * _PIECES, maxlen=_PIECES)
        self.slack = maxsize

    @property
    def count(self):
        """Rows that have been asked for."""
        return self.skipped + len(self.clocks)

    def clock(self, number):
        """The clock from which on row ``number`` of the task can be fetched."""
        while self.count <= number:
            self._ask()
        return self.clocks[number - self.skipped]

    def _ask(self):
        row, rows = self.pieces.items[self.piece]
        self.piece += 1
        clock = max(self.latest + 1, self.under_way[0] + 1)
        while self.room < rows:
            after, places = self.freed[self.used]
            self.used, self.front = self.used + 1, self.front + after
            self.slack = min(self.slack, clock - self.front - 1)
            clock, self.room = max(clock, self.front + 1), self.room + places
        self.room -= rows
        self.latest = clock
        self.clocks += [each + _RING for each in self.reads.ask(clock, row, rows)]
        self.under_way.append(self.clocks[-1])

    def release(self, clock, rows):
        """``rows`` rows, in order, are free from ``clock`` on."""
        self.freed.append((clock - self.back, rows))
        self.back = clock

    def mark(self, number):
        """Where the reading stands, for ``times`` and ``repeat``; row ``number`` is taken next."""
        return _Mark(
            self.latest, self.piece, number, self.room, self.used, len(self.freed), self.front
        )

    def state(self, number):
        """All that the clocks of the next requests depend on, besides the places that are free,
        counted from the latest request; None if it cannot be compared with others."""
        base = self.latest
        if self.count - number >= _MANY or not self.reads.alone(base):
            return None
        reads = self.reads.state(base)
        ahead = tuple([clock - base for clock in self.clocks[number - self.skipped :]])
        return ahead, since(self.under_way, base), reads

    def arrived(self, number, clock):
        """Whether many rows from row ``number`` on are there before ``clock``, and none is on its
        way. Requests that take turns with another port's are made here, as far as there is room."""
        pieces = self.pieces.items
        while not self.reads.alone(self.latest) and self.piece < len(pieces):
            if self.room < pieces[self.piece][1]:
                break
            self._ask()
        return self.count - number >= _MANY and self.clocks[-1] < clock

    def times(self, before, now, clocks, early, slack):
        """How often all goes on as from mark ``before`` to mark ``now``, where the states are
        equal, and ``clocks`` clocks passed for whoever takes the rows. In this time each row was
        there ``early`` clocks, or more, before it could be taken (negative: some were awaited), and
        ``slack`` was the least.

        If the requests and whoever takes the rows do not move by the same number of clocks, they
        are independent of each other until one has caught up.
        """
        if before.piece == now.piece:  # rows are taken that have come before
            return max(0, self.count - ROW - now.number) // (now.number - before.number)
        found = self.pieces.times(before.piece, now.piece)
        later = clocks - (now.latest - before.latest)
        used = now.used - before.used
        if later and (early < 0 or slack < 0):
            return 0
        # The releases that come again have the places of the rows that are asked for, in the clocks
        # of whoever takes them. No case is known in which one of the two conditions decides.
        if used and (now.room != before.room or now.front - before.front != clocks):
            return 0
        if now.room < before.room:
            found = min(found, now.room // (before.room - now.room))
        if later < 0:
            found = min(found, early // -later)
        if later > 0 and used:
            found = min(found, slack // later)
        return self._alike(before, now, found) if used else found

    def _alike(self, before, now, most):
        """How often, up to ``most`` times, releases come again as from ``before`` to ``now``. Those
        that are not yet known are as those that are."""
        period, place = self.freed[before.used : now.used], now.used
        for times in range(most):
            if place >= now.known:
                return most
            following = self.freed[place : place + len(period)]
            if following != period[: len(following)]:
                return times
            place += len(period)
        return most

    def repeat(self, before, now, times, clocks):
        """Goes on ``times`` times as from ``before`` to ``now``; parameters as of ``times``."""
        self.freed += times * self.freed[before.known : now.known]
        self.back += times * clocks
        if now.piece == before.piece:
            return
        self.used += times * (now.used - before.used)
        self.front += times * (now.front - before.front)
        self.room -= times * (before.room - now.room)
        own = times * (now.latest - before.latest)
        self.clocks = [clock + own for clock in self.clocks[now.number - self.skipped :]]
        self.skipped = now.number + times * (now.number - before.number)
        self.latest += own
        self.piece += times * (now.piece - before.piece)
        self.under_way = deque([clock + own for clock in self.under_way], maxlen=_PIECES)
        self.reads.shift(own)

"""Clocks in which rows come from memory: to the feature buffer, and to the ring of parameters.

Memory moves a beat a clock, and a row may be several beats. A burst is asked for when the queue of
its port has room for all its beats. Rows of a striped port come block by block, from the masters in
turn; each part of the port joins the beats of one row after the other.
"""

from collections import deque

from hw.fa3c.config import STRIPES
from hw.fa3c.rows import ROW, ROW_WIDTH
from hw.shell.arbiter import Arbiter
from hw.shell.burst import BurstSplitter
from hw.shell.read_engine import ReadEngine
from hw.shell.width_conversion import Upsizer
from hw.stream.queue import Queue
from hw.stream.ram import SHALLOW

__all__ = ["ParameterRows", "Reads", "beats_of_row", "first_beat"]

#: Pieces of requests of a striped port, and of a feature buffer's runs, that may be under way.
_PIECES = 16
#: Clocks from the beginning of a task to its first request for parameters; clocks of a request in
#: the cutting into stripes; clocks from a row on the port to its place in the ring.
_BEGIN, _STRIPE, _RING = 3, 2, 1


def beats_of_row(engine):
    """Beats of a row on a master with an EngineConfig."""
    return ROW_WIDTH // engine.data_width


def first_beat(engine, latency, depth=SHALLOW):
    """Clocks from a request of a port, whose queue has ``depth`` places, to its first beat.

    engine : EngineConfig of the master
    latency : int, clocks of memory from a request to its first beat
    """
    shared = Arbiter.LATENCY + Queue.latency_of(max(depth, engine.burst_beats))
    return shared + ReadEngine.ADDRESS_LATENCY + latency + Queue.latency_of(engine.depth)


class Reads:
    """The rows that a port brings, in the order of its requests; none of them waits in the port
    for whoever takes them.

    engine : EngineConfig of the masters
    latency : int, clocks of memory from a request to its first beat
    stripes : masters over which rows are striped
    sharing : ports that read from these masters at the same time; each has its share of the beats
    before : Reads of another port, whose bursts take turns with those of this port, or None
    """

    def __init__(self, engine, latency, stripes=STRIPES, sharing=1, before=None):
        self.stripes, self.beats = stripes, beats_of_row(engine)
        cut = _STRIPE if stripes > 1 else 0
        self.wait, self.ready = first_beat(engine, latency) + cut, BurstSplitter.LATENCY + cut
        self.depth = max(SHALLOW, engine.burst_beats)
        self.burst = max(1, engine.burst_beats // self.beats)  # rows
        self.sharing = sharing
        self.turn = 0  # the clock of the latest row
        self.asked, self.busy, self.joined = [0] * stripes, [0] * stripes, [0] * stripes
        #: Of each master: the clocks in which rows leave their places, burst by burst.
        self.waiting = [deque() for _ in range(stripes)]
        self.free = [self.depth // self.beats] * stripes
        #: Of each master: (first clock, clock behind the last) of each burst on its way.
        self.bursts, self.before = [deque() for _ in range(stripes)], before and before.bursts
        self.later = [0] * stripes  # clocks by which this port delays ``before``

    def ask(self, clock, row, rows):
        """Clocks of each row of a request that comes in ``clock`` for ``rows`` rows from ``row``
        on."""
        found, end = [], row + rows
        while row < end:
            limit = self.burst if self.stripes == 1 else min(self.burst, ROW)
            count = min(end, (row // limit + 1) * limit) - row
            found += self._burst(clock, row // ROW % self.stripes, count)
            row += count
        return found

    def _burst(self, clock, master, rows):
        clock = max(clock, self.asked[master] + 1)
        while self.free[master] < rows:
            left = self.waiting[master].popleft()
            count = min(rows - self.free[master], len(left))
            # The burst that waits for places is cut already.
            clock = max(clock, left[count - 1] + 1 - self.ready)
            self.free[master] += count
            if count < len(left):
                self.waiting[master].appendleft(left[count:])
        self.free[master] -= rows
        self.asked[master] = clock
        begin = max(clock + self.wait, self.busy[master])
        step = self.beats * self.sharing
        if self.before:
            begin = self._after_another(master, begin, rows * step)
        self.busy[master] = begin + rows * step
        self.bursts[master].append((begin, begin + rows * step))
        join = Upsizer.LATENCY if self.beats > 1 else 0
        first = max(begin + self.beats - 1 + join, self.joined[master] + self.beats)
        first = max(first, self.turn + 1)
        clocks = range(first, first + rows * step, step)
        self.joined[master] = self.turn = clocks[-1]
        self.waiting[master].append(range(first - join, self.turn - join + 1, step))
        return clocks

    def _after_another(self, master, begin, clocks):
        """The first of ``clocks`` clocks, from ``begin`` on, if bursts of ``before`` take turns
        with those of this port: at most one goes first, and the next ones wait for this one."""
        others = self.before[master]
        while others and others[0][1] + self.later[master] <= begin:
            others.popleft()
        if others and others[0][0] + self.later[master] < begin + clocks:
            begin = others.popleft()[1] + self.later[master]
            self.later[master] += clocks
        return begin


class ParameterRows:
    """The rows of parameters of a task, as they come into the ring of a unit that begins the task
    in clock 0. They are asked for in the order of ``passes``, as far ahead as the ring has room.

    config : Fa3cConfig
    passes : sequence of pass_types.Pass, those of the task
    reads : Reads
    """

    def __init__(self, config, passes, reads):
        self.reads, self.pieces = reads, self._pieces(passes)
        self.room, self.freed = config.parameter_rows, deque()
        self.clocks, self.latest = [], _BEGIN
        self.under_way = deque([0] * _PIECES, maxlen=_PIECES)

    @staticmethod
    def _pieces(passes):
        """``(row, rows)`` of each request."""
        for part in (p.segments for p in passes if p.segments is not None):
            for a in range(part.counts[0]):
                for b in range(part.counts[1]):
                    row = part.base + a * part.strides[0] + b * part.strides[1]
                    for first in range(0, part.rows, ROW):
                        yield row + first, min(ROW, part.rows - first)

    def clock(self, number):
        """The clock from which on row ``number`` of the task can be fetched."""
        while len(self.clocks) <= number:
            row, rows = next(self.pieces)
            clock = max(self.latest + 1, self.under_way[0] + 1)
            while self.room < rows:
                freed, places = self.freed.popleft()
                clock, self.room = max(clock, freed + 1), self.room + places
            self.room -= rows
            self.latest = clock
            self.clocks += [each + _RING for each in self.reads.ask(clock, row, rows)]
            self.under_way.append(self.clocks[-1])
        return self.clocks[number]

    def release(self, clock, rows):
        """``rows`` rows, in order, are free from ``clock`` on."""
        self.freed.append((clock, rows))

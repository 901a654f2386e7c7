"""When rows of memory arrive through a port, and rows of parameters in the ring of a unit.

Memory moves a beat a clock, and a row may be several beats. A burst is requested when the queue of
its port has room for all its beats. Rows of a striped port come block by block, from the masters in
turn; each part of the port joins the beats of one row after the other.
"""

from collections import deque
from functools import cache
from itertools import product
from math import lcm

from hw.fa3c.rows import ROW, ROW_WIDTH
from hw.shell.arbiter import Arbiter
from hw.shell.burst import BurstSplitter
from hw.shell.read_engine import ReadEngine
from hw.shell.width_conversion import Upsizer
from hw.stream.queue import Queue
from hw.stream.ram import SHALLOW
from hw.timing import Master, Port, Repeats, Stage, pending, since, slots

__all__ = ["ParameterRows", "Reads", "beats_of_row", "first_beat"]

#: Clocks of a request in the cutting into stripes.
_STRIPE = 2
#: Pieces of requests of a striped port that may be under way.
_PIECES = 16
#: Clocks from the beginning of a task to its first request for parameters; clocks from a row on the
#: port to its place in the ring.
_BEGIN, _RING = 3, 1


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
    """The rows that a port brings, in the order of its requests; each is taken as it arrives.

    engine : EngineConfig of the masters
    latency : int, clocks of memory from a request to its first beat
    stripes : masters over which rows are striped
    sharing : ports that read from these masters at the same time; each has its share of the beats
    before : Reads of another port, whose bursts alternate with this port's, or None
    """

    def __init__(self, engine, latency, stripes=2, sharing=1, before=None):
        self.stripes, self.beats, self.sharing = stripes, beats_of_row(engine), sharing
        cut = _STRIPE if stripes > 1 else 0
        burst = max(1, engine.burst_beats // self.beats)
        #: Rows at whose multiples a burst ends.
        self.limit = burst if stripes == 1 else min(burst, ROW)
        first, depth = first_beat(engine, latency) + cut, max(SHALLOW, engine.burst_beats)
        # A burst that waits for places is cut already.
        credit = 1 - BurstSplitter.LATENCY - cut
        self.ports = [
            Port(Master(1), first, self.beats, depth // self.beats, credit) for _ in range(stripes)
        ]
        self.turn, self.joined = 0, [0] * stripes  # the clocks of the latest rows
        #: Of each master: (first clock, clock behind the last) of each burst on its way.
        self.bursts, self.before = [deque() for _ in range(stripes)], before and before.bursts
        self.later = [0] * stripes  # clocks by which this port delays ``before``

    def ask(self, clock, row, rows):
        """Clocks of each row of a request that comes in ``clock`` for ``rows`` rows from ``row``
        on."""
        found, end = [], row + rows
        while row < end:
            count = min(end, (row // self.limit + 1) * self.limit) - row
            found += self._burst(clock, row // ROW % self.stripes, count)
            row += count
        return found

    def _burst(self, clock, master, rows):
        port, step = self.ports[master], self.beats * self.sharing
        begin = port.read(clock, rows, rows * step)
        if self.before:
            begin = self._after_another(master, begin, rows * step)
            port.master.beats.next = begin + rows * step
        self.bursts[master].append((begin, begin + rows * step))
        join = Upsizer.LATENCY if self.beats > 1 else 0
        first = max(begin + self.beats - 1 + join, self.joined[master] + self.beats, self.turn + 1)
        clocks = range(first, first + rows * step, step)
        self.joined[master] = self.turn = clocks[-1]
        port.release(range(first - join, self.turn - join + 1, step))
        return clocks

    @property
    def alike(self):
        """Requests for rows a multiple of this number apart take the same clocks."""
        return lcm(self.limit, self.stripes * ROW)

    def state(self, base):
        """State relative to ``base`` that determines the clocks of requests after ``base``."""
        clocks = [self.turn, *self.joined]
        for port in self.ports:
            clocks += port.master.clocks()
        queues = [(len(port.free), pending(port.free, base)) for port in self.ports]
        others = [
            burst[1] + later - base
            for bursts, later in zip(self.before or (), self.later, strict=False)
            for burst in bursts
            if burst[1] + later > base
        ]
        return since(clocks, base), *queues, *others

    def _after_another(self, master, begin, clocks):
        """The first of ``clocks`` clocks, from ``begin`` on, if bursts of ``before`` alternate with
        this port's: at most one goes first, and the next ones wait for this one."""
        others = self.before[master]
        while others and others[0][1] + self.later[master] <= begin:
            others.popleft()
        if others and others[0][0] + self.later[master] < begin + clocks:
            begin = others.popleft()[1] + self.later[master]
            self.later[master] += clocks
        return begin


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

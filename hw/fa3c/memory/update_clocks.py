"""Clocks of an UPDATE of RMSProp on the masters of theta and squares, burst by burst.

Each master reads a beat a clock and writes one, of both images or of its own; a row may be several
beats. A burst is read when the queue of its port has room for all of it, and written
when all of it stands in its queue. So where a queue has room for one or two bursts only, the rows
wait for memory, besides their beats.
"""

from dataclasses import dataclass
from functools import cache
from itertools import accumulate

from hw.fa3c.masters import AHEAD, PORT_READ, PORT_WRITE
from hw.fa3c.memory.row_update import RowUpdate
from hw.fa3c.memory.run_walk import RunWalk
from hw.fa3c.memory.transposed_image import TransposedImage
from hw.fa3c.rows import ROW
from hw.fa3c.unit.repeats import Repeats
from hw.fa3c.unit.row_clocks import beats_of_row, first_beat
from hw.shell.arbiter import Arbiter
from hw.shell.burst import BurstSplitter
from hw.shell.memory_clocks import latencies

__all__ = ["UpdateClocks", "update_clocks"]

#: Clocks from the whole burst in the queue of a port to its first beat behind the interconnect, and
#: from the last beat of a burst in the engine to ``done``, besides those of memory.
_GRANT, _DONE = Arbiter.LATENCY, 7
#: Clocks from a row that leaves a queue to a request in its place, less those of the cutting into
#: bursts, which come before.
_CREDIT = 1 - BurstSplitter.LATENCY


@dataclass(frozen=True, eq=False)
class UpdateClocks:
    """Clocks of an UPDATE whose gradient is there, counted from the taking of the command.

    taken : the clocks in which the RUs take each row
    done : its end
    """

    taken: tuple
    done: int


def update_clocks(config, layer):
    """``UpdateClocks`` of layer number ``layer`` of a Fa3cConfig."""
    shape = config.layers[layer]
    twofold = layer > 0 and config.transposed_rows > 0
    masters = config.global_masters
    return _clocks(shape.groups, shape.depth + 1, config.rms_units, config.engine, twofold, masters)


@cache
def _clocks(groups, group, rms_units, engine, twofold, masters):
    most = max(1, engine.burst_beats // beats_of_row(engine))
    sizes = groups * [min(most, group - row) for row in range(0, group, most)]
    walk = _Walk(engine, Repeats(sizes, int), ROW // rms_units, twofold, masters)
    sent = max(walk.writes.sent)
    return UpdateClocks(tuple(walk.taken), sent + latencies(engine)["write"] + _DONE)


class _Walk:
    """Walks through bursts of ``sizes`` rows, a Repeats, and multiplies what repeats; ``interval``
    clocks are those of a row in the RUs. ``twofold``: theta has a transposed image; ``masters``:
    those of theta and squares. ``taken``: the clocks in which rows are taken."""

    def __init__(self, engine, sizes, interval, twofold, masters):
        self.taken, self.interval, self.latest = [], interval, -1
        self.sizes, self.seen, number = sizes, {}, 0
        self.reads = _Reads(engine, sizes.items, self.taken, interval, masters)
        self.writes = _Writes(engine, interval, twofold, masters)
        while number < len(sizes.items):
            self._burst(number)
            number = self._skip(number + 1)
        self.writes.transposed()

    def _burst(self, number):
        self.reads.need(number)
        rows = self.sizes.items[number]
        for row in range(rows):
            there = self.reads.clock(number, row, self.latest)
            self.latest = max(self.latest + 1, there, self.writes.room()) + self.interval - 1
            self.taken.append(self.latest)
            self.writes.row(self.latest, ends=row == rows - 1)

    def _skip(self, number):
        """The next burst, ``number`` or a later one: bursts in between are as before."""
        base, lists = self.latest, [self.taken, *self.reads.begins, *self.writes.lists]
        state = self.reads.state(number, base), self.writes.state(base)
        now = number, base, [len(own) for own in lists]
        before = self.seen.get(state, now)
        self.seen[state] = now
        period, clocks = number - before[0], base - before[1]
        times = self.sizes.times(before[0], number)
        # Bursts that are read ahead must be as before, too, and that which is asked for next.
        ahead = max(map(len, self.reads.begins)) - number + 1
        times -= times and -(-ahead // period)
        if times <= 0:
            return number
        for own, begin, end in zip(lists, before[2], now[2], strict=True):
            span = own[begin:end]
            for shift in range(clocks, (times + 1) * clocks, clocks):
                own += [clock + shift for clock in span]
        self.latest += times * clocks
        self.reads.shift(times * clocks)
        self.writes.shift(times * clocks)
        return number + times * period


class _Reads:
    """Clocks in which rows of theta and of squares come, in bursts of ``sizes`` rows. ``taken``
    has the clocks in which rows are taken, so far. ``busy``, ``asked``: of the master of each
    image, the clock behind its last beat, and that of its last request."""

    def __init__(self, engine, sizes, taken, interval, masters):
        self.sizes, self.taken, self.beats = sizes, taken, beats_of_row(engine)
        own = (AHEAD, AHEAD) if masters > 1 else (AHEAD, PORT_READ)
        depths = [max(depth, engine.burst_beats) for depth in own]
        self.master = 0, masters - 1
        latency = latencies(engine)["read"]
        self.waits = [first_beat(engine, latency, depth) for depth in depths]
        self.places = [depth // self.beats for depth in depths]
        # If a row is several beats, the last of them leaves the queue before the row is taken.
        self.credit = _CREDIT - (interval if self.beats > 1 else 0)
        self.rows = list(accumulate(sizes))
        self.begins, self.busy = ([], []), [0] * masters
        self.asked, self.latest = [RunWalk.LATENCY - 1] * masters, 1  # the port of the last request

    def _earliest(self, port):
        """The clock in which the next burst of ``port`` is asked for; None if not yet known."""
        number = len(self.begins[port])
        if number == len(self.sizes):
            return None
        before = max(0, self.rows[number] - self.places[port])
        if before > len(self.taken):
            return None
        freed = self.taken[before - 1] + self.credit if before else -1
        return max(self.asked[self.master[port]] + 1, freed)

    def state(self, number, base):
        """All that the clocks of burst ``number`` and later ones depend on, counted from ``base``,
        the clock in which the row before was taken."""
        after = [[clock - base for clock in own[number:]] for own in self.begins]
        before = [clock - base for clock in self.taken[-max(self.places) - 1 :]]
        last = tuple([clock - base for clock in (*self.busy, *self.asked)])
        return *map(tuple, after), tuple(before), last, self.latest

    def shift(self, clocks):
        """All that has happened is so many ``clocks`` later."""
        self.busy, self.asked = ([c + clocks for c in own] for own in (self.busy, self.asked))

    def need(self, number):
        """Burst ``number`` of both ports is read; and, before it, what is asked for earlier. If
        both may be asked for, the port goes first that did not have the last turn."""
        while min(map(len, self.begins)) <= number:
            clocks = [(self._earliest(port), port == self.latest, port) for port in (0, 1)]
            clock, _, port = min(each for each in clocks if each[0] is not None)
            master = self.master[port]
            begin = max(clock + self.waits[port], self.busy[master])
            self.busy[master] = begin + self.sizes[len(self.begins[port])] * self.beats
            self.begins[port].append(begin)
            self.asked[master], self.latest = clock, port

    def clock(self, number, row, latest):
        """The clock from which on row ``row`` of burst ``number`` is there; the row before was
        taken in ``latest``."""
        there = max(begins[number] for begins in self.begins) + row * self.beats
        if self.beats == 1:
            return there
        return max(there + self.beats, latest + self.beats)


class _Writes:
    """Clocks in which new rows of squares and of theta leave, burst by burst: the interconnect, and
    then the engine, where a burst waits again until it is whole. ``busy``, ``sent``: the clocks
    behind the last beats that leave them. ``twofold``: a burst of theta, except one of a row of
    biases alone, is written again to the transposed image, when all its rows are there and the next
    burst of squares has left."""

    def __init__(self, engine, interval, twofold, masters):
        self.beats, self.busy, self.sent = beats_of_row(engine), [0] * masters, [0] * masters
        self.twofold, self.copied = twofold, None  # (clock, rows) of the burst to write again
        self.places = max(PORT_WRITE, engine.burst_beats) // self.beats  # rows
        self.latencies = RowUpdate.SQUARES_LATENCY, RowUpdate.LATENCY
        #: Rows that may have begun and not left the RUs.
        self.depths = [(interval + latency - 1) // interval + 1 for latency in self.latencies]
        self.accepted, self.entered, self.left = ([], []), ([], []), ([], [])

    @property
    def lists(self):
        """All lists of clocks."""
        return *self.accepted, *self.entered, *self.left

    def state(self, base):
        """All that the clocks of further bursts depend on, counted from ``base``."""
        most = max(self.places, *self.depths)
        lists = tuple(tuple([clock - base for clock in own[-most:]]) for own in self.lists)
        copied = self.copied and (self.copied[0] - base, self.copied[1])
        return lists, tuple([clock - base for clock in (*self.busy, *self.sent)]), copied

    def shift(self, clocks):
        """All that has happened is so many ``clocks`` later."""
        self.busy, self.sent = ([c + clocks for c in own] for own in (self.busy, self.sent))
        self.copied = self.copied and (self.copied[0] + clocks, self.copied[1])

    def transposed(self):
        """The burst that is to be written again leaves."""
        if self.copied:
            self._leave(1, *self.copied)
            self.copied = None

    def _leave(self, port, clock, rows):
        """A burst that is whole in ``clock`` leaves; returns its first clock."""
        master = port if len(self.busy) > 1 else 0
        begin = max(clock + _GRANT, self.busy[master])
        self.busy[master] = begin + rows * self.beats
        self.sent[master] = max(self.busy[master], self.sent[master]) + rows * self.beats
        return begin

    def room(self):
        """The clock from which on a further row may begin."""
        rows = zip(self.accepted, self.depths, strict=True)
        return max(own[-depth] + 1 if len(own) >= depth else 0 for own, depth in rows)

    def row(self, clock, ends):
        """A row was taken in ``clock``; ``ends``: it is the last of its burst."""
        for port, latency in enumerate(self.latencies):
            accepted, entered, left = (x[port] for x in (self.accepted, self.entered, self.left))
            before = entered[-1] if entered else -1
            accept = max(clock + latency, before + (self.beats == 1))
            number = len(entered)
            room = left[number - self.places] + 1 if number >= self.places else 0
            if self.beats == 1:
                accept = max(accept, room)
                entered.append(accept)
            else:
                entered.append(max(accept + self.beats, room))
            accepted.append(accept)
            if ends:
                rows = number + 1 - len(left)
                if port:
                    self.transposed()
                begin = self._leave(port, entered[-1], rows)
                left += [begin + (k + 1) * self.beats - 1 for k in range(rows)]
                if port and self.twofold and rows > 1:
                    self.copied = entered[-1] + TransposedImage.LATENCY, rows

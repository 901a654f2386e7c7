"""Clocks of an UPDATE of RMSProp on the masters of theta and squares, burst by burst.

Each master reads a beat a clock and writes one, of both images or of its own; a row may be several
beats. A burst is read when the queue of its port has room for the whole burst, and written when
the whole burst is in its queue. So with room for only one or two bursts, rows also wait for memory.
"""

from collections import deque
from dataclasses import dataclass
from functools import cache

from hw.fa3c.masters import AHEAD, PORT_READ, PORT_WRITE
from hw.fa3c.memory.row_update import RowUpdate
from hw.fa3c.memory.run_walk import RunWalk
from hw.fa3c.memory.transposed_image import TransposedImage
from hw.fa3c.rows import ROW
from hw.fa3c.unit.row_clocks import beats_of_row, first_beat
from hw.shell.arbiter import Arbiter
from hw.shell.burst import BurstSplitter
from hw.shell.memory_clocks import latencies
from hw.timing import Master, Port, Repeats, Stage, Walk, slots

__all__ = ["UpdateClocks", "update_clocks"]

#: Clocks from the whole burst in the queue of a port to its first beat behind the interconnect, and
#: from the last beat of a burst in the engine to ``done``, besides those of memory.
_GRANT, _DONE = Arbiter.LATENCY, 7
#: Clocks from a row that leaves a queue to a request in its place, less those of the cutting into
#: bursts, which come before.
_CREDIT = 1 - BurstSplitter.LATENCY


@dataclass(frozen=True, eq=False)
class UpdateClocks:
    """Clocks of an UPDATE that never waits for its gradient, from the taking of the command.

    taken : when the RUs take each row
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
    walk = _Bursts(engine, Repeats(sizes, int), ROW // rms_units, twofold, masters)
    sent = max(stage.next for stage in walk.sent) + walk.skipped
    return UpdateClocks(tuple(walk.events), sent + latencies(engine)["write"] + _DONE)


class _Bursts(Walk):
    """The way of the rows of theta and squares from memory through the RUs and back, burst by
    burst. ``clock``: the RUs take the latest row.

    sizes : Repeats of the rows of each burst
    interval : clocks of a row in the RUs
    twofold : a burst of theta, except one of a row of biases only, is written again to the
        transposed image, when it is whole and the next burst of squares has left
    masters : of theta and squares

    ``events`` : when the RUs take each row
    """

    def __init__(self, engine, sizes, interval, twofold, masters):
        self.sizes, self.beats, self.twofold = sizes, beats_of_row(engine), twofold
        self.rows, self.events, self.clock = Stage(interval=interval), [], -1
        reads = [Master(RunWalk.LATENCY) for _ in range(masters)]
        # If a row is several beats, the last of them leaves the queue before the row is taken.
        credit = _CREDIT - (interval if self.beats > 1 else 0)
        self.ports = [
            Port(
                reads[master],
                first_beat(engine, latencies(engine)["read"], max(depth, engine.burst_beats)),
                self.beats,
                max(depth, engine.burst_beats) // self.beats,
                credit,
            )
            for depth, master in ((AHEAD, 0), (AHEAD if masters > 1 else PORT_READ, masters - 1))
        ]
        # Of each port: bursts asked for, the first beats of those that are not yet taken.
        self.asked, self.begins, self.latest = [0, 0], (deque(), deque()), 1
        places = max(PORT_WRITE, engine.burst_beats) // self.beats
        self.written = [
            _Written(latency, interval, places, self.beats)
            for latency in (RowUpdate.SQUARES_LATENCY, RowUpdate.LATENCY)
        ]
        # Of each master that writes: the interconnect, and the engine, where a burst waits again
        # until it is whole.
        self.busy, self.sent = ([Stage() for _ in range(masters)] for _ in range(2))
        self.copied = None  # (clock, rows) of the burst to write again
        self.walk(sizes)
        self._copy()

    def step(self, rows):
        begin = self._begin()
        squares, theta = self.written
        for row in range(rows):
            ready = begin + row * self.beats
            if self.beats > 1:
                ready = max(ready, self.clock) + self.beats
            self.rows.begin(max(ready, squares.room[0], theta.room[0]))
            self.clock = self.rows.next - 1
            self.events.append(self.clock + self.skipped)
            for port in self.ports:
                port.release([self.clock])
            for image in self.written:
                image.row(self.clock)
        self._leave(squares, squares.entered, rows, 0)
        self._copy()
        self._leave(theta, theta.entered, rows, -1)
        if self.twofold and rows > 1:
            self.copied = theta.entered + TransposedImage.LATENCY, rows

    def _begin(self):
        """The first beat of the next burst, when both images have it. If both ports have a request,
        the one without the last turn goes first."""
        while not all(self.begins):
            clock, _, number = min(each for each in map(self._request, (0, 1)) if each)
            port, rows = self.ports[number], self.sizes.items[self.asked[number]]
            self.begins[number].append(port.read(clock, rows))
            self.asked[number] += 1
            self.latest = number
        return max(begins.popleft() for begins in self.begins)

    def _request(self, number):
        """The next request of port ``number``; None if its clock is not yet known."""
        if self.asked[number] == len(self.sizes):
            return None
        clock = self.ports[number].earliest(self.sizes.items[self.asked[number]])
        return None if clock is None else (clock, number == self.latest, number)

    def _leave(self, image, clock, rows, master):
        """A burst that is whole in ``clock`` leaves."""
        begin = self.busy[master].begin(clock + _GRANT, rows * self.beats)
        self.sent[master].begin(self.busy[master].next, rows * self.beats)
        if image:
            image.leave(begin, rows)

    def _copy(self):
        """The burst that is to be written again leaves."""
        if self.copied:
            self._leave(None, *self.copied, -1)
            self.copied = None

    def state(self):
        # Requests are found late, so what was before ``clock`` counts, too.
        clocks = [stage.next for stage in (*self.busy, *self.sent)]
        lists = [clocks, *self.begins, *(port.master.clocks() for port in self.ports)]
        lists += [port.free for port in self.ports]
        lists += [own for image in self.written for own in (image.room, image.free, image.last())]
        lists += [self.copied[:1] if self.copied else ()]
        base = self.clock
        rows = self.copied and self.copied[1]
        return *[tuple([clock - base for clock in own]) for own in lists], self.latest, rows

    def counts(self):
        return tuple(self.asked)

    def times(self, items, before, now):
        # Bursts that were asked for early, and the next one, must be as before, too.
        times, period = super().times(items, before, now), now[0] - before[0]
        return times - -(-(max(now[2]) - now[0] + 1) // period) if times else 0

    def repeat(self, before, now, times, clocks):
        self.asked = [n + times * (n - old) for n, old in zip(now, before, strict=True)]


class _Written:
    """The new rows of one image, from the RUs to the queue of its port.

    ``room`` : the slots of rows between the RUs' intake and the queue
    ``entered`` : the clock of the latest row in the queue
    """

    def __init__(self, latency, interval, places, beats):
        self.latency, self.beats = latency, beats
        self.room = slots((interval + latency - 1) // interval + 1)
        self.free, self.entered = deque([0] * places), -1

    def last(self):
        """The clock of the latest row, as a list."""
        return [self.entered]

    def row(self, clock):
        """A row was taken in ``clock``."""
        place = self.free.popleft()
        if self.beats == 1:
            accepted = self.entered = max(clock + self.latency, self.entered + 1, place)
        else:
            accepted = max(clock + self.latency, self.entered)
            self.entered = max(accepted + self.beats, place)
        self.room.append(accepted + 1)

    def leave(self, begin, rows):
        """A burst of ``rows`` rows leaves the queue from clock ``begin`` on."""
        first = begin + self.beats
        self.free.extend(range(first, first + rows * self.beats, self.beats))

"""When units act: stages, reads of memory, and walks that leave out what repeats.

A clock formula follows items through units, in max-plus algebra: an event happens at the latest of
the clocks that it waits for, and no value of the data is needed. Item n of a ``Stage``::

    begin[n]  = max(ready[n], begin[n - 1] + interval, free[n - slots])
    result[n] = begin[n] + latency

    clock   0   1   2   3   4   5   6   7   8   9  10
    item 0  B---------------R                           B: begin, R: result, 4 clocks later
    item 1          B---------------R                   an interval of 2 clocks
    item 2                      B---------------R       waits for one of 2 slots, free in clock 5

``slots(count)`` models the places of a queue, a buffer or a bank: a deque with the clock that frees
each place, in the order of use. A ``Port`` reads bursts from memory into such a queue.

All rules add constants to clocks and take maxima. So a walk whose state equals an earlier one, up
to a shift in time, repeats what followed then: ``Walk`` finds such a period, walks it once and
multiplies it. Skipped periods leave the units' own clocks unchanged; ``Walk.skipped`` is added to
results, and to clocks that pass between two walks.

Latencies, intervals and depths are declared by the units themselves, next to their hardware.
"""

from collections import deque

__all__ = ["Master", "Port", "Repeats", "Stage", "Walk", "drawn", "pending", "picture"]
__all__ += ["since", "slots"]


def slots(count):
    """``count`` slots, used in turn: the clocks that free them, the next slot first. Append the
    clock that frees the slot just used."""
    return deque([0] * count, maxlen=count)


def since(clocks, base):
    """How much later than clock ``base`` each of ``clocks`` is, or 0: what happens after ``base``
    does not depend on when before it another event was."""
    return tuple([max(0, clock - base) for clock in clocks])


def pending(clocks, base):
    """``since`` for rising ``clocks``, without its zeros: of events after ``base`` only."""
    later = []
    for clock in reversed(clocks):
        if clock <= base:
            break
        later.append(clock - base)
    return tuple(later)


def picture(text, units):
    """``text`` and the schedule of ``units``, as Markdown."""
    return "\n".join([f"{text}\n", "```", *drawn(units), "```\n"])


def drawn(units, columns=72):
    """Lines of a picture of a schedule. Time goes to the right; a column shows the last digit of
    the item that a unit works on, or # for a unit with a single item.

    units : ``{name: [(begin, end), ...]}``: when the unit begins each item, and may begin the next
    columns : largest width of the time axis
    """
    last = max(end for spans in units.values() for _, end in spans)
    scale, width = -(-last // columns), max(map(len, units))
    marks = range(0, last // scale, 10)
    heading = f"{scale} clocks a column"
    width = max(width, len(heading))
    yield f"{heading:{width}} {''.join(f'|{scale * n:<9}' for n in marks)}".rstrip()
    for name, spans in units.items():
        line = [" "] * -(-last // scale)
        for number, (begin, end) in enumerate(spans):
            for column in range(begin // scale, -(-end // scale)):
                line[column] = str(number % 10) if len(spans) > 1 else "#"
        yield f"{name:{width}} {''.join(line)}".rstrip()


class Stage:
    """A unit that begins one item after the other.

    latency : int
        Clocks from the beginning of an item to its result.
    interval : int
        Least clocks between the beginnings of two items.
    next : int
        Earliest clock of the next item.
    """

    __slots__ = ("interval", "latency", "next")

    def __init__(self, latency=0, interval=1):
        self.latency, self.interval, self.next = latency, interval, 0

    def begin(self, ready, interval=None):
        """Begins the next item when it is ``ready`` and the stage is free; returns that clock. It
        occupies the stage for ``interval`` clocks, None: the stage's own."""
        clock = ready if ready > self.next else self.next
        self.next = clock + (self.interval if interval is None else interval)
        return clock


class Master:
    """A master of memory: it takes a request and brings a beat in each clock, in order.

    requests, beats : Stage
    """

    def __init__(self, begin=0):
        """``begin``: clock of the earliest request."""
        self.requests, self.beats = Stage(), Stage()
        self.requests.next = begin

    def clocks(self):
        """All clocks that decide about later bursts."""
        return self.requests.next, self.beats.next


class Port:
    """Bursts of rows that a port reads. A burst is asked for when the port's queue has places for
    all of its rows, and begins ``first_beat`` clocks later, or when its master has brought earlier
    ones.

    master : Master
    first_beat : int
        Clocks from a request to its first beat.
    beats, depth : int
        Beats of a row; rows that the queue holds.
    credit : int
        Clocks from a row that leaves the queue to a request in its place.
    """

    def __init__(self, master, first_beat, beats, depth, credit):
        self.master, self.first_beat, self.beats, self.credit = master, first_beat, beats, credit
        #: Earliest request for each free place.
        self.free = deque([0] * depth)

    def earliest(self, rows):
        """Earliest clock of a request for ``rows`` rows; None while places are taken."""
        if rows > len(self.free):
            return None
        return max(self.master.requests.next, self.free[rows - 1])

    def read(self, clock, rows, beats=None):
        """The clock of the first beat of ``rows`` rows that are asked for in ``clock``, or when
        they can be; ``beats``: clocks that the master is busy with them, None: their beats."""
        clock = self.master.requests.begin(max(clock, self.free[rows - 1]))
        for _ in range(rows):
            self.free.popleft()
        beats = rows * self.beats if beats is None else beats
        return self.master.beats.begin(clock + self.first_beat, beats)

    def release(self, clocks):
        """A row leaves the queue in each of ``clocks``."""
        self.free.extend([clock + self.credit for clock in clocks])


class Repeats:
    """A sequence of ``items``. Items with equal values of ``key`` are alike; None: all are."""

    def __init__(self, items, key=None):
        self.items, numbers = list(items), {}
        keys = [0] * len(self.items) if key is None else map(key, self.items)
        self.numbers = [numbers.setdefault(each, len(numbers)) for each in keys]

    def __len__(self):
        return len(self.items)

    def times(self, before, now):
        """How often the items from place ``before`` up to ``now`` follow again from ``now`` on."""
        period, found = self.numbers[before:now], 0
        while period and self.numbers[now : now + len(period)] == period:
            now, found = now + len(period), found + 1
        return found


class Walk:
    """A walk through items that skips whole periods. A subclass defines ``step``, ``state`` and,
    where a period changes more than clocks, ``counts``, ``times`` and ``repeat``.

    clock : int
        A clock that rises from item to item. No later event happens before it.
    skipped : int
        Clocks of the periods that were skipped, to be added to every clock of the walk.
    events : list of int
        Clocks that a subclass keeps, ``skipped`` included: skipped periods add theirs.
    """

    clock = skipped = 0
    events = ()

    def walk(self, items):
        """Steps through ``items``, a Repeats."""
        place, seen = 0, {}
        while place < len(items):
            self.step(items.items[place])
            place += 1
            state = self.state()
            now = place, self.clock + self.skipped, self.counts(), len(self.events)
            before, seen[state] = seen.get(state, now), now
            times = self.times(items, before, now)
            if times > 0:
                clocks, period = now[1] - before[1], self.events[before[3] :]
                self.repeat(before[2], now[2], times, clocks)
                for shift in range(clocks, (times + 1) * clocks, clocks) if period else ():
                    self.events += [clock + shift for clock in period]
                self.skipped += times * clocks
                place += times * (now[0] - before[0])

    def step(self, item):
        """Finds the clocks of the next item."""
        raise NotImplementedError

    def state(self):
        """All that the clocks of later items depend on, counted from ``clock``, hashable."""
        raise NotImplementedError

    def counts(self):
        """Numbers that grow from period to period."""
        return ()

    def times(self, items, before, now):
        """How often the period from ``before`` to ``now`` follows again; each is ``(place, clock,
        counts, events)``."""
        return items.times(before[0], now[0])

    def repeat(self, before, now, times, clocks):
        """A period is skipped ``times`` times, each of ``clocks`` clocks: ``counts`` go on as from
        ``before`` to ``now``."""

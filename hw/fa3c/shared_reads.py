"""When tasks end if more compute units read parameters than the local masters have beats for.

By itself a unit reads at most a row a clock, and units up to the number of local masters do not
slow each other down. More units share the beats: a unit gets its request or, if all requests are
too much, the same share as the others. A unit asks while its ring has room; it works at its own
pace while rows are in the ring, and at the pace of its share when the ring is empty. Rates are
constant between two events (a pass ends, a ring is full or empty), so the walk goes from event to
event.

Where a row is several beats, bursts of a master wait for each other besides; that is not counted.
"""

from typing import NamedTuple

__all__ = ["PassReads", "TaskReads", "shared_times"]

#: Rows or clocks that count as none.
_NONE = 1e-6


class PassReads(NamedTuple):
    """A pass of a task.

    clocks : from the end of the pass before to its own, in a task by itself
    rows : rows of parameters that it reads
    resident : whether they stay in the ring until it ends
    """

    clocks: int
    rows: int
    resident: bool


class TaskReads(NamedTuple):
    """A task of a unit's queue: it begins at clock ``ready`` or, if that is later, when the unit's
    task before it ends. ``passes`` are PassReads."""

    ready: int
    passes: tuple


def shared_times(queues, ring, port, capacity):
    """``[(begin, ends), ...]`` of the tasks of each queue, in clocks; ``ends`` of the passes are
    counted from ``begin``.

    queues : for each unit the list of its TaskReads
    ring : rows of a parameter buffer
    port : rows a clock that a unit can read
    capacity : rows a clock of all local masters together
    """
    # Units with the same tasks are walked as one.
    keys = [tuple(tasks) for tasks in queues]
    alike = {key: _Unit(key, ring, port, keys.count(key)) for key in keys}
    units, clock = list(alike.values()), 0
    while True:
        for unit in units:
            unit.try_begin(clock)
        working = [unit for unit in units if unit.task]
        waiting = [unit.ready for unit in units if unit.ready is not None]
        if not working and not waiting:
            return [alike[key].times for key in keys]
        _share(working, capacity)
        steps = [each - clock for each in waiting] + [unit.until_event() for unit in working]
        clock += max(0, min(steps))
        for unit in working:
            unit.advance(max(0, min(steps)), clock)


def _share(units, capacity):
    """Gives each unit the rows a clock that it asks for, or an equal share of what others leave."""
    left = sum(unit.count for unit in units)
    for wanted, _, unit in sorted((unit.wanted(), n, unit) for n, unit in enumerate(units)):
        unit.rate = min(wanted, capacity / left)
        capacity, left = capacity - unit.count * unit.rate, left - unit.count


class _Unit:
    """``count`` compute units with the same tasks. ``rate``: rows a clock that each is given until
    the next event. ``times``: of the tasks that have begun; ``ready``: when the next may begin,
    None: not yet."""

    def __init__(self, tasks, ring, port, count):
        self.left, self.ring, self.port, self.times = list(tasks), ring, port, []
        self.count = count
        self.task, self.rate, self.ended = None, 0, 0

    @property
    def ready(self):
        return max(self.left[0].ready, self.ended) if self.left and not self.task else None

    def try_begin(self, clock):
        if self.ready is None or self.ready > clock + _NONE:
            return
        self.task = self.left.pop(0)
        self.number, self.done = 0, 0  # the pass, and clocks of it at its own pace
        #: Rows of the task that were read, and that passes before this one have taken.
        self.read, self.before = 0, 0
        self.total = sum(each.rows for each in self.task.passes)
        self.begun = clock
        self.times.append((round(clock), []))

    @property
    def current(self):
        return self.task.passes[self.number]

    @property
    def pace(self):
        """Rows that the pass takes a clock at its own pace."""
        return self.current.rows / self.current.clocks

    @property
    def held(self):
        """Rows that are in the ring and not taken."""
        return self.read - self.before - self.pace * self.done

    @property
    def room(self):
        taken = 0 if self.current.resident else self.pace * self.done
        return self.ring + self.before + taken - self.read

    @property
    def speed(self):
        """The pace of the pass, as a share of its own pace."""
        if not self.pace or self.held > _NONE or self.all_read:
            return 1
        return min(1, self.rate / self.pace)

    @property
    def all_read(self):
        return self.total - self.read <= _NONE

    def wanted(self):
        """Rows a clock that it asks for."""
        if self.all_read:
            return 0
        if self.room > _NONE:
            return self.port
        return 0 if self.current.resident else min(self.port, self.pace)

    def until_event(self):
        """Clocks until its rates may change."""
        taken, speed = self.pace * self.speed, self.speed
        freed = 0 if self.current.resident else taken
        steps = [(self.current.clocks - self.done) / speed] if speed else []
        for amount, rate in (
            (self.held, taken - self.rate),
            (self.room, self.rate - freed),
            (self.total - self.read, self.rate),
        ):
            if amount > _NONE and rate > _NONE:
                steps.append(amount / rate)
        return min(steps)

    def advance(self, clocks, now):
        self.done, self.read = self.done + self.speed * clocks, self.read + self.rate * clocks
        if self.done < self.current.clocks - _NONE:
            return
        self.times[-1][1].append(round(now - self.begun))
        self.before += self.current.rows
        self.read = max(self.read, self.before)
        self.number, self.done = self.number + 1, 0
        if self.number == len(self.task.passes):
            self.task, self.ended = None, now

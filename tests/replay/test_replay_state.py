"""replay_state: where the next experience goes, at what priority, and what is kept meanwhile."""

import random

import pytest
from clocks import Clocks
from programs import bits_of

from hw.replay.commands import COMMANDS, MAX_GRANULES, Opcode
from hw.replay.config import ReplayConfig
from hw.replay.replay_state import ReplayState

SMALL = dict(capacity=5, priority_width=8, priority_fraction=4)
#: A power of two: its number needs a bit more than that of the last place.
LARGE = dict(capacity=1024, priority_width=24)


class Driven:
    """Clocks of a ``ReplayState``; what it must show in each, by the rules of its commands.

    ``largest`` is of the manager, ``priority`` of the INSERT that is under way.
    """

    def __init__(self, config, beat_bytes):
        self.config, self.beat_bytes, self.clocks = config, beat_bytes, Clocks()
        self.capacity, self.initial = config.capacity, config.one
        self.granules = self.extent = self.position = self.fill = 0
        self.restored = self.saturations = self.largest = 0
        self.kept, self.literal = None, {}

    def shows(self, **outputs):
        """What the next clock must show, worked out by hand."""
        self.literal = outputs

    def clock(self, opcode=Opcode.INSERT, priority=0, saturated=0, fields=None, **pulses):
        """A clock with these pulses; before its edge the ring shows what the last ones made it."""
        fields = dict(priority=priority) if fields is None else fields
        clock = self.clocks.add(
            raw=bits_of(COMMANDS, opcode, **fields),
            largest=self.largest,
            priority=priority,
            saturated=saturated,
            **pulses,
        )
        if opcode == Opcode.INSERT:
            maximum = max(self.largest, self.restored)
            self.clocks.expect(clock, maximum=maximum, entry=priority or maximum or self.initial)
        beat_granules = self.beat_bytes // 16
        self.clocks.expect(
            clock,
            stride=-(-self.granules // beat_granules),
            **{
                name: getattr(self, name)
                for name in ("capacity", "granules", "extent", "position", "fill", "saturations")
            },
        )
        shown = self.clocks.expected[clock]
        assert self.literal == {name: shown[name] for name in self.literal}, f"clock {clock}"
        self.literal = {}
        self.saturations += saturated

    def setup(self, capacity, granules, priority, extent=7):
        fields = dict(capacity=capacity, granules=granules, priority=priority)
        self.clock(Opcode.SETUP, fields=fields, setup=1, transfer=extent)
        self.capacity, self.granules, self.initial = capacity, granules, priority
        self.extent = extent
        self.position = self.fill = self.restored = self.saturations = self.largest = 0
        self.kept = None

    def restore(self, position, fill, maximum):
        fields = dict(position=position, fill=fill, maximum=maximum)
        self.clock(Opcode.RESTORE, fields=fields, restore=1)
        self.position, self.fill, self.restored = position, fill, maximum
        self.kept = None

    def advance(self, count=1, **inputs):
        for _ in range(count):
            self.clock(advance=1, **inputs)
            self.position = (self.position + 1) % self.capacity
            self.fill = min(self.fill + 1, self.capacity)

    def mark(self):
        self.clock(mark=1)
        self.kept = self.position, self.fill

    def rewind(self):
        self.clock(rewind=1)
        self.position, self.fill = self.kept

    def run(self, simulate, directory):
        self.clock()
        self.clocks.run(simulate, ReplayState(self.config, self.beat_bytes), directory)


def test_literal(simulate, tmp_path):
    """Each case with the numbers that come of it, worked out by hand."""
    ring = Driven(ReplayConfig(**SMALL), 64)
    # Before any SETUP: the config's capacity, and the priority 1.0.
    assert (ring.capacity, ring.initial) == (5, 16)
    ring.clock()
    ring.clock(priority=3)
    # 5 granules are two beats of 64 bytes, 4 are one, none is none.
    for granules, stride in ((5, 2), (4, 1), (1, 1), (0, 0), (MAX_GRANULES, 1024)):
        ring.setup(3, granules, 9)
        ring.shows(stride=stride)
        ring.clock()
    # The largest priority so far enters, not SETUP's, as soon as there is one.
    ring.setup(3, 1, 9)
    ring.shows(entry=9, maximum=0)
    ring.clock()
    ring.largest = 3
    ring.shows(entry=3, maximum=3)
    ring.clock()
    ring.restore(0, 3, 5)
    ring.shows(entry=5, maximum=5)
    ring.clock()
    ring.largest = 6
    ring.shows(entry=6, maximum=6)
    ring.clock()
    ring.shows(entry=1)
    ring.clock(priority=1)
    # The last place, and the first again; fill stays at the capacity.
    ring.setup(3, 1, 9)
    ring.advance(2)
    ring.mark()
    ring.advance(saturated=1)
    ring.shows(position=0, fill=3, saturations=1)
    ring.advance(saturated=1)
    ring.shows(position=1, fill=3, saturations=2)
    # Back before the wrap, and forward over it again.
    ring.rewind()
    ring.shows(position=2, fill=2, saturations=2)
    ring.advance(2)
    # Twice back to the same place: a mark is kept.
    ring.rewind()
    ring.clock(saturated=1)
    ring.shows(position=2, fill=2, saturations=3)
    # A full memory that is restored goes on at its position.
    ring.restore(2, 3, 0)
    ring.advance()
    ring.shows(position=0, fill=3)
    ring.restore(1, 1, 0)
    ring.shows(position=1, fill=1, maximum=0, entry=9)
    ring.advance()
    ring.run(simulate, tmp_path)


@pytest.mark.parametrize("config, beat_bytes", [(SMALL, 64), (LARGE, 16)], ids=["small", "large"])
def test_random(simulate, tmp_path, config, beat_bytes):
    """Everything in any order, at every capacity."""
    config = ReplayConfig(**config)
    rng, ring = random.Random(1), Driven(config, beat_bytes)
    limit = config.priority_limit

    def advance():
        priority = rng.choice([0, 0, 1, limit])
        ring.advance(rng.randint(1, 4), priority=priority, saturated=rng.randrange(2))

    def idle():
        ring.largest = rng.choice([0, 1, limit, rng.randint(0, limit)])
        ring.clock(priority=rng.choice([0, limit]), saturated=rng.randrange(2))

    def setup():
        capacity = rng.choice([2, 3, config.capacity])
        ring.setup(capacity, rng.randint(0, 9), rng.randint(1, limit), rng.randrange(1000))

    def restore():
        position = rng.choice([0, ring.capacity - 1, rng.randrange(ring.capacity)])
        fill = rng.choice([position, ring.capacity])
        ring.restore(position, fill, rng.choice([0, limit, rng.randint(0, limit)]))

    def rewind():
        if ring.kept is None:
            ring.mark()
        else:
            ring.rewind()

    for _ in range(400):
        rng.choices([advance, idle, setup, restore, ring.mark, rewind], [6, 4, 1, 1, 3, 3])[0]()
    ring.run(simulate, tmp_path)


def test_saturations_end(simulate):
    ring = ReplayState(ReplayConfig(**SMALL), 64)
    # A start that no bench could count to; Verilator forgets what a bench writes to a register.
    ring.saturations._init = 2**32 - 2
    simulate(ring, "replay.replay_state_bench", config=SMALL)

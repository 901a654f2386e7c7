"""Random programs of the replay kernel that know what the memory holds."""

import random

import numpy as np
from replay.programs import Program

from hw.replay.commands import Opcode
from hw.replay.config import FRACTION_WIDTH
from hw.replay.records import GRANULE_BYTES

__all__ = ["MAX_RECORD", "RandomPrograms"]

#: Of an experience: none, parts of a beat, a beat, a bit more, and many.
GRANULES = (0, 1, 3, 4, 5, 64)
#: Bytes that the longest of these takes in storage at any data width.
MAX_RECORD = max(GRANULES) * GRANULE_BYTES
#: Relative frequency of each command.
FREQUENCIES = dict(
    setup=0.3, seed=0.5, restore=0.2, insert=3, set=2, update=2, sample=4, find=2, get=1
)


class RandomPrograms:
    """``program(length)`` is the next one; call ``learn(status)`` after each launch.

    What a command finds can differ from what was known when it was chosen (a total, after an
    UPDATE): hardware and twin must agree all the same.
    """

    def __init__(self, config, seed):
        self.replay, self.rng = config.replay, random.Random(seed)
        self.beat = config.engine.beat_bytes
        self.bytes = np.random.default_rng(seed)
        self.fill = self.granules = self.total = 0
        self.capacity = self.replay.capacity

    def learn(self, status):
        """``status``: the REPLAY_STATUS record after the last launch."""
        for name in ("fill", "granules", "total", "capacity"):
            setattr(self, name, int(status[name]))

    def program(self, length, bad=None):
        """At least ``length`` commands; with ``bad``, a function of ``bad_commands``, that and a
        SEED, which must not run, at the end."""
        program = Program(self.granules, beat=self.beat)
        while len(program) < length:
            (name,) = self.rng.choices(list(FREQUENCIES), FREQUENCIES.values())
            getattr(self, name if self.fill else "insert")(program)
        if bad:
            if not self.fill:
                self.insert(program)
            bad(self, program)
            self.seed(program)
        return program.launch()

    def count(self):
        return self.rng.choice([1, 2, self.rng.randint(1, 20), self.rng.randint(1, 200)])

    def priority(self):
        limit = self.replay.priority_limit
        return self.rng.choice([0, 1, limit, self.rng.randint(0, limit), self.rng.randint(0, 99)])

    def indexes(self, count):
        """Mostly a few, so that equal ones meet."""
        few = [self.rng.randrange(self.fill) for _ in range(3)]
        return [
            self.rng.choice([*few, 0, self.fill - 1, self.rng.randrange(self.fill)])
            for _ in range(count)
        ]

    def items(self, count):
        return [(index, self.priority()) for index in self.indexes(count)]

    def records(self, count):
        return self.bytes.integers(0, 256, (count, self.granules * GRANULE_BYTES), np.uint8)

    def beta(self):
        return self.rng.choice([0, 1, 1 << 14, 1 << 15, 0xFFFF])

    def setup(self, program):
        own = self.replay.capacity
        self.capacity = self.rng.choice([2, 3, own, own - 1, self.rng.randint(2, own)])
        self.granules, self.fill = self.rng.choice(GRANULES), 0
        program.setup(self.capacity, self.granules, self.rng.randint(1, self.replay.priority_limit))

    def seed(self, program):
        program.raw(Opcode.SEED, state=[self.rng.getrandbits(64) for _ in range(4)])

    def restore(self, program):
        self.fill = self.rng.choice([self.capacity, self.rng.randint(1, self.capacity)])
        full = self.fill == self.capacity
        program.raw(
            Opcode.RESTORE,
            fill=self.fill,
            position=self.rng.randrange(self.capacity) if full else self.fill,
            maximum=self.rng.randint(0, self.replay.priority_limit),
        )

    def insert(self, program):
        count = min(self.capacity, self.rng.choice([self.count(), 200]))
        self.fill = min(self.fill + count, self.capacity)
        records, way = self.records(count), self.rng.randrange(3)
        if way == 0:
            program.insert(records, priority=self.priority())
        elif way == 1:
            program.insert(records, priorities=[self.priority() for _ in range(count)])
        else:
            program.insert(records, td_errors=self.errors(count), **self.power())

    def set(self, program):
        program.listed(Opcode.SET, self.items(self.count()))

    def update(self, program):
        indexes = self.indexes(self.count())
        program.update(indexes, self.errors(len(indexes)), **self.power())

    def errors(self, count):
        """TD errors."""
        return [
            self.rng.choice([0.0, -1.0, 1e-30, 65536.0, 3e38, self.rng.gauss(0, 2)])
            for _ in range(count)
        ]

    def power(self):
        """What makes priorities of them."""
        return dict(
            alpha=self.rng.choice([0, 19661, 1 << 15, 0xFFFF]),
            epsilon=self.rng.choice([0, 7, 0xFFFF]),
        )

    def sample(self, program):
        count = min(self.fill, self.rng.choice([self.count(), 200]))
        whole = 1 << FRACTION_WIDTH
        step = self.rng.choice([whole, whole // count, self.rng.getrandbits(48)])
        program.sample(count, beta=self.beta(), stratum_width=step)

    def find(self, program):
        if self.total:
            positions = [0, self.total // 3, self.rng.randrange(self.total)]
            program.listed(
                Opcode.FIND, self.rng.choices(positions, k=self.count()), beta=self.beta()
            )

    def get(self, program):
        program.listed(Opcode.GET, self.indexes(self.count()), beta=self.beta())

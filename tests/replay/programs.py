"""Programs of the replay kernel for tests."""

import numpy as np
import programs
from programs import BLANK, Builder

from hw.replay.commands import COMMANDS, Given, Opcode
from hw.replay.config import FRACTION_WIDTH
from hw.replay.records import GRANULE_BYTES, HEADER, ITEM, REPLAY_STATUS

__all__ = ["BLANK", "CLOCKS", "Program", "Rig", "masked", "status_of", "tour"]

CLOCKS = ("draw_cycles", "gather_cycles", "write_cycles")


def items_of(pairs):
    """A list of operands of ``(index, value)``."""
    array = np.zeros(len(pairs), ITEM.dtype)
    array["index"], array["value"] = np.array(pairs, np.uint64).T
    return array


class Program(Builder):
    """Lists and batches each begin on 64 bytes.

    ``granules`` of an experience: what the kernel will hold when the next command runs.
    """

    def __init__(self, granules=0, commands=COMMANDS, beat=64):
        super().__init__(commands, beat)
        self.granules = granules

    def setup(self, capacity, granules, priority):
        self.granules = granules
        self.raw(Opcode.SETUP, capacity=capacity, granules=granules, priority=priority)

    def listed(self, opcode, items, **fields):
        """SET, UPDATE (pairs of index and value), GET (indexes) or FIND (positions)."""
        if opcode == Opcode.FIND:
            array = np.array(items, "<u8")
        else:
            array = items_of([(i, 0) for i in items] if opcode == Opcode.GET else items)
        payload = self.granules if opcode == Opcode.FIND else 0
        if opcode in (Opcode.FIND, Opcode.GET) and "destination" not in fields:
            fields["destination"] = self._batch(len(items), payload)
        self.raw(opcode, **{"count": len(items), "source": self.operand(array), **fields})

    def update(self, indexes, errors, **fields):
        bits = np.array(errors, np.float32).view(np.uint32)
        self.listed(Opcode.UPDATE, list(zip(indexes, bits, strict=True)), **fields)

    def insert(self, records, priority=0, priorities=None, td_errors=None, **fields):
        """``records``: uint8 [n, 16 * granules]; one priority for all, or a list of raw ones, or of
        TD errors."""
        values = dict(count=len(records), source=self.operand(records), priority=priority)
        if td_errors is not None:
            priorities = np.array(td_errors, np.float32).view(np.uint32)
        if priorities is not None:
            # Nothing reads their indexes.
            items = items_of([(0xDEAD_BEEF, value) for value in priorities])
            given = Given.PRIORITIES if td_errors is None else Given.TD_ERRORS
            values |= dict(given=given.value, priorities=self.operand(items))
        self.raw(Opcode.INSERT, **{**values, **fields})

    def sample(self, count, *, beta=0, stratum_width=1 << FRACTION_WIDTH):
        self.raw(
            Opcode.SAMPLE,
            count=count,
            stratum_width=stratum_width,
            beta=beta,
            destination=self._batch(count, self.granules),
        )

    def _batch(self, count, granules):
        return self.result(count * (HEADER.size + granules * GRANULE_BYTES))


class Rig(programs.Rig):
    """A kernel with a replay memory of ``storage_bytes``."""

    def __init__(self, kernel, storage_bytes, timeout_s=60.0):
        super().__init__(kernel, {"storage": storage_bytes}, REPLAY_STATUS, CLOCKS, timeout_s)


def status_of(block):
    """``(STATUS record, REPLAY_STATUS record)`` of the bytes of a status block."""
    return programs.status_of(block, REPLAY_STATUS)


def masked(block):
    """A copy with the clock counts at 0."""
    return programs.masked(block, REPLAY_STATUS, CLOCKS)


def tour(config, granules, seed=1):
    """Launches with every command, an insert over the end of the ring, and one bad item."""
    rng = np.random.default_rng(seed)
    replay, capacity = config.replay, config.replay.capacity
    record = (granules * GRANULE_BYTES,)

    def records(count):
        return rng.integers(0, 256, (count, *record), np.uint8)

    first = Program()
    first.setup(capacity, granules, replay.one)
    first.raw(Opcode.SEED, state=rng.integers(0, 1 << 63, 4))
    first.insert(records(capacity - 7))
    first.sample(8, beta=1 << 14)

    second = Program(granules)
    second.insert(records(20), priority=3)
    second.insert(records(3), priorities=[5, 0, replay.one])
    second.insert(records(9), td_errors=rng.standard_normal(9), alpha=19661, epsilon=7)
    indexes = rng.permutation(capacity)[:12]
    second.listed(Opcode.SET, [(i, rng.integers(0, replay.priority_limit)) for i in indexes])
    second.update(indexes[:9], rng.standard_normal(9) * 3, alpha=19661, epsilon=7)
    second.insert(records(2))
    second.sample(16, beta=1 << 15, stratum_width=(1 << FRACTION_WIDTH) // 16)
    second.listed(Opcode.FIND, [0, 1, 2, replay.one // 2, replay.one], beta=100)
    second.listed(Opcode.GET, range(capacity), beta=1 << 15)

    third = Program(granules)
    third.listed(Opcode.SET, [(0, 0), (capacity, 1), (1, 5)])
    third.sample(1)

    fourth = Program()
    fourth.setup(5, 0, 9)
    fourth.raw(Opcode.RESTORE, position=4, fill=5, maximum=77)
    fourth.insert(records(3)[:, :0])
    fourth.sample(5, beta=7)
    return [program.launch() for program in (first, second, third, fourth, Program())]

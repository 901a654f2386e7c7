"""Bit-exact twin of the ``replay`` kernel: ``hw.replay.core`` with its engines."""

import numpy as np

from hw.replay.commands import BUFFERS, COMMANDS, Given, Opcode
from hw.replay.config import ReplayKernelConfig
from hw.replay.records import GRANULE_BYTES, REPLAY_STATUS, Error
from sim.model.program import CommandTwin, ProgramTwin
from sim.model.replay.ring import PrioritizedRing
from sim.model.replay.tree.loops import store, write_batch
from sim.model.replay.weight import weights

__all__ = ["ReplayCore", "ReplayKernel"]

# What a command returns whose every item was right.
_DONE = Error.NONE, 0
_NOTHING, _TD_ERRORS = Given.NOTHING.value, Given.TD_ERRORS.value
# The experiences of a batch of headers alone.
_NO_WORDS = np.zeros(0, np.uint32)


class ReplayCore(CommandTwin):
    """Executes the commands of ``hw.replay.commands`` on a ``PrioritizedRing`` and card memory.

    config : ReplayKernelConfig, or another with its fields
    wrong : None, or a function that checks the experiences of an INSERT, uint32 [count, words of
        one]. It returns ``(error, position)`` of the first bad one; an error of 0 means that all
        are taken. After an error the INSERT is refused, and the leaves of its places become 0.
    """

    COMMANDS, BUFFERS = COMMANDS, BUFFERS

    def __init__(self, config, wrong=None):
        self.config, self.replay = config, config.replay
        self._wrong = wrong
        self._ring = PrioritizedRing(self.replay)
        self.manager = self._ring.manager
        self.granules = self.extent = 0

    @property
    def ring(self):
        """The ring, for programs in this process that need no commands; its experiences are those
        that the last launch had."""
        ring = self._ring
        if ring.storage is None:
            ring.storage = self._stored()
        return ring

    @property
    def capacity(self):
        return self._ring.capacity

    @property
    def position(self):
        return self._ring.position

    @property
    def fill(self):
        return self._ring.fill

    @property
    def maximum(self):
        return self._ring.maximum

    @property
    def empty(self):
        return self.manager.total == 0

    def status(self):
        """Bytes of REPLAY_STATUS; clock counts are 0."""
        manager = self.manager
        ring = self._ring
        numbers = (manager.total, *manager.state, ring.maximum, ring.position, ring.fill,
                   ring.saturations, 0, 0, 0, ring.capacity, self.granules)  # fmt: skip
        return REPLAY_STATUS.pack(numbers)

    def _setup(self, c):
        ring = self._ring
        ring.clear()
        ring.capacity, ring.initial, ring.storage = c.capacity, c.priority, None
        ring.size, ring.stride = c.granules * (GRANULE_BYTES // 4), c.record * (GRANULE_BYTES // 4)
        self.granules, self.extent = c.granules, c.transfer
        return _DONE

    def _seed(self, c):
        self.manager.seed(c.state)
        return _DONE

    def _restore(self, c):
        ring = self._ring
        ring.position, ring.fill, ring.restored = c.position, c.fill, c.maximum
        return _DONE

    def _insert(self, c):
        return self._insert_of(c, self.words(c, "source") if self.granules else _NO_WORDS)

    def _insert_of(self, c, records):
        manager, ring = self.manager, self._ring
        begin, capacity = ring.position, ring.capacity
        if self.granules:
            stored = self._stored()
            store(stored, records, begin, c.count, capacity, ring.stride, ring.size)
            if self._wrong is not None:
                refused = self._wrong(records[: c.count * ring.size].reshape(c.count, -1))
                if refused[0]:
                    manager.fill(begin, c.count, capacity, 0)
                    return refused
        outcome = _DONE
        if c.given == _NOTHING:
            manager.fill(begin, c.count, capacity, c.priority or ring.maximum or ring.initial)
        else:
            items = self.words(c, "priorities")
            bad = ring.enter(c.given, items, c.count, c.alpha, c.epsilon)
            if bad >= 0:
                outcome = Error.TD if c.given == _TD_ERRORS else Error.PRIORITY, bad
        ring.advance(c.count)
        return outcome

    def _set(self, c):
        items = self.words(c, "source")
        bad = self.manager.set_items(items, c.count, self.fill)
        if bad < 0:
            return _DONE
        return (Error.INDEX if items[2 * bad] >= self.fill else Error.PRIORITY), bad

    def _update(self, c):
        return self._update_by(c, self.words(c, "source"))

    def _update_by(self, c, items):
        bits = items[1 : 2 * c.count : 2].astype(np.int64)
        found = self._ring.priorities(bits, c.alpha, c.epsilon)
        bad, clipped = self.manager.update_items(items, self.fill, *found)
        self._ring.count_clipped(clipped)
        if bad < 0:
            return _DONE
        return (Error.INDEX if items[2 * bad] >= self.fill else Error.TD), bad

    def _sample(self, c):
        return self._sample_to(c, self.words(c, "destination"))

    def _sample_to(self, c, batch):
        indexes, priorities, _ = self.manager.sample(c.count, stratum_width=c.stratum_width)
        self._write_batch(c, batch, indexes, priorities, self.granules)
        return _DONE

    def _find(self, c):
        targets = self.words(c, "source").view(np.uint64)[: c.count]
        indexes, priorities, errors = self.manager.find(targets)
        self._write_batch(c, self.words(c, "destination"), indexes, priorities, self.granules)
        return (Error.TARGET, int(np.argmax(errors))) if errors.any() else _DONE

    def _get(self, c):
        items = self.words(c, "source")
        indexes, priorities, bad = self.manager.get_items(items, c.count, self.fill)
        self._write_batch(c, self.words(c, "destination"), indexes, priorities, 0)
        return _DONE if bad < 0 else (Error.INDEX, bad)

    def _write_batch(self, c, batch, indexes, priorities, granules):
        whole = np.array((self.manager.total, self.fill), np.uint64)
        found = weights(priorities, whole[:1], whole[1:], c.beta)
        stored = self._stored() if granules else _NO_WORDS
        write_batch(batch, stored, self._ring.stride, granules * 4, indexes, priorities, found)

    def _stored(self):
        """The experiences as words, writable."""
        return self.memory.words(self.arguments["storage"], self.extent * GRANULE_BYTES)

    # -- jobs: commands of a core around this one, whose batches and items are arrays, uint32

    def draw(self, batch, **fields):
        """Executes a SAMPLE that writes its batch to the array ``batch``, uint32, in place of a
        buffer. ``fields`` are the command's; others are 0. Returns ``(error, detail)``."""
        return self._job(Opcode.SAMPLE, fields, lambda c: self._sample_to(c, batch), "destination")

    def update(self, items, **fields):
        """Executes an UPDATE that takes its items from the array ``items``, uint32, in place of a
        buffer. ``fields`` are the command's; others are 0. Returns ``(error, detail)``."""
        return self._job(Opcode.UPDATE, fields, lambda c: self._update_by(c, items), "source")

    def insert(self, **fields):
        """Executes an INSERT, whose experiences and priorities are in the buffer ``operands`` as
        usual. ``fields`` are the command's; others are 0. Returns ``(error, detail)``."""
        return self._job(Opcode.INSERT, fields, self._insert)

    def insert_records(self, records, **fields):
        """Executes an INSERT that takes its experiences from the array ``records``, uint32, in
        place of a buffer. ``fields`` are the command's; others are 0. Returns ``(error, detail)``.
        """
        return self._job(Opcode.INSERT, fields, lambda c: self._insert_of(c, records), "source")

    def _job(self, opcode, fields, execute, *streams):
        _, c, error, detail = self._check.job(opcode, fields, self, self.room, streams)
        return (error, detail) if error else execute(c)


class ReplayKernel(ProgramTwin):
    """Twin of the whole kernel ``replay``."""

    def make_core(self, description):
        return ReplayCore(ReplayKernelConfig.from_dict(description.config))

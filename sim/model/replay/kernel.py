"""Bit-exact twin of the ``replay`` kernel: ``hw.replay.core`` with its engines."""

import numpy as np

from hw.replay.commands import BUFFERS, COMMANDS, Given
from hw.replay.config import ReplayKernelConfig
from hw.replay.priority import PriorityConfig
from hw.replay.records import GRANULE_BYTES, ITEM, REPLAY_STATUS, Error
from hw.replay.weight import WeightConfig
from hw.shell.command import round_up
from sim.model.program import CommandTwin, ProgramTwin
from sim.model.replay.manager import ReplayManager
from sim.model.replay.priority import priority
from sim.model.replay.tree import write_batch
from sim.model.replay.weight import weight

__all__ = ["ReplayCore", "ReplayKernel"]

# The experiences of a batch of headers alone.
_NONE = np.zeros(0, np.uint32)


class ReplayCore(CommandTwin):
    """The commands of ``hw.replay.commands`` on a ``ReplayManager`` and card memory."""

    COMMANDS, BUFFERS = COMMANDS, BUFFERS

    def __init__(self, config):
        self.config, self.replay = config, config.replay
        self.manager = ReplayManager(self.replay)
        self.priority_config = PriorityConfig(
            priority_width=self.replay.priority_width,
            priority_fraction=self.replay.priority_fraction,
        )
        self.weight_config = WeightConfig(
            priority_width=self.replay.priority_width,
            total_width=self.replay.total_width,
            count_width=self.replay.capacity.bit_length(),
        )
        self.capacity, self.granules, self.initial = self.replay.capacity, 0, self.replay.one
        self.position = self.fill = self.restored = self.saturations = self.extent = 0

    @property
    def maximum(self):
        return max(self.manager.maximum, self.restored)

    @property
    def empty(self):
        return self.manager.total == 0

    @property
    def stride(self):
        """Bytes from one experience to the next in storage."""
        return round_up(self.granules * GRANULE_BYTES, self.beat_bytes("storage"))

    def status(self):
        """Bytes of REPLAY_STATUS; clock counts are 0."""
        numbers = (self.manager.total, *self.manager.state, self.maximum, self.position, self.fill,
                   self.saturations, 0, 0, 0, self.capacity, self.granules)  # fmt: skip
        return REPLAY_STATUS.pack(numbers)

    def _setup(self, c):
        self.manager.clear()
        self.capacity, self.granules, self.extent = c.capacity, c.granules, c.transfer
        self.initial = c.priority
        self.position = self.fill = self.restored = self.saturations = 0
        return Error.NONE, 0

    def _seed(self, c):
        self.manager.seed(c.state)
        return Error.NONE, 0

    def _restore(self, c):
        self.position, self.fill, self.restored = c.position, c.fill, c.maximum
        return Error.NONE, 0

    def _insert(self, c):
        runs = self._runs(c.count)
        if self.granules:
            size, stride = self.granules * GRANULE_BYTES, self.stride
            records = self.at(c, "source")[: c.count * size].reshape(c.count, size)
            for begin, end, place in runs:
                address = self.arguments["storage"] + place * stride
                run = self.memory.view(address, (end - begin) * stride).reshape(-1, stride)
                run[:, :size] = records[begin:end]
                if stride > size:
                    run[:, size:] = 0
        if c.given == Given.NOTHING.value:
            error, position = Error.NONE, 0
            number = c.priority or self.maximum or self.initial
            for begin, end, place in runs:
                self.manager.fill(place, place + end - begin, number)
        else:
            error, position, values = self._entering(c)
            for begin, end, place in runs:
                self.manager.set(np.arange(place, place + end - begin), values[begin:end])
        self.position = (self.position + c.count) % self.capacity
        self.fill = min(self.fill + c.count, self.capacity)
        return error, position

    def _entering(self, c):
        """``(error, position)`` of the first bad item of an INSERT's list, and all priorities."""
        values = self._list(c, "priorities")["value"]
        if c.given == Given.TD_ERRORS.value:
            return self._priorities(c, values)
        error, position, bad = self._first_error(self._too_large(values))
        return error, position, np.where(bad, 0, values)

    def _runs(self, count):
        """Pieces of an insert without a wrap: begin, end, and the place of the first."""
        first = min(count, self.capacity - self.position)
        runs = [(0, first, self.position)]
        return [*runs, (first, count, 0)] if first < count else runs

    def _list(self, c, name="source", dtype=ITEM.dtype):
        return self.at(c, name)[: c.count * ITEM.size].view(dtype)

    def _words(self, c, name):
        """The whole beats of a footprint as words, writable."""
        return self.at(c, name).view(np.uint32)

    @staticmethod
    def _first_error(*conditions):
        """``(error, position)`` of the first item that breaks a rule, and which items do."""
        bad = np.logical_or.reduce([mask for mask, _ in conditions])
        if not bad.any():
            return Error.NONE, 0, bad
        position = int(np.argmax(bad))
        error = next(code for mask, code in conditions if mask[position])
        return error, position, bad

    def _too_large(self, values):
        return values > self.replay.priority_limit, Error.PRIORITY

    def _beyond(self, items):
        return items["index"] >= self.fill, Error.INDEX

    def _priorities(self, c, errors, *others):
        """``(error, position, priorities)`` of TD errors; bad ones have the priority 0."""
        values, saturated, invalid = priority(errors, c.alpha, c.epsilon, self.priority_config)
        error, position, bad = self._first_error(*others, (invalid, Error.TD))
        self.saturations = min(self.saturations + int((saturated & ~bad).sum()), 0xFFFF_FFFF)
        return error, position, np.where(bad, 0, values)

    def _set(self, c):
        items = self._words(c, "source")
        bad = self.manager.set_items(items, c.count, self.fill)
        if bad < 0:
            return Error.NONE, 0
        return (Error.INDEX if items[2 * bad] >= self.fill else Error.PRIORITY), bad

    def _update(self, c):
        items = self._list(c)
        beyond = self._beyond(items)
        error, position, values = self._priorities(c, items["value"], beyond)
        good = ~beyond[0] & np.isfinite(items["value"].view(np.float32))
        self.manager.set(items["index"][good], values[good])
        return error, position

    def _sample(self, c):
        indexes, priorities, _ = self.manager.sample(c.count, step=c.step)
        self._write_batch(c, indexes, priorities, self.granules)
        return Error.NONE, 0

    def _find(self, c):
        indexes, priorities, errors = self.manager.find(self._list(c, dtype="<u8"))
        self._write_batch(c, indexes, priorities, self.granules)
        return (Error.TARGET, int(np.argmax(errors))) if errors.any() else (Error.NONE, 0)

    def _get(self, c):
        items = self._words(c, "source")
        indexes, priorities, bad = self.manager.get_items(items, c.count, self.fill)
        self._write_batch(c, indexes, priorities, 0)
        return (Error.NONE, 0) if bad < 0 else (Error.INDEX, bad)

    def _write_batch(self, c, indexes, priorities, granules):
        manager, config = self.manager, self.weight_config
        weights = weight(priorities, np.uint64(manager.total), np.uint64(self.fill), c.beta, config)
        out, stored = self._words(c, "destination"), _NONE
        if granules:
            address, size = self.arguments["storage"], self.extent * GRANULE_BYTES
            stored = self.memory.view(address, size).view(np.uint32)
        stride, size = self.stride // 4, granules * GRANULE_BYTES // 4
        write_batch(out, stored, stride, size, indexes, priorities, weights.view(np.uint32))


class ReplayKernel(ProgramTwin):
    """Twin of the whole kernel ``replay``."""

    def make_core(self, description):
        return ReplayCore(ReplayKernelConfig.from_dict(description.config))

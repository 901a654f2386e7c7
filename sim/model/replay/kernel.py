"""Bit-exact twin of the ``replay`` kernel: ``hw.replay.core`` with its engines."""

import numpy as np

from hw.replay.commands import BUFFERS, COMMANDS, Given
from hw.replay.config import ReplayKernelConfig
from hw.replay.priority import PriorityConfig
from hw.replay.records import GRANULE_BYTES, ITEM, REPLAY_STATUS, Error
from hw.replay.weight import WeightConfig
from hw.shell.command import round_up
from sim.model.program import CommandTwin, ProgramTwin
from sim.model.replay.priority import priority
from sim.model.replay.tree.loops import store, write_batch
from sim.model.replay.tree.manager import ReplayManager
from sim.model.replay.weight import Weights

__all__ = ["ReplayCore", "ReplayKernel"]

# What a command returns whose every item was right.
_DONE = Error.NONE, 0
_NOTHING, _TD_ERRORS = Given.NOTHING.value, Given.TD_ERRORS.value
# The experiences of a batch of headers alone.
_NO_WORDS = np.zeros(0, np.uint32)


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
        weight_config = WeightConfig(
            priority_width=self.replay.priority_width,
            total_width=self.replay.total_width,
            count_width=self.replay.capacity.bit_length(),
        )
        self.weights = Weights(weight_config)
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
        return _DONE

    def _seed(self, c):
        self.manager.seed(c.state)
        return _DONE

    def _restore(self, c):
        self.position, self.fill, self.restored = c.position, c.fill, c.maximum
        return _DONE

    def _insert(self, c):
        manager, begin, capacity = self.manager, self.position, self.capacity
        if self.granules:
            stored, records = self._stored(), self._words(c, "source")
            store(stored, records, begin, c.count, capacity, self.stride // 4, self.granules * 4)
        if c.given == _NOTHING:
            error, position = _DONE
            manager.fill(begin, c.count, capacity, c.priority or self.maximum or self.initial)
        else:
            error, position, values = self._entering(c)
            manager.set((begin + np.arange(c.count)) % capacity, values)
        self.position = (begin + c.count) % capacity
        self.fill = min(self.fill + c.count, capacity)
        return error, position

    def _entering(self, c):
        """``(error, position)`` of the first bad item of an INSERT's list, and all priorities: bad
        ones have the priority 0."""
        values = self._list(c, "priorities")["value"]
        if c.given == _TD_ERRORS:
            error = Error.TD
            values, saturated, bad = priority(values, c.alpha, c.epsilon, self.priority_config)
            self._count_saturations(int(saturated.sum()))
        else:
            error, bad = Error.PRIORITY, values > self.replay.priority_limit
        if not bad.any():
            return *_DONE, values
        return error, int(np.argmax(bad)), np.where(bad, 0, values)

    def _count_saturations(self, clipped):
        self.saturations = min(self.saturations + clipped, 0xFFFF_FFFF)

    def _list(self, c, name="source", dtype=ITEM.dtype):
        return self.at(c, name)[: c.count * ITEM.size].view(dtype)

    def _words(self, c, name):
        """The whole beats of a footprint as words, writable."""
        return self.at(c, name).view(np.uint32)

    def _set(self, c):
        items = self._words(c, "source")
        bad = self.manager.set_items(items, c.count, self.fill)
        if bad < 0:
            return _DONE
        return (Error.INDEX if items[2 * bad] >= self.fill else Error.PRIORITY), bad

    def _update(self, c):
        items = self._words(c, "source")
        errors = items[1 : 2 * c.count : 2]
        found = priority(errors, c.alpha, c.epsilon, self.priority_config)
        bad, clipped = self.manager.update_items(items, self.fill, *found)
        self._count_saturations(clipped)
        if bad < 0:
            return _DONE
        return (Error.INDEX if items[2 * bad] >= self.fill else Error.TD), bad

    def _sample(self, c):
        indexes, priorities, _ = self.manager.sample(c.count, stratum_width=c.stratum_width)
        self._write_batch(c, indexes, priorities, self.granules)
        return _DONE

    def _find(self, c):
        indexes, priorities, errors = self.manager.find(self._list(c, dtype="<u8"))
        self._write_batch(c, indexes, priorities, self.granules)
        return (Error.TARGET, int(np.argmax(errors))) if errors.any() else _DONE

    def _get(self, c):
        items = self._words(c, "source")
        indexes, priorities, bad = self.manager.get_items(items, c.count, self.fill)
        self._write_batch(c, indexes, priorities, 0)
        return _DONE if bad < 0 else (Error.INDEX, bad)

    def _write_batch(self, c, indexes, priorities, granules):
        weights = self.weights(priorities, self.manager.total, self.fill, c.beta)
        out, stored, stride = self._words(c, "destination"), _NO_WORDS, 0
        if granules:
            stored, stride = self._stored(), self.stride // 4
        write_batch(out, stored, stride, granules * 4, indexes, priorities, weights)

    def _stored(self):
        """The experiences as words, writable."""
        size = self.extent * GRANULE_BYTES
        return self.memory.view(self.arguments["storage"], size).view(np.uint32)


class ReplayKernel(ProgramTwin):
    """Twin of the whole kernel ``replay``."""

    def make_core(self, description):
        return ReplayCore(ReplayKernelConfig.from_dict(description.config))

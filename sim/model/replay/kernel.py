"""Bit-exact twin of the ``replay`` kernel: ``hw.replay.core`` with its engines."""

import numpy as np

from hw.replay.commands import (
    BATCHES,
    COMMANDS,
    GRANULE_BYTES,
    HEADER,
    ITEM,
    LISTS,
    MAX_COUNT,
    MAX_GRANULES,
    MAX_TRANSFER,
    REPLAY_STATUS,
    Error,
    Opcode,
)
from hw.replay.config import ReplayKernelConfig
from hw.replay.priority import PriorityConfig
from hw.replay.weight import WeightConfig
from sim.model.program import ProgramTwin, leaves
from sim.model.replay.manager import ReplayManager
from sim.model.replay.priority import priority
from sim.model.replay.weight import weight

__all__ = ["ReplayCore", "ReplayKernel"]

_OPCODES = {opcode.value: opcode for opcode in COMMANDS}
_DTYPES = {opcode: layout.dtype for opcode, layout in COMMANDS.items()}


class ReplayCore:
    """The commands of ``hw.replay.commands`` on a ``ReplayManager`` and card memory."""

    def __init__(self, config):
        replay = config.replay
        self.config, self.beat_bytes = replay, config.engine.beat_bytes
        self.manager = ReplayManager(replay)
        self.priority_config = PriorityConfig(
            priority_width=replay.priority_width, priority_fraction=replay.priority_fraction
        )
        self.weight_config = WeightConfig(
            priority_width=replay.priority_width,
            total_width=replay.total_width,
            count_width=replay.capacity.bit_length(),
        )
        self.capacity, self.granules, self.initial = replay.capacity, 0, replay.one
        self.position = self.fill = self.restored = self.saturations = 0

    @property
    def maximum(self):
        return max(self.manager.maximum, self.restored)

    def status(self):
        """Bytes of REPLAY_STATUS; clock counts are 0."""
        record = np.zeros((), REPLAY_STATUS.dtype)
        record["state"] = self.manager.state
        record["total"] = self.manager.total
        for name in ("maximum", "position", "fill", "saturations", "capacity", "granules"):
            record[name] = getattr(self, name)
        return np.frombuffer(record.tobytes(), np.uint8)

    def execute(self, raw, arguments, memory):
        """Run one command; return ``(error, detail)``."""
        opcode = _OPCODES.get(int(raw[:4].view("<u4")[0]))
        if opcode is None:
            return Error.OPCODE, 0
        command = raw.view(_DTYPES[opcode])[0]
        error = self._check(opcode, command, arguments)
        if error:
            return error, 0
        return getattr(self, f"_{opcode.name.lower()}")(command, arguments, memory)

    def _check(self, opcode, command, arguments):
        """The error of the command as a whole, in the order of ``hw.replay.core``."""
        count = int(command["count"])
        is_list, is_batch = opcode in LISTS, opcode in BATCHES
        if opcode in (*LISTS, Opcode.INSERT, Opcode.SAMPLE) and not 1 <= count <= MAX_COUNT:
            return Error.COUNT
        if opcode == Opcode.SETUP:
            wrong = not (
                2 <= command["capacity"] <= self.config.capacity
                and command["granules"] <= MAX_GRANULES
                and 1 <= command["priority"] <= self.config.priority_limit
            )
            return Error.SETUP if wrong else Error.NONE
        if opcode == Opcode.RESTORE:
            wrong = not (
                command["position"] < self.capacity
                and command["fill"] <= self.capacity
                and command["maximum"] <= self.config.priority_limit
            )
            return Error.SETUP if wrong else Error.NONE
        transfer = 0
        if opcode == Opcode.INSERT:
            if count > self.capacity:
                return Error.COUNT
            transfer = count * self.granules
        elif is_batch:
            transfer = count * (1 + self._payload(opcode))
        if transfer > MAX_TRANSFER:
            return Error.COUNT
        if opcode == Opcode.INSERT and command["priority"] > self.config.priority_limit:
            return Error.PRIORITY
        if opcode == Opcode.SAMPLE:
            if count > self.fill:
                return Error.FILL
            if self.manager.total == 0:
                return Error.EMPTY
        if is_list or opcode == Opcode.INSERT:
            size = count * ITEM.size if is_list else transfer * GRANULE_BYTES
            if leaves(command["source"], size, arguments["operands_bytes"]):
                return Error.OPERANDS
        if is_batch:
            size = transfer * GRANULE_BYTES
            if leaves(command["destination"], size, arguments["results_bytes"]):
                return Error.RESULTS
        return Error.NONE

    def _payload(self, opcode):
        return 0 if opcode == Opcode.GET else self.granules

    def _setup(self, command, arguments, memory):
        self.manager.clear()
        self.capacity, self.granules = int(command["capacity"]), int(command["granules"])
        self.initial = int(command["priority"])
        self.position = self.fill = self.restored = self.saturations = 0
        return Error.NONE, 0

    def _seed(self, command, arguments, memory):
        self.manager.seed(command["state"])
        return Error.NONE, 0

    def _restore(self, command, arguments, memory):
        self.position, self.fill = int(command["position"]), int(command["fill"])
        self.restored = int(command["maximum"])
        return Error.NONE, 0

    def _insert(self, command, arguments, memory):
        count = int(command["count"])
        places = (self.position + np.arange(count)) % self.capacity
        if self.granules:
            size = self.granules * GRANULE_BYTES
            source = memory.view(arguments["operands"] + int(command["source"]), count * size)
            records = source.reshape(count, size)
            stride = self._stride()
            for begin, end in self._runs(count):
                place = arguments["storage"] + int(places[begin]) * stride
                run = memory.view(place, (end - begin) * stride).reshape(end - begin, stride)
                run[:, :size] = records[begin:end]
                run[:, size:] = 0
        value = int(command["priority"]) or self.maximum or self.initial
        self.manager.set(places, np.full(count, value))
        self.position = int(self.position + count) % self.capacity
        self.fill = min(self.fill + count, self.capacity)
        return Error.NONE, 0

    def _runs(self, count):
        """Pieces of an insert without a wrap."""
        first = min(count, self.capacity - self.position)
        return [(0, first), (first, count)] if first < count else [(0, count)]

    def _stride(self):
        """Bytes from one experience to the next in storage."""
        beats = -(-self.granules * GRANULE_BYTES // self.beat_bytes)
        return beats * self.beat_bytes

    def _items(self, command, arguments, memory, dtype):
        count = int(command["count"])
        source = arguments["operands"] + int(command["source"])
        return memory.view(source, count * ITEM.size).view(dtype)

    def _first_error(self, *conditions):
        """``(error, position)`` of the first item that breaks a rule, and which items do."""
        bad = np.logical_or.reduce([mask for mask, _ in conditions])
        if not bad.any():
            return Error.NONE, 0, bad
        position = int(np.argmax(bad))
        error = next(code for mask, code in conditions if mask[position])
        return error, position, bad

    def _set(self, command, arguments, memory):
        items = self._items(command, arguments, memory, ITEM.dtype)
        error, position, bad = self._first_error(
            (items["index"] >= self.fill, Error.INDEX),
            (items["value"] > self.config.priority_limit, Error.PRIORITY),
        )
        self.manager.set(items["index"][~bad], items["value"][~bad])
        return error, position

    def _update(self, command, arguments, memory):
        items = self._items(command, arguments, memory, ITEM.dtype)
        # The units are as wide as the fields of the command that they read.
        values, saturated, invalid = priority(
            items["value"],
            int(command["alpha"]) & 0xFFFF,
            int(command["epsilon"]) & 0xFFFF,
            self.priority_config,
        )
        error, position, bad = self._first_error(
            (items["index"] >= self.fill, Error.INDEX), (invalid, Error.TD)
        )
        self.saturations = min(self.saturations + int((saturated & ~bad).sum()), 0xFFFF_FFFF)
        self.manager.set(items["index"][~bad], values[~bad])
        return error, position

    def _sample(self, command, arguments, memory):
        indexes, priorities, errors = self.manager.sample(
            int(command["count"]), step=int(command["step"]) & ((1 << 49) - 1)
        )
        self._write_batch(command, arguments, memory, indexes, priorities, self.granules)
        return Error.NONE, 0

    def _find(self, command, arguments, memory):
        targets = self._items(command, arguments, memory, "<u8")
        indexes, priorities, errors = self.manager.find(targets)
        self._write_batch(command, arguments, memory, indexes, priorities, self.granules)
        return (Error.TARGET, int(np.argmax(errors))) if errors.any() else (Error.NONE, 0)

    def _get(self, command, arguments, memory):
        items = self._items(command, arguments, memory, ITEM.dtype)
        error, position, bad = self._first_error((items["index"] >= self.fill, Error.INDEX))
        indexes = np.where(bad, 0, items["index"])
        priorities = np.where(bad, 0, self.manager.get(indexes)[0])
        self._write_batch(command, arguments, memory, indexes, priorities, 0)
        return error, position

    def _write_batch(self, command, arguments, memory, indexes, priorities, granules):
        count, size = len(indexes), granules * GRANULE_BYTES
        headers = np.zeros(count, HEADER.dtype)
        headers["index"], headers["priority"] = indexes, priorities
        headers["weight"] = weight(
            priorities,
            np.uint64(self.manager.total),
            np.uint64(self.fill),
            int(command["beta"]) & 0xFFFF,
            self.weight_config,
        )
        used = count * (HEADER.size + size)
        room = -(-used // self.beat_bytes) * self.beat_bytes
        out = memory.view(arguments["results"] + int(command["destination"]), room)
        out[used:] = 0
        records = out[:used].reshape(count, HEADER.size + size)
        records[:, : HEADER.size] = headers.view(np.uint8).reshape(count, HEADER.size)
        if granules:
            stride = self._stride()
            places = arguments["storage"] + np.asarray(indexes, np.int64) * stride
            base, end = int(places.min()), int(places.max()) + stride
            storage = memory.view(base, end - base)
            offsets = (places - base)[:, None] + np.arange(size)
            records[:, HEADER.size :] = storage[offsets]


class ReplayKernel(ProgramTwin):
    """Twin of the whole kernel ``replay``."""

    def make_core(self, description):
        return ReplayCore(ReplayKernelConfig.from_dict(description.config))

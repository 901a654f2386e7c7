"""What a card's replay memory holds, as a whole: priorities, experiences, its state to keep."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from host.cards.buffer import OnCard
from host.cards.kernel import CapacityError
from host.replay.experience import put_items
from host.replay.replay_memory import ReplayMemory
from hw.replay.commands import MAX_COUNT, Opcode
from hw.replay.records import HEADER

__all__ = ["Stored", "in_parts"]

#: that are read at a time, so that a large memory is copied once
_PART_BYTES = 1 << 24


def in_parts(launch, *arrays):
    """The list of what ``launch(*arrays)`` returns: of one call, or where the card's memory has no
    room for all items at once, of calls with halves of ``arrays``, in order."""
    try:
        return [launch(*arrays)]
    except CapacityError:
        half = len(arrays[0]) // 2
        if not half:
            raise
    first, rest = ([each[part] for each in arrays] for part in (slice(half), slice(half, None)))
    return in_parts(launch, *first) + in_parts(launch, *rest)


class Stored(OnCard, ReplayMemory):
    """A base class of ``host.replay.prioritized_buffer.PrioritizedReplayBuffer``: methods that read
    or replace all that is stored."""

    def clear(self) -> None:
        """Forgets all experiences, their priorities and the largest priority so far. The generator
        of the draws is not set back to the seed."""
        self.launcher.run([self._setup])
        self._forget_errors()

    def _stored(self):
        """The bytes of all experiences, uint8 [fill, itemsize]."""
        self.launcher.kernel.claims.confirm(self.launcher.claim)
        found = np.zeros((len(self), self.dtype.itemsize), np.uint8)
        part = max(1, _PART_BYTES // self._stride)
        for begin in range(0, len(found), part):
            into = found[begin : begin + part]
            raw = self._storage.read(np.uint8, len(into) * self._stride, begin * self._stride)
            into[:] = raw.reshape(-1, self._stride)[:, : self.dtype.itemsize]
        return found

    def priorities(self) -> NDArray[np.uint32]:
        """The priorities of all experiences in the order of their indexes: uint32 [fill], raw
        numbers of the card's format."""
        parts = [np.zeros(0, np.uint32)]
        for begin in range(0, len(self), MAX_COUNT):
            indexes = np.arange(begin, min(begin + MAX_COUNT, len(self)), dtype=np.uint32)
            parts += in_parts(self._get, indexes)
        return np.concatenate(parts)

    def _get(self, indexes):
        program, operands = [], []
        put_items(program, operands, 0, Opcode.GET, indexes, np.zeros_like(indexes))
        results = self.launcher.run(program, operands, len(indexes) * HEADER.size)
        return results.view(HEADER.dtype)["priority"]

    @property
    def _identity(self):
        return {"config_hash": self.config.hash64, **super()._identity}

    def state_dict(self) -> dict[str, object]:
        """All that a resumed run needs to draw the same next batch: a dict of arrays, numbers and
        texts, which ``numpy.savez(file, **state)`` saves and ``numpy.load(file)`` returns."""
        experiences = self._stored()
        priorities = self.priorities()
        status = self.status
        return {
            **self._identity,
            "experiences": experiences,
            "priorities": priorities,
            "random": status["state"].copy(),
            "position": int(status["position"]),
            "maximum": int(status["maximum"]),
        }

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Replaces everything by a saved state. ValueError unless the state is of a buffer with the
        same kernel config, capacity, fields, alpha, epsilon and ``stratified``."""
        experiences, priorities, random, position, maximum = self._check_state(state)
        fill = len(experiences)
        self.launcher.kernel.claims.confirm(self.launcher.claim)
        storage = np.zeros((fill, self._stride), np.uint8)
        storage[:, : self.dtype.itemsize] = experiences
        if fill:
            self._storage.write(storage)
        self.launcher.run(
            [
                self._setup,
                (Opcode.SEED, {"state": random}),
                (
                    Opcode.RESTORE,
                    {"position": position, "fill": fill, "maximum": maximum},
                ),
            ]
        )
        self._forget_errors()
        self._set(np.arange(fill, dtype=np.uint32), priorities)

    def _set(self, indexes, raw):
        if len(indexes):
            in_parts(self._put, indexes, raw)

    def _put(self, indexes, raw):
        program, operands = [], []
        put_items(program, operands, 0, Opcode.SET, indexes, raw)
        self.launcher.run(program, operands)

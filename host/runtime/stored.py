"""What a replay memory holds, as a whole: priorities, experiences, its state to keep."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from host.runtime.experience import Batch, checked_items, put_items, raw_priorities
from hw.errors import UsageError
from hw.replay.commands import MAX_COUNT, Opcode
from hw.replay.records import HEADER

__all__ = ["Stored"]

#: that are read at a time, so that a large memory is copied once
_PART_BYTES = 1 << 24


class Stored:
    """A base class of ``host.runtime.replay.PrioritizedReplayBuffer``: methods that do one part of
    a ``step``, and methods that read or replace all that is stored."""

    def add(
        self,
        *,
        priorities: ArrayLike | None = None,
        td_errors: ArrayLike | None = None,
        **experiences: ArrayLike,
    ) -> None:
        """Stores experiences: ``add(obs=..., action=...)`` with an array [n, ...] for every field,
        or, for one experience, arrays without the axis n. ``priorities`` and ``td_errors``, one for
        each experience, are as for ``step``."""
        self.step(experiences=experiences, priorities=priorities, td_errors=td_errors)

    def sample(self, batch_size: int, beta: float = 0.4) -> Batch:
        """Draws ``batch_size`` experiences, with importance weights of exponent ``beta``; returns
        the batch that ``step`` describes."""
        [batch] = self.step(sample=[(batch_size, beta)])
        return batch

    def update_priorities(self, indexes: ArrayLike, td_errors: ArrayLike) -> None:
        """``priority = (|td_error| + epsilon)**alpha`` of the experiences at ``indexes``."""
        self.step(update=(indexes, td_errors))

    def set_priorities(self, indexes: ArrayLike, priorities: ArrayLike) -> None:
        """Sets the priorities p of the experiences at ``indexes``, without alpha and epsilon; they
        must be finite, and in 0..the largest of the card's format, to which they are rounded."""
        indexes, values = checked_items(len(self), "priorities", indexes, priorities, np.float64)
        self._set(indexes, raw_priorities(self.config.replay, values))

    def get_stored_size(self) -> int:
        """Experiences stored: ``len``."""
        return len(self)

    def is_full(self) -> bool:
        """Whether the next experience overwrites the oldest."""
        return len(self) == self.capacity

    def clear(self) -> None:
        """Forgets all experiences, their priorities and the largest priority so far. The generator
        of the draws is not set back to the seed."""
        self.launcher.run([self._setup])

    def get_all_transitions(self) -> Batch:
        """A dict with an array [fill, ...] of each field: all experiences in the order of their
        indexes."""
        records = self._stored().reshape(-1).view(self.dtype)
        return {name: np.ascontiguousarray(records[name]) for name in self.dtype.names}

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
        parts = []
        for begin in range(0, len(self), MAX_COUNT):
            indexes = np.arange(begin, min(begin + MAX_COUNT, len(self)), dtype=np.uint32)
            program, operands = [], []
            put_items(program, operands, 0, Opcode.GET, indexes, np.zeros_like(indexes))
            results = self.launcher.run(program, operands, len(indexes) * HEADER.size)
            parts.append(results.view(HEADER.dtype)["priority"])
        return np.concatenate(parts) if parts else np.zeros(0, np.uint32)

    @property
    def _identity(self):
        """What a saved state must share with this buffer."""
        return {
            "config_hash": self.config.hash64,
            "capacity": self.capacity,
            "dtype": repr(self.dtype),
            "alpha": float(self.alpha),
            "epsilon": float(self.epsilon),
            "stratified": bool(self.stratified),
        }

    def _check_identity(self, state):
        for name, own in self._identity.items():
            if state.get(name) != own:
                raise UsageError(
                    f"{name} must be that of this buffer ({own}), not {state.get(name)}"
                )

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
        self._check_identity(state)
        self.launcher.kernel.claims.confirm(self.launcher.claim)
        experiences = np.asarray(state["experiences"], np.uint8)
        fill = len(experiences)
        if len(state["priorities"]) != fill:
            count = len(state["priorities"])
            raise UsageError(f"priorities must be one an experience ({fill}), not {count}")
        storage = np.zeros((fill, self._stride), np.uint8)
        storage[:, : self.dtype.itemsize] = experiences
        if fill:
            self._storage.write(storage)
        self.launcher.run(
            [
                self._setup,
                (Opcode.SEED, {"state": state["random"]}),
                (
                    Opcode.RESTORE,
                    {"position": state["position"], "fill": fill, "maximum": state["maximum"]},
                ),
            ]
        )
        self._set(np.arange(fill, dtype=np.uint32), np.asarray(state["priorities"], np.uint32))

    def _set(self, indexes, raw):
        program, operands = [], []
        put_items(program, operands, 0, Opcode.SET, indexes, raw)
        if program:
            self.launcher.run(program, operands)

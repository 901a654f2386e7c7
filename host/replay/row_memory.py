"""The base class of replay memories on the CPU: experiences in rows of bytes, oldest overwritten
first."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from host.replay.experience import Fields, FirstPriorities
from host.replay.replay_memory import ReplayMemory
from hw.replay.config import ReplayConfig
from system.memory import zeros

__all__ = ["Drawn", "RowMemory"]


class Drawn(NamedTuple):
    """A draw as it comes: ``records`` [n] of the memory's dtype, copies; ``indexes`` int64 [n];
    ``weights`` float32 [n], which are not divided by the batch's largest."""

    records: NDArray[np.void]
    indexes: NDArray[np.int64]
    weights: NDArray[np.float32]


class RowMemory(ReplayMemory):
    """A base class of replay memories on the CPU. A subclass says what is drawn: it has ``draw``,
    ``update``, ``priorities``, ``_enter``, ``_set``, ``_reset``, ``_drawing`` and
    ``_load_drawing``.

    Parameters
    ----------
    As ``ReplayMemory``.

    Attributes
    ----------
    position : int
        Index where the next experience goes.
    device_cycles : None
        There is no card that counts clocks.
    """

    device_cycles = None

    def __init__(self, fields: Fields, replay: ReplayConfig, **options: int | float | bool) -> None:
        super().__init__(fields, replay, **options)
        shape = (self.capacity, self.dtype.itemsize)
        self._rows = zeros(shape, np.uint8, f"capacity {self.capacity}")
        self.position = self._fill = 0

    def __len__(self) -> int:
        return self._fill

    def __enter__(self):
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def abort(self) -> None:
        """Does nothing: no call takes long here."""

    def close(self) -> None:
        """Does nothing: there is no card to release."""

    def clear(self) -> None:
        """Forgets all experiences, their priorities and the largest priority so far. The generator
        of the draws is not set back to the seed."""
        self.position = self._fill = 0
        self._reset()

    # -- the parts of a step, for arguments that were checked

    def update(self, indexes: NDArray[np.integer], td_errors: NDArray[np.float32]) -> None:
        """Gives the experiences at ``indexes``, integers [n], the priorities that follow from
        ``td_errors``, float32 [n]; of equal indexes the last holds."""
        raise NotImplementedError

    def insert(
        self, records: NDArray[np.void], first_priorities: FirstPriorities | None = None
    ) -> None:
        """Stores ``records`` [n] over the oldest ones. Without
        ``first_priorities`` they get the largest priority so far. Of more than ``capacity`` the
        last are stored."""
        if len(records) > self.capacity:
            begin = len(records) - self.capacity
            first_priorities = first_priorities and first_priorities.part(begin, len(records))
            records = records[begin:]
        raw = np.frombuffer(np.ascontiguousarray(records), np.uint8)
        rows = raw.reshape(-1, self.dtype.itemsize)
        first = min(len(rows), self.capacity - self.position)
        self._rows[self.position : self.position + first] = rows[:first]
        if first < len(rows):
            self._rows[: len(rows) - first] = rows[first:]
        self._enter(self.position, len(rows), first_priorities)
        self.position = (self.position + len(rows)) % self.capacity
        self._fill = min(self._fill + len(rows), self.capacity)

    def draw(self, count: int, beta: int) -> Drawn:
        """Draws ``count`` experiences, at most the fill; the weights have the exponent ``beta``, as
        the card counts it: in units of 2**-15."""
        raise NotImplementedError

    def _step(self, update, records, first_priorities, draws):
        if update is not None:
            self.update(*update)
        if records is not None:
            self.insert(records, first_priorities)
        return [self._batch(*self.draw(*each)) for each in draws]

    def _taken(self, indexes):
        """Copies of the records at ``indexes``."""
        return self._rows.take(indexes, axis=0).reshape(-1).view(self.dtype)

    def _stored(self):
        return self._rows[: self._fill].copy()

    # -- what a subclass keeps

    def _enter(self, begin, count, first_priorities):
        """``count`` experiences were stored from index ``begin`` on, as ``insert`` says."""
        raise NotImplementedError

    def _reset(self):
        """Forgets all priorities."""
        raise NotImplementedError

    @property
    def _drawing(self):
        """The part of a state that decides draws, besides the priorities: ``random``, four words of
        SFC64; ``maximum``, the largest raw priority so far."""
        raise NotImplementedError

    def _load_drawing(self, random, maximum, priorities):
        """Sets what ``_drawing`` has, and the priorities of all experiences, uint32 [fill]."""
        raise NotImplementedError

    def state_dict(self) -> dict[str, object]:
        """All that a resumed run needs to draw the same next batch: a dict of arrays, numbers and
        texts, which ``numpy.savez(file, **state)`` saves and ``numpy.load(file)`` returns."""
        return {
            **self._identity,
            "experiences": self._stored(),
            "priorities": self.priorities(),
            **self._drawing,
            "position": self.position,
        }

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Replaces everything by a saved state. ValueError unless the state is of a memory of the
        same kind, capacity, fields and options."""
        experiences, priorities, random, position, maximum = self._check_state(state)
        fill = len(experiences)
        self.clear()
        self._rows[:fill] = experiences
        self.position, self._fill = position, fill
        self._load_drawing(random, maximum, priorities)

    @property
    def _identity(self):
        return {"memory": type(self).__name__, **super()._identity}

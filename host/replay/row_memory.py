"""Base classes of replay memories whose experiences are in a twin's ring, in this process."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from host.replay.experience import FirstPriorities
from host.replay.replay_memory import ReplayMemory

if TYPE_CHECKING:  # they take numba, which a card does without
    from sim.model.replay.ring import PrioritizedRing, Ring

__all__ = ["Drawn", "RingSteps", "RowMemory"]


class Drawn(NamedTuple):
    """A draw as it comes: ``records`` [n] of the memory's dtype, copies; ``indexes`` int64 [n];
    ``weights`` float32 [n], which are not divided by the batch's largest."""

    records: NDArray[np.void]
    indexes: NDArray[np.int64]
    weights: NDArray[np.float32]


class RingSteps(ReplayMemory):
    """A base class of prioritized memories: the parts of a step on a twin's ring, the property
    ``_ring``."""

    def update_priorities(self, indexes: ArrayLike, td_errors: ArrayLike) -> None:
        ring = self._ring
        if ring is not None and self._updated(ring, indexes, td_errors):
            self._count_errors(len(indexes))
        else:
            super().update_priorities(indexes, td_errors)  # lists, other types, and what is wrong

    def _updated(self, ring: "PrioritizedRing", indexes: ArrayLike, td_errors: ArrayLike) -> bool:
        """Whether the ring has taken the arguments of ``update_priorities``."""
        return ring.update(indexes, td_errors, **self._power)

    def _inserted(self, ring, records, first_priorities):
        """Stores at most ``capacity`` records."""
        if first_priorities is None:
            ring.insert(records)
        else:
            ring.insert(records, values=first_priorities.values, **first_priorities.fields)
            self._count_errors(first_priorities.error_count)

    def _drawn(self, ring, count, beta):
        """The ``Drawn``; some priority must not be 0."""
        records = np.empty(count, self.dtype)
        return Drawn(records, *ring.draw(count, beta, self._stratum(count), records))


class RowMemory(ReplayMemory):
    """A base class of replay memories on the CPU. A subclass says what is drawn: it has ``draw``,
    ``update``, ``priorities``, ``_insert``, ``_set``, ``_drawing`` and ``_load_drawing``.

    Parameters
    ----------
    As ``ReplayMemory``.

    Attributes
    ----------
    ring : sim.model.replay.ring.Ring
        The experiences; a subclass makes it.
    position : int
        Index where the next experience goes.
    device_cycles : None
        There is no card that counts clocks.
    """

    device_cycles = None
    ring: "Ring"

    @property
    def _ring(self):
        return self.ring

    def __len__(self) -> int:
        return self.ring.fill

    @property
    def position(self) -> int:
        return self.ring.position

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
        self.ring.clear()
        self._forget_errors()

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
        self._insert(records, first_priorities)

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

    def _stored(self):
        return self.ring.rows[: len(self)].view(np.uint8).copy()

    # -- what a subclass keeps

    def _insert(self, records, first_priorities):
        """Stores at most ``capacity`` ``records``, as ``insert`` says."""
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
        self.ring.rows.view(np.uint8)[:fill] = experiences
        self.ring.position, self.ring.fill = position, fill
        self._load_drawing(random, maximum, priorities)

    @property
    def _identity(self):
        return {"memory": type(self).__name__, **super()._identity}

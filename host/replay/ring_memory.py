"""Uniform replay on the CPU: every experience that is stored is drawn equally often."""

import numpy as np
from numpy.typing import NDArray

from host.replay.experience import Fields
from host.replay.row_memory import Drawn, RowMemory
from hw.replay.config import ReplayConfig
from sim.model.replay.ring import Ring
from sim.model.replay.tree.loops import UNIFORM, targets_of

__all__ = ["RingMemory"]


class RingMemory(RowMemory):
    """A uniform replay memory on the CPU: every experience that is stored is drawn with probability
    ``1 / N``, N experiences being stored, and each draw of a batch is independent of the others, so
    that an experience may be drawn twice (with replacement).

    The methods are those of ``rlfabric.TreeMemory``, so that either can stand for the other.
    Priorities and TD errors are checked, and have no effect: all priorities stay 1.0, and all
    weights are 1.

    Parameters
    ----------
    fields : dict
        ``{name: (dtype, shape)}`` of an experience: numbers or bools.
    capacity : int
        Experiences, from 2 to 2^24. If full, the oldest is overwritten.
    seed : int
        Equal seeds draw equal batches.
    alpha, epsilon, stratified
        Without effect; for callers that make a prioritized memory too. alpha and epsilon have the
        limits that they have there.

    ValueError for a bad option.
    """

    def __init__(
        self,
        fields: Fields,
        capacity: int,
        *,
        seed: int = 0,
        alpha: float = 0.6,
        epsilon: float = 1e-4,
        stratified: bool = False,
    ) -> None:
        super().__init__(
            fields,
            ReplayConfig(capacity=1 << 24),
            capacity=capacity,
            alpha=alpha,
            epsilon=epsilon,
            stratified=stratified,
        )
        self.ring = Ring(self.capacity, self.dtype.itemsize // 4)
        self._random = np.array(np.random.SFC64(seed).state["state"]["state"], np.uint64)

    def update(self, indexes: NDArray[np.integer], td_errors: NDArray[np.float32]) -> None:
        """Does nothing."""

    def draw(self, count: int, beta: int) -> Drawn:
        ranges = map(np.uint64, (0, UNIFORM, len(self)))
        indexes = targets_of(self._random, count, *ranges).astype(np.int64)
        records = self.ring.rows.take(indexes, axis=0).reshape(-1).view(self.dtype)
        return Drawn(records, indexes, np.ones(count, np.float32))

    def priorities(self) -> NDArray[np.uint32]:
        """1.0 for each experience, as a raw number of the card's format: uint32 [fill]."""
        return np.full(len(self), self._replay.one, np.uint32)

    def _insert(self, records, first_priorities):
        self.ring.insert(records)

    def _set(self, indexes, raw):
        """Nothing: all experiences are drawn equally often."""

    @property
    def _drawing(self):
        return {"random": self._random.copy(), "maximum": self._replay.one}

    def _load_drawing(self, random, maximum, priorities):
        self._random = random.copy()

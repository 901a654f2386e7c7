"""Prioritized replay on the CPU: the sum tree of the kernels' twin, compiled by numba."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from host.replay.experience import Fields
from host.replay.row_memory import Drawn, RingSteps, RowMemory
from hw.errors import UsageError
from hw.replay.config import ReplayConfig
from sim.model.replay.ring import PrioritizedRing, items_of

__all__ = ["TreeMemory"]

#: Leaves of the largest tree.
_LEAVES = 1 << 24


class TreeMemory(RingSteps, RowMemory):
    """A prioritized replay memory on the CPU: experience i is drawn with probability ``P(i) = p_i /
    sum p``, ``p = (|td| + epsilon)**alpha`` (Schaul et al., ICLR 2016), by a tree with ``fanout``
    children a node (CF'22 section 3.1).

    For equal arguments its batches, weights and priorities are those of
    ``rlfabric.PrioritizedReplayBuffer`` byte for byte, and so are the methods and their errors. No
    card is needed, and nothing is launched.

    Parameters
    ----------
    fields : dict
        ``{name: (dtype, shape)}`` of an experience: numbers or bools.
    capacity : int
        Experiences, from 2 to 2^24. If full, the oldest is overwritten.
    fanout : int
        Children of a tree node, a power of two in 2..64. It changes the speed alone.
    alpha, epsilon : float
        alpha in [0, 1], epsilon in [0, 1), which is counted in units of 2**-16 as on the card.
    seed : int
        Equal seeds draw equal batches.
    stratified : bool
        One draw from each of ``batch_size`` equal parts of the priority mass; else independent.

    Attributes
    ----------
    saturations : int
        How many TD errors above 65536 and priorities above 256, the format's largest, were clipped
        to it since the memory was empty.

    ValueError for a bad option, and for a draw while all priorities are 0; what the same ``step``
    has updated and stored before the draw then stays.
    """

    def __init__(
        self,
        fields: Fields,
        capacity: int,
        *,
        fanout: int = ReplayConfig.fanout,
        alpha: float = 0.6,
        epsilon: float = 1e-4,
        seed: int = 0,
        stratified: bool = True,
    ) -> None:
        super().__init__(
            fields,
            ReplayConfig(capacity=_LEAVES, fanout=fanout),
            capacity=capacity,
            alpha=alpha,
            epsilon=epsilon,
            stratified=stratified,
        )
        self._warn_of_epsilon()
        words = self.dtype.itemsize // 4
        self.ring = PrioritizedRing(replace(self._replay, capacity=self.capacity), words)
        self.ring.manager.seed(np.random.SFC64(seed).state["state"]["state"])

    @property
    def saturations(self) -> int:
        return self.ring.saturations

    # -- the parts of a step

    def update(self, indexes: NDArray[np.integer], td_errors: NDArray[np.float32]) -> None:
        if not self.ring.update(indexes, td_errors, **self._power):
            self.ring.update(*self._checked_update(indexes, td_errors), **self._power)
        self._count_errors(len(indexes))

    @property
    def clipped_priorities(self) -> int:
        return self.ring.saturations

    def draw(self, count: int, beta: int) -> Drawn:
        if not self.ring.manager.total:
            raise UsageError("priorities must not all be 0 in a memory that is drawn from")
        return self._drawn(self.ring, count, beta)

    def _insert(self, records, first_priorities):
        self._inserted(self.ring, records, first_priorities)

    # -- all that is stored

    def priorities(self) -> NDArray[np.uint32]:
        """The priorities of all experiences in the order of their indexes: uint32 [fill], raw
        numbers of the card's format."""
        return self.ring.manager.priorities[: len(self)].astype(np.uint32)

    def _set(self, indexes, raw):
        self.ring.manager.set_items(items_of(indexes, raw), len(indexes), len(self))

    @property
    def _drawing(self):
        state = np.array(self.ring.manager.state, np.uint64)
        return {"random": state, "maximum": int(self.ring.maximum)}

    def _load_drawing(self, random, maximum, priorities):
        self.ring.manager.seed(random)
        self.ring.restored = maximum
        self._set(np.arange(len(priorities), dtype=np.uint32), priorities)

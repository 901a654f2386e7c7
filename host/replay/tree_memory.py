"""Prioritized replay on the CPU: the sum tree of the kernels' twin, compiled by numba."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from host.replay.experience import Fields
from host.replay.row_memory import Drawn, RowMemory
from hw.errors import UsageError
from hw.replay.commands import Given
from hw.replay.config import ReplayConfig
from hw.replay.priority import PriorityConfig
from hw.replay.weight import WeightConfig
from sim.model.replay.priority import Priorities
from sim.model.replay.tree.manager import ReplayManager
from sim.model.replay.weight import Weights

__all__ = ["TreeMemory"]

#: Leaves of the largest tree.
_LEAVES = 1 << 24


class TreeMemory(RowMemory):
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
        tree = replace(self._replay, capacity=self.capacity)
        width = dict(priority_width=tree.priority_width)
        fraction = tree.priority_fraction
        self._priorities_of = Priorities(PriorityConfig(**width, priority_fraction=fraction))
        self._weights_of = Weights(WeightConfig(**width))
        self._manager = ReplayManager(tree)
        self._manager.seed(np.random.SFC64(seed).state["state"]["state"])
        self._initial, self._restored, self.saturations = tree.one, 0, 0

    # -- the parts of a step

    def update(self, indexes: NDArray[np.integer], td_errors: NDArray[np.float32]) -> None:
        items = _items(indexes)
        _, clipped = self._manager.update_items(items, len(self), *self._found(td_errors))
        self.saturations += clipped
        self._count_updates(len(indexes))

    @property
    def clipped_priorities(self) -> int:
        return self.saturations

    def draw(self, count: int, beta: int) -> Drawn:
        manager = self._manager
        if not manager.total:
            raise UsageError("priorities must not all be 0 in a memory that is drawn from")
        width = self._stratum(count)
        indexes, priorities, _ = manager.sample(count, stratum_width=width)
        weights = self._weights_of(priorities, manager.total, len(self), beta)
        return Drawn(self._taken(indexes), indexes, weights.view(np.float32))

    def _enter(self, begin, count, first_priorities):
        manager = self._manager
        if first_priorities is None:
            manager.fill(begin, count, self.capacity, self._largest or self._initial)
        elif first_priorities.fields["given"] == Given.PRIORITIES:
            items = _items(np.zeros(count, np.uint32), first_priorities.values)
            manager.enter_items(begin, self.capacity, items, count)
        else:
            found = self._found(first_priorities.values)
            _, clipped = manager.enter_updates(begin, self.capacity, *found)
            self.saturations += clipped

    def _found(self, td_errors):
        """``(priorities, saturated, invalid)`` of TD errors, float32 or their bits."""
        return self._priorities_of(td_errors.view(np.uint32).astype(np.int64), **self._power)

    @property
    def _largest(self):
        return max(self._manager.maximum, self._restored)

    # -- all that is stored

    def priorities(self) -> NDArray[np.uint32]:
        """The priorities of all experiences in the order of their indexes: uint32 [fill], raw
        numbers of the card's format."""
        return self._manager.priorities[: len(self)].astype(np.uint32)

    def _set(self, indexes, raw):
        self._manager.set_items(_items(indexes, raw), len(indexes), len(self))

    def _reset(self):
        self._manager.clear()
        self._restored = self.saturations = 0

    @property
    def _drawing(self):
        state = np.array(self._manager.state, np.uint64)
        return {"random": state, "maximum": int(self._largest)}

    def _load_drawing(self, random, maximum, priorities):
        self._manager.seed(random)
        self._restored = maximum
        self._set(np.arange(len(priorities), dtype=np.uint32), priorities)


def _items(indexes, values=0):
    """Pairs of index and value, uint32 [2 n], as ``ReplayManager`` takes them."""
    items = np.zeros((len(indexes), 2), np.uint32)
    items[:, 0], items[:, 1] = indexes, values
    return items.reshape(-1)

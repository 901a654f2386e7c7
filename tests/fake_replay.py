"""Proportional prioritized replay in NumPy: what training is tested with where no card is needed.

Same surface as the card's buffer, which takes dicts and records; priorities are float64 and a draw
is a search in their running sum.
"""

import numpy as np

from host.cards.kernel import Flight


class FakeReplay:
    """``P(i) = p_i / sum p``, ``p = (abs(td) + epsilon)^alpha``, stratified draws; weights
    ``(N P(i))^-beta`` over their maximum; new experiences enter with the highest priority seen."""

    device_cycles = None
    clipped_priorities = 0
    in_process = False

    def __init__(self, fields, *, capacity, alpha, epsilon, seed):
        self.capacity, self.alpha, self.epsilon = capacity, alpha, epsilon
        self.arrays = {
            name: np.zeros((capacity, *shape), dtype) for name, (dtype, shape) in fields.items()
        }
        self.priorities = np.zeros(capacity)
        self.rng = np.random.default_rng(seed)
        self.inserted, self.highest, self.closed = 0, 1.0, False
        self.flight = Flight()

    def __len__(self):
        return min(self.inserted, self.capacity)

    def add(self, **fields):
        self._store(fields)

    def _store(self, experiences):
        count = len(experiences["action"])
        at = (self.inserted + np.arange(count)) % self.capacity
        for name, array in self.arrays.items():
            array[at] = experiences[name]
        self.priorities[at] = self.highest
        self.inserted += count

    def sample(self, batch_size, beta):
        fill = len(self)
        if batch_size > fill:
            raise ValueError(f"batch_size must be at most the fill ({fill}), not {batch_size}")
        total = np.cumsum(self.priorities[:fill])
        targets = (np.arange(batch_size) + self.rng.random(batch_size)) / batch_size * total[-1]
        indexes = np.minimum(np.searchsorted(total, targets, side="right"), fill - 1)
        weights = (fill * self.priorities[indexes] / total[-1]) ** -beta
        batch = {name: array[indexes] for name, array in self.arrays.items()}
        batch["weights"] = (weights / weights.max()).astype(np.float32)
        batch["indexes"] = indexes.astype(np.int64)
        return batch

    def update_priorities(self, indexes, td_errors):
        if not np.isfinite(td_errors).all():
            raise ValueError("td_errors must be finite")
        priorities = (np.abs(td_errors) + self.epsilon) ** self.alpha
        self.priorities[indexes] = priorities
        self.highest = max(self.highest, float(priorities.max()))

    def step(self, experiences, update, sample):
        if update is not None:
            self.update_priorities(*update)
        if experiences is not None:
            self._store(experiences)
        if isinstance(sample, list):
            return [self.sample(*each) for each in sample]
        return None if sample is None else self.sample(*sample)

    def state_dict(self):
        return {
            "arrays": {name: array.copy() for name, array in self.arrays.items()},
            "priorities": self.priorities.copy(),
            "rng": self.rng.bit_generator.state,
            "inserted": self.inserted,
            "highest": self.highest,
        }

    def load_state_dict(self, state):
        for name, array in self.arrays.items():
            array[...] = state["arrays"][name]
        self.priorities[...] = state["priorities"]
        self.rng.bit_generator.state = state["rng"]
        self.inserted, self.highest = int(state["inserted"]), float(state["highest"])

    def abort(self):
        self.flight.abort()

    def close(self):
        self.closed = True

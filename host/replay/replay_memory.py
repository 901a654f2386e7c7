"""What all prioritized replay memories have in common, wherever they are: options and checks."""

import functools
import math
import warnings
from collections.abc import Mapping
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from host.replay.experience import (
    Batch,
    Experiences,
    Fields,
    FirstPriorities,
    checked_inserts,
    checked_items,
    raw_priorities,
    record_dtype,
    to_records,
)
from host.values import held
from hw.arith.power import SCALE_FORMAT
from hw.errors import UsageError
from hw.replay.config import FRACTION_WIDTH, ReplayConfig
from hw.replay.priority import EPSILON_FORMAT
from hw.replay.records import GRANULE_BYTES

__all__ = ["ReplayMemory"]


#: (batch_size, beta)
Draw: TypeAlias = tuple[int, float]


#: Entries of a memory's state: name, dtype, axes.
_STATE = (
    ("experiences", np.uint8, 2),
    ("priorities", np.uint32, 1),
    ("random", np.uint64, 1),
    ("position", np.int64, 0),
    ("maximum", np.int64, 0),
)


@functools.lru_cache(maxsize=16)
def _quantized(exponent):
    """alpha or beta as the card counts it."""
    return int(SCALE_FORMAT.quantize(exponent)[0])


class ReplayMemory:
    """The base class of replay memories: it checks the arguments of all calls, and leaves it to a
    subclass to store, to draw and to change priorities.

    A subclass has ``_step``, ``_set``, ``_stored``, ``__len__``, and the methods ``clear``,
    ``priorities``, ``state_dict``, ``load_state_dict``, ``abort`` and ``close``.

    Parameters
    ----------
    fields, capacity, alpha, epsilon, stratified
        As for ``host.replay.prioritized_buffer.PrioritizedReplayBuffer``.
    replay : ReplayConfig
        Has the format of priorities, and the largest ``capacity``.
    why : str
        Why ``capacity`` is limited, for the error's text.

    Attributes
    ----------
    dtype : dtype
        A record of an experience, in whole granules.
    fields : dict
        Name -> dtype of a field, without its shape.
    """

    def __init__(
        self,
        fields: Fields,
        replay: ReplayConfig,
        *,
        capacity: int,
        alpha: float,
        epsilon: float,
        stratified: bool,
        why: str = "",
    ) -> None:
        limit = replay.capacity
        if not isinstance(capacity, (int, np.integer)) or not 2 <= capacity <= limit:
            raise UsageError(f"capacity must be an integer in 2..{limit}{why}, not {capacity!r}")
        for name, value, high in (("alpha", alpha, 1.0), ("epsilon", epsilon, 1 - 2.0**-16)):
            if not 0 <= value <= high:
                raise UsageError(f"{name} must be in 0..{high:g}, not {value!r}")
        self.capacity, self.alpha, self.epsilon = int(capacity), alpha, epsilon
        self._forget_errors()
        self.stratified = stratified
        self.dtype = record_dtype(fields)
        self.fields = {name: self.dtype[name].base for name in self.dtype.names}
        self._replay, self._granules = replay, self.dtype.itemsize // GRANULE_BYTES
        self._power = {
            "alpha": _quantized(float(alpha)),
            "epsilon": int(EPSILON_FORMAT.quantize(epsilon)[0]),
        }

    @property
    def _ring(self):
        """The twin's ring (``sim.model.replay.ring``), which steps change in this process; None if
        programs run."""
        return None

    def _warn_of_epsilon(self):
        """Gives a RuntimeWarning if the card's format changes epsilon by more than a tenth."""
        counted = self._power["epsilon"] / (1 << EPSILON_FORMAT.fraction)
        if abs(counted - self.epsilon) > 0.1 * self.epsilon:
            warnings.warn(
                f"epsilon is counted in units of 2**-16: {self.epsilon:g} becomes {counted:g}",
                RuntimeWarning,
                stacklevel=3,
            )

    @property
    def clipped_priorities(self) -> int | None:
        """How many TD errors and priorities were clipped to the format's largest; None for a memory
        without priorities."""
        return None

    def _forget_errors(self):
        """Begins to count TD errors anew, as a memory does whose ``clipped_priorities`` become
        0."""
        self._errors, self._told_clipped = 0, False

    def _count_errors(self, count):
        """Counts TD errors, also of first priorities, and warns once if the clipped ones
        exceed 1 %: all have the largest priority, so sampling does not distinguish them."""
        self._errors += count
        if not self._told_clipped and 100 * self.clipped_priorities > self._errors:
            self._told_clipped = True
            largest = (self._replay.priority_limit + 1) / (1 << self._replay.priority_fraction)
            most = largest ** (1 / self.alpha) if self.alpha else math.inf
            warnings.warn(
                f"priorities are saturated: {self.clipped_priorities} of {self._errors} TD errors "
                f"were above {min(most, 65536):.4g}, and have the same priority; smaller rewards "
                "(reward_scale) or a smaller alpha tell them apart",
                RuntimeWarning,
                stacklevel=4,
            )

    def __repr__(self) -> str:
        return f"{type(self).__name__}(capacity={self.capacity}, fields={list(self.fields)})"

    def __len__(self) -> int:
        raise NotImplementedError

    @property
    def in_process(self) -> bool:
        """Whether this process computes all that the memory does, as on the CPU and by a twin, so
        that nothing is gained by another thread that calls it."""
        return True

    def step(
        self,
        experiences: Experiences | None = None,
        update: tuple[ArrayLike, ArrayLike] | None = None,
        sample: Draw | list[Draw] | None = None,
        *,
        priorities: ArrayLike | None = None,
        td_errors: ArrayLike | None = None,
    ) -> Batch | list[Batch] | None:
        """Updates priorities, then inserts experiences, then draws; on a card in one launch.

        Parameters
        ----------
        experiences : dict of arrays [n, ...], records [n] of ``dtype``, or None
            A dict has every field; for one experience its arrays may lack the axis n. They enter
            with the largest priority so far, or with ``priorities`` (as in ``set_priorities``) or
            those that follow from ``td_errors``, one for each.
        update : (indexes, td_errors), or None
            If an index is there more than once, its last TD error counts.
        sample : (batch_size, beta), or a list of such pairs, or None
            Size of the batch, and exponent of the importance weights.

        Returns
        -------
        The batch, or None without ``sample``; for a list of pairs a list of batches, drawn one
        after the other. A batch is a dict with each field [batch_size, ...], ``indexes`` (int64)
        and ``weights`` (float32): ``(N P(i))**-beta``, with N experiences stored, divided by the
        largest of the *batch*. (cpprb divides by the largest of the memory.)

        ValueError for a wrong argument; nothing was changed then.
        """
        if update is not None:
            update = self._checked_update(*update)
        count, records, first_priorities = 0, None, None
        if experiences is not None:
            records = self.records_of(experiences)
            count = len(records)
            first_priorities = self.first_priorities(count, priorities, td_errors)
            if count > self.capacity:
                begin = count - self.capacity
                records, first_priorities = (
                    records[begin:],
                    first_priorities and first_priorities.part(begin, count),
                )
        elif priorities is not None or td_errors is not None:
            raise UsageError("experiences must be given with priorities or td_errors, not missing")
        several = isinstance(sample, list)
        draws = sample if several else [] if sample is None else [sample]
        if draws:
            fill = min(len(self) + count, self.capacity)
            draws = [self._checked_draw(fill, *draw) for draw in draws]
        batches = self._step(update, records, first_priorities, draws)
        return batches if several else batches[0] if batches else None

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
        indexes, values = checked_items(len(self), "priorities", indexes, priorities)
        self._set(indexes, raw_priorities(self._replay, values))

    def get_stored_size(self) -> int:
        """Experiences stored: ``len``."""
        return len(self)

    def is_full(self) -> bool:
        """Whether the next experience overwrites the oldest."""
        return len(self) == self.capacity

    def get_all_transitions(self) -> Batch:
        """A dict with an array [fill, ...] of each field: all experiences in the order of their
        indexes."""
        records = self._stored().reshape(-1).view(self.dtype)
        return {name: np.ascontiguousarray(records[name]) for name in self.dtype.names}

    # -- checks that a caller with a loop of its own needs

    def records_of(self, experiences: Experiences) -> NDArray[np.void]:
        """``experiences``, as for ``step``, as records [n] of ``dtype``; ValueError if they are no
        experiences of this memory."""
        return to_records(experiences, self.dtype)

    def first_priorities(
        self, count: int, priorities: ArrayLike | None, td_errors: ArrayLike | None
    ) -> FirstPriorities | None:
        """As ``FirstPriorities.of``, in this memory's format; None if both are."""
        if priorities is None and td_errors is None:
            return None
        return FirstPriorities.of(
            count, self._replay, priorities=priorities, td_errors=td_errors, **self._power
        )

    def division(
        self, total: int, iterations: int, inserts: int | None, batch_size: int
    ) -> tuple[int, int]:
        """``(rest, inserts)``: of ``total`` experiences, ``rest`` are stored before the first of
        the ``iterations``, and ``inserts`` in each of them after its draw of ``batch_size``.

        ``inserts`` None: as many as divide evenly. ValueError if there are not as many experiences,
        and if fewer than ``batch_size`` are stored at the first draw.
        """
        room = dict(capacity=self.capacity, granules=self._granules)
        inserts = checked_inserts(inserts, total, iterations, **room)
        rest = total - inserts * iterations
        fill = min(len(self) + rest, self.capacity)
        if batch_size > fill:
            raise UsageError(f"batch_size must be at most the fill ({fill}), not {batch_size}")
        return rest, inserts

    @property
    def _batch_limit(self):
        return self.capacity

    def _checked_update(self, indexes, td_errors):
        """The items of an update, as arrays: int64 and float32. A ring also takes float64 whose
        numbers float32 holds."""
        ring = self._ring
        if ring is not None and ring.takes(indexes, td_errors):
            return indexes, td_errors
        indexes, errors = checked_items(len(self), "td_errors", indexes, td_errors)
        errors = held("td_errors", errors, np.float32)
        return indexes.astype(np.int64), np.require(errors, requirements="CAW")

    def _checked_draw(self, fill, count, beta):
        """``(count, beta)`` of a draw, beta as the card counts it."""
        if not isinstance(count, (int, np.integer)) or not 1 <= count <= self._batch_limit:
            raise UsageError(
                f"batch_size must be an integer in 1..{self._batch_limit}, not {count!r}"
            )
        if count > fill:
            raise UsageError(f"batch_size must be at most the fill ({fill}), not {count}")
        if not 0 <= beta <= 1:
            raise UsageError(f"beta must be in 0..1, not {beta!r}")
        return int(count), _quantized(float(beta))

    def _stratum(self, count):
        """The ``stratum_width`` of ``count`` draws."""
        return (1 << FRACTION_WIDTH) // (count if self.stratified else 1)

    @staticmethod
    def _batch(records, indexes, weights) -> Batch:
        """The batch of ``step``, from records and from weights that are not divided yet."""
        batch = {name: np.ascontiguousarray(records[name]) for name in records.dtype.names}
        batch["weights"] = weights / weights.max()
        batch["indexes"] = indexes.astype(np.int64)
        return batch

    @property
    def _identity(self):
        """What a saved state must share with this memory."""
        return {
            "capacity": self.capacity,
            "dtype": repr(self.dtype),
            "alpha": float(self.alpha),
            "epsilon": float(self.epsilon),
            "stratified": bool(self.stratified),
        }

    def _check_state(
        self, state: Mapping[str, object]
    ) -> tuple[NDArray[np.uint8], NDArray[np.uint32], NDArray[np.uint64], int, int]:
        """The experiences, uint8 [fill, itemsize], raw priorities, uint32 [fill], the generator's
        state, uint64 [4], the index of the next experience and the largest raw priority so far, of
        a saved state. UsageError if the state is of another memory, or of none."""
        self._check_identity(state)
        found = []
        for name, dtype, rank in _STATE:
            if name not in state:
                raise UsageError(f"{name} must be in the state, not missing")
            values = held(name, state[name], dtype)
            if values.ndim != rank:
                raise UsageError(f"{name} must have {rank} axes, not the shape {values.shape}")
            found.append(values)
        experiences, priorities, random, position, maximum = found
        fill, limit = len(experiences), self._replay.priority_limit
        if experiences.shape[1] != self.dtype.itemsize:
            size = experiences.shape[1]
            raise UsageError(f"experiences must have {self.dtype.itemsize} bytes each, not {size}")
        if len(priorities) != fill:
            raise UsageError(
                f"priorities must be one an experience ({fill}), not {len(priorities)}"
            )
        if len(random) != 4:
            raise UsageError(f"random must be four words, not {len(random)}")
        if fill > self.capacity or not 0 <= position < self.capacity:
            raise UsageError(
                f"position and experiences must be in a memory of {self.capacity}, not {position} "
                f"and {fill}"
            )
        if fill < self.capacity and position != fill:
            raise UsageError(f"position must be the fill ({fill}) until it is full, not {position}")
        for name, value in (("maximum", maximum), ("priorities", priorities.max(initial=0))):
            if not 0 <= value <= limit:
                raise UsageError(f"{name} must be in 0..{limit}, not {value}")
        return experiences, priorities, random, int(position), int(maximum)

    def _check_identity(self, state):
        if not isinstance(state, Mapping):
            raise UsageError(f"state must be what state_dict gives, not {type(state).__name__}")
        for name, own in self._identity.items():
            found = state.get(name)
            if np.ndim(found) or found != own:
                raise UsageError(f"{name} must be that of this buffer ({own}), not {found}")

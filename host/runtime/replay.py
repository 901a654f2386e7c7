"""Prioritized replay on a card, with the surface that users of cpprb and torchrl know.

Proportional prioritization of Schaul et al., Prioritized Experience Replay (ICLR 2016). The sum
tree, the draws, priorities, weights, and the experiences themselves live on the card.
"""

import functools
import warnings
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from host.card.kernel import Kernel
from host.runtime.experience import (
    Batch,
    Experiences,
    Fields,
    checked_items,
    entering,
    finite,
    put_items,
    put_records,
    record_dtype,
    to_records,
)
from host.runtime.program import Launcher, aligned
from host.runtime.stored import Stored
from hw.arith.power import SCALE_FORMAT
from hw.errors import UsageError
from hw.replay.commands import MAX_COUNT, MAX_TRANSFER, Opcode
from hw.replay.config import FRACTION_WIDTH
from hw.replay.priority import EPSILON_FORMAT
from hw.replay.records import GRANULE_BYTES, HEADER

__all__ = ["PrioritizedReplayBuffer"]


#: (batch_size, beta)
Draw: TypeAlias = tuple[int, float]


@functools.lru_cache(maxsize=16)
def _quantized(exponent):
    """alpha or beta as the card counts it."""
    return int(SCALE_FORMAT.quantize(exponent)[0])


class PrioritizedReplayBuffer(Stored):
    """A replay memory on a card. Experience i is drawn with probability ``P(i) = p_i / sum p``,
    ``p = (|td| + epsilon)**alpha``.

    Every call is a launch. A loop of one's own is fastest with ``step``, which does an update, an
    insert and a draw in one launch.

    Parameters
    ----------
    kernel : host.card.Kernel
        A loaded kernel with a replay memory: ``replay``, ``dqn``, ``ddpg``.
    fields : dict
        ``{name: (dtype, shape)}`` of an experience: numbers or bools. Each part of a dict of
        observations needs a field of its own.
    capacity : int
        Experiences, from 2 to what the kernel's tree holds. If full, the oldest is overwritten.
    alpha, epsilon : float
        alpha in [0, 1], epsilon in [0, 1). The card counts epsilon in units of 2**-16: 1e-4 becomes
        1.07e-4, and 1e-6 becomes 0. RuntimeWarning if that changes epsilon by more than a tenth.
    seed : int
        Equal seeds draw equal batches on every card.
    stratified : bool
        One draw from each of ``batch_size`` equal parts of the priority mass; else independent.
    timeout_s : float
        Seconds after which a launch that has not ended raises CardTimeout.
    takeover : bool
        A kernel serves one buffer. If another buffer has the kernel: ValueError, unless True; the
        other then raises RuntimeError at its next use. The other's ``close`` frees the kernel too.

    Attributes
    ----------
    launcher : Launcher
        Runs programs of one's own on the card.
    batch_dtype : dtype
        A record of a batch in results: header and experience.
    device_cycles : int or None
        Clocks of all launches so far; None on a card that does not count.
    status : record
        The card's block after the last launch; ``saturations`` counts TD errors above 65536 and
        priorities above the format's largest (256 by default), which were clipped to it.

    Raises ValueError for a bad option, HashMismatch for a kernel that is not the described one,
    CapacityError if the experiences do not fit the memory bank.
    """

    def __init__(
        self,
        kernel: Kernel,
        fields: Fields,
        *,
        capacity: int,
        alpha: float = 0.6,
        epsilon: float = 1e-4,
        seed: int = 0,
        stratified: bool = True,
        timeout_s: float = 600.0,
        takeover: bool = False,
    ) -> None:
        self.launcher = Launcher(kernel, timeout_s=timeout_s)
        self.config = self.launcher.config
        limit = self.config.replay.capacity
        if not isinstance(capacity, (int, np.integer)) or not 2 <= capacity <= limit:
            raise UsageError(
                f"capacity must be an integer in 2..{limit} (the kernel's tree), not {capacity!r}"
            )
        for name, value, high in (("alpha", alpha, 1.0), ("epsilon", epsilon, 1 - 2.0**-16)):
            if not 0 <= value <= high:
                raise UsageError(f"{name} must be in 0..{high:g}, not {value!r}")
        self.capacity, self.alpha, self.epsilon = int(capacity), alpha, epsilon
        self.stratified = stratified
        self.dtype = record_dtype(fields)
        self.fields = {name: self.dtype[name].base for name in self.dtype.names}
        self._granules = self.dtype.itemsize // GRANULE_BYTES
        self.batch_dtype = np.dtype([("header", HEADER.dtype), ("experience", self.dtype)])
        self._stride = aligned(self.dtype.itemsize, self.config.engine.beat_bytes)
        self._alpha = _quantized(float(alpha))
        self._epsilon = int(EPSILON_FORMAT.quantize(epsilon)[0])
        counted = self._epsilon / (1 << EPSILON_FORMAT.fraction)
        if abs(counted - epsilon) > 0.1 * epsilon:
            warnings.warn(
                f"epsilon is counted in units of 2**-16: {epsilon:g} becomes {counted:g}",
                RuntimeWarning,
                stacklevel=2,
            )
        self.launcher.claim = kernel.claims.make(repr(self), takeover=takeover)
        try:
            self._begin(kernel, seed)
        except BaseException:
            self.close()
            raise

    def _begin(self, kernel, seed):
        kernel.check()
        self._storage = kernel.buffer("storage", self.capacity * self._stride)
        self.launcher.pointers["storage"] = self._storage
        state = np.random.SFC64(seed).state["state"]["state"]
        self.launcher.run([self._setup, (Opcode.SEED, {"state": state})])

    @property
    def _setup(self):
        return Opcode.SETUP, {
            "capacity": self.capacity,
            "granules": self._granules,
            "priority": self.config.replay.one,
        }

    def __repr__(self) -> str:
        return f"{type(self).__name__}(capacity={self.capacity}, fields={list(self.fields)})"

    def __len__(self) -> int:
        return int(self.launcher.status["fill"])

    @property
    def device_cycles(self) -> int | None:
        return self.launcher.cycles

    @property
    def launches(self) -> int:
        return self.launcher.launches

    @property
    def status(self) -> np.void:
        """The card's status block after the last launch (``hw.replay.commands.REPLAY_STATUS``)."""
        return self.launcher.status

    def step(
        self,
        experiences: Experiences | None = None,
        update: tuple[ArrayLike, ArrayLike] | None = None,
        sample: Draw | list[Draw] | None = None,
        *,
        priorities: ArrayLike | None = None,
        td_errors: ArrayLike | None = None,
    ) -> Batch | list[Batch] | None:
        """Updates priorities, then inserts experiences, then draws, all in one launch.

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
        after the other. A batch is a dict with each field [batch_size, ...], ``indexes`` (uint32)
        and ``weights`` (float32): ``(N P(i))**-beta``, with N experiences stored, divided by the
        largest of the *batch*. (cpprb divides by the largest of the memory.)

        ValueError for a wrong argument; nothing was launched then.
        """
        program, operands, offset = [], [], 0
        if update is not None:
            indexes, errors = checked_items(len(self), "td_errors", *update, np.float32)
            errors = finite("td_errors", errors)
            offset = put_items(
                program,
                operands,
                offset,
                Opcode.UPDATE,
                indexes,
                errors.view(np.uint32),
                alpha=self._alpha,
                epsilon=self._epsilon,
            )
        fill = len(self)
        if experiences is not None:
            records = self._records(experiences)
            fill = min(fill + len(records), self.capacity)
            given = self._entering(len(records), priorities, td_errors)
            kept = slice(max(0, len(records) - self.capacity), len(records))
            given = given and given.part(kept.start, kept.stop)
            put_records(program, operands, offset, records[kept], given)
        elif priorities is not None or td_errors is not None:
            raise UsageError("experiences must be given with priorities or td_errors, not missing")
        several = isinstance(sample, list)
        draws = sample if several else [] if sample is None else [sample]
        places = self._put_draws(program, draws, fill)
        if not program:
            return None
        results = self.launcher.run(program, operands, places[-1].stop if places else 0)
        batches = [self._batch(results[place]) for place in places]
        return batches if several else batches[0] if batches else None

    def close(self) -> None:
        """Releases the kernel for another buffer; this one must not be used afterwards."""
        self.launcher.kernel.claims.release(self.launcher.claim)

    # -- arrays to programs

    @property
    def _batch_limit(self):
        return min(MAX_COUNT, MAX_TRANSFER // (self._granules + 1))

    def _stratum(self, count):
        """``step`` of a command that draws ``count``."""
        return (1 << FRACTION_WIDTH) // (int(count) if self.stratified else 1)

    def _put_draws(self, program, draws, fill):
        """Append a SAMPLE for each (batch_size, beta); the place of each batch in results."""
        places, end = [], 0
        for count, beta in draws:
            if not isinstance(count, (int, np.integer)) or not 1 <= count <= self._batch_limit:
                raise UsageError(
                    f"batch_size must be an integer in 1..{self._batch_limit}, not {count!r}"
                )
            if count > fill:
                raise UsageError(f"batch_size must be at most the fill ({fill}), not {count}")
            if not 0 <= beta <= 1:
                raise UsageError(f"beta must be in 0..1, not {beta!r}")
            begin = aligned(end)
            end = begin + count * self.batch_dtype.itemsize
            places.append(slice(begin, end))
            fields = {"count": count, "destination": begin, "beta": _quantized(float(beta))}
            program.append((Opcode.SAMPLE, fields | {"stratum_width": self._stratum(count)}))
        return places

    def _entering(self, count, priorities, td_errors):
        return entering(
            count,
            self.config.replay,
            priorities=priorities,
            td_errors=td_errors,
            alpha=self._alpha,
            epsilon=self._epsilon,
        )

    def _records(self, experiences):
        return to_records(experiences, self.dtype)

    def _batch(self, results) -> Batch:
        records = results.view(self.batch_dtype)
        batch = {
            name: np.ascontiguousarray(records["experience"][name]) for name in self.dtype.names
        }
        weights = records["header"]["weight"]
        batch["weights"] = weights / weights.max()
        batch["indexes"] = records["header"]["index"].copy()
        return batch

"""Prioritized replay on a card, with the surface that users of cpprb and torchrl know.

Proportional prioritization of Schaul et al., Prioritized Experience Replay (ICLR 2016). The sum
tree, the draws, priorities, weights, and the experiences themselves live on the card.
"""

import numpy as np

from host.cards.kernel import Kernel
from host.programs.launcher import Launcher, aligned
from host.replay.buffer_state import Stored
from host.replay.experience import Fields, put_items, put_records
from hw.replay.commands import MAX_COUNT, MAX_TRANSFER, Opcode
from hw.replay.records import HEADER

__all__ = ["PrioritizedReplayBuffer"]


class PrioritizedReplayBuffer(Stored):
    """A replay memory on a card. Experience i is drawn with probability ``P(i) = p_i / sum p``,
    ``p = (|td| + epsilon)**alpha``.

    Every call is a launch. A loop of one's own is fastest with ``step``, which does an update, an
    insert and a draw in one launch.

    Parameters
    ----------
    kernel : host.cards.Kernel
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
        super().__init__(
            fields,
            self.config.replay,
            capacity=capacity,
            alpha=alpha,
            epsilon=epsilon,
            stratified=stratified,
            why=" (the kernel's tree)",
        )
        self._warn_of_epsilon()
        self.batch_dtype = np.dtype([("header", HEADER.dtype), ("experience", self.dtype)])
        self._stride = aligned(self.dtype.itemsize, self.config.engine.beat_bytes)
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

    @property
    def clipped_priorities(self) -> int:
        return int(self.launcher.status["saturations"])

    def abort(self) -> None:
        """Gives up the launch under way, which another thread waits for."""
        self.launcher.kernel.flight.abort()

    def close(self) -> None:
        """Releases the kernel for another buffer; this one must not be used afterwards."""
        self.launcher.kernel.claims.release(self.launcher.claim)

    # -- arrays to programs

    def _step(self, update, records, first_priorities, draws):
        program, operands, offset = [], [], 0
        if update is not None:
            indexes, errors = update
            values = errors.view(np.uint32)
            lists = program, operands, offset
            offset = put_items(*lists, Opcode.UPDATE, indexes, values, **self._power)
        if records is not None:
            put_records(program, operands, offset, records, first_priorities)
        places = self._put_draws(program, draws)
        if not program:
            return []
        results = self.launcher.run(program, operands, places[-1].stop if places else 0)
        if update is not None:
            self._count_updates(len(indexes))
        return [self._received(results[place]) for place in places]

    @property
    def _batch_limit(self):
        return min(MAX_COUNT, MAX_TRANSFER // (self._granules + 1))

    def _put_draws(self, program, draws):
        """Appends a SAMPLE for each (batch_size, beta); the place of each batch in results."""
        places, end = [], 0
        for count, beta in draws:
            begin = aligned(end)
            end = begin + count * self.batch_dtype.itemsize
            places.append(slice(begin, end))
            fields = {"count": count, "destination": begin, "beta": beta}
            program.append((Opcode.SAMPLE, fields | {"stratum_width": self._stratum(count)}))
        return places

    def _received(self, results):
        records = results.view(self.batch_dtype)
        header = records["header"]
        return self._batch(records["experience"], header["index"], header["weight"])

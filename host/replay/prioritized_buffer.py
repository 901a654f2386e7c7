"""Prioritized replay on a card, with the surface that users of cpprb and torchrl know.

Proportional prioritization of Schaul et al., Prioritized Experience Replay (ICLR 2016). The sum
tree, the draws, priorities, weights, and the experiences themselves live on the card.
"""

from contextlib import suppress

import numpy as np

from host.cards.kernel import Kernel
from host.programs.launcher import CommandError, Launcher, aligned
from host.replay.buffer_state import Stored
from host.replay.experience import Fields, put_items, put_records
from host.replay.row_memory import RingSteps
from hw.errors import Failure
from hw.replay.commands import COMMANDS, MAX_COUNT, MAX_TRANSFER, Opcode
from hw.replay.records import HEADER, Error

__all__ = ["PrioritizedReplayBuffer"]


class PrioritizedReplayBuffer(RingSteps, Stored):
    """A replay memory on a card. Experience i is drawn with probability ``P(i) = p_i / sum p``,
    ``p = (|td| + epsilon)**alpha``.

    Every call is a launch. A loop of one's own is fastest with ``step``, which does an update, an
    insert and a draw in one launch. On card ``model`` with the kernels ``replay``, ``dqn``,
    ``ddpg`` and ``td3``, steps change what the kernel's twin holds, and launch nothing: the buffer
    is then a ``TreeMemory``, to the byte.

    Parameters
    ----------
    kernel : host.cards.Kernel
        A loaded kernel with a replay memory: ``replay``, ``dqn``, ``ddpg``, ``td3``.
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
    by_programs : bool
        Whether card ``model`` runs a program for each step, as the other cards do, with the same
        results in several times the time.

    Attributes
    ----------
    launcher : Launcher
        Runs programs of one's own on the card.
    batch_dtype : dtype
        A record of a batch in results: header and experience.
    device_cycles : int or None
        Clocks of all launches so far; None on a card that does not count.
    status : record
        The card's block after the last step; ``saturations`` counts TD errors above 65536 and
        priorities above the format's largest (256 by default), which were clipped to it.

    Raises ValueError for a bad option, HashMismatch for a kernel that is not the described one,
    CapacityError if the experiences do not fit the memory bank.
    """

    _core = _left = None

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
        by_programs: bool = False,
    ) -> None:
        self.launcher, self.by_programs = Launcher(kernel, timeout_s=timeout_s), by_programs
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
        core = getattr(kernel.twin, "core", None)
        if getattr(core, "ring", None) is not None:
            self._core = core

    @property
    def _setup(self):
        return Opcode.SETUP, {
            "capacity": self.capacity,
            "granules": self._granules,
            "priority": self.config.replay.one,
        }

    @property
    def _ring(self):
        core, launcher = self._core, self.launcher
        if core is None or self.by_programs or launcher.kernel.twin is None:
            return None
        launcher.kernel.claims.confirm(launcher.claim)
        return core.ring

    def __len__(self) -> int:
        core, launcher = self._core, self.launcher
        if core is None:
            return int(self.status["fill"])
        launcher.kernel.claims.confirm(launcher.claim)
        return core.fill

    @property
    def in_process(self) -> bool:
        return self.launcher.kernel.twin is not None

    @property
    def device_cycles(self) -> int | None:
        return self.launcher.cycles

    @property
    def launches(self) -> int:
        return self.launcher.launches

    @property
    def status(self) -> np.void:
        """The card's status block after the last step: ``hw.replay.records.REPLAY_STATUS``, and
        what the kernel's design has after it."""
        if self._core is None:
            return self.launcher.status if self._left is None else self._left
        self.launcher.kernel.claims.confirm(self.launcher.claim)
        return np.frombuffer(self._core.status(), self.launcher.design.status.dtype)[0]

    @property
    def clipped_priorities(self) -> int:
        ring = self._ring
        return int(self.status["saturations"]) if ring is None else ring.saturations

    def abort(self) -> None:
        """Gives up the launch under way, which another thread waits for."""
        self.launcher.kernel.flight.abort()

    def close(self) -> None:
        """Releases the kernel for another buffer; this one must not be used afterwards."""
        if self._core is not None:
            with suppress(Failure):  # another one has the kernel
                self._left = self.status
            self._core = None
        self.launcher.kernel.claims.release(self.launcher.claim)

    # -- on the twin's ring

    def _updated(self, ring, indexes, td_errors):
        with self.launcher.kernel.flight:
            return ring.update(indexes, td_errors, **self._power)

    def _step(self, update, records, first_priorities, draws):
        ring = self._ring
        if ring is None:
            return self._launched(update, records, first_priorities, draws)
        with self.launcher.kernel.flight:
            if update is not None:
                ring.update(*update, **self._power)
                self._count_errors(len(update[0]))
            if records is not None:
                self._inserted(ring, records, first_priorities)
            if draws and not ring.manager.total:
                program, *_ = self._program(update, records, first_priorities, draws)
                raise self._empty([opcode for opcode, _ in program])
            return [self._batch(*self._drawn(ring, *draw)) for draw in draws]

    def _empty(self, opcodes):
        """The CommandError of the first SAMPLE in a memory whose priorities are all 0."""
        first, command = opcodes.index(Opcode.SAMPLE), COMMANDS[Opcode.SAMPLE]
        errors = self.launcher.design.errors
        return CommandError(Error.EMPTY, errors, first, 0, command.name, command.doc)

    # -- arrays to programs

    def _launched(self, update, records, first_priorities, draws):
        program, operands, places = self._program(update, records, first_priorities, draws)
        if not program:
            return []
        results = self.launcher.run(program, operands, places[-1].stop if places else 0)
        errors = 0 if update is None else len(update[0])
        errors += first_priorities.error_count if first_priorities else 0
        if errors:
            self._count_errors(errors)
        return [self._received(results[place]) for place in places]

    def _program(self, update, records, first_priorities, draws):
        """``(program, operands, places)``: each draw has its place in results."""
        program, operands, offset = [], [], 0
        if update is not None:
            indexes, errors = update
            values = errors.astype(np.float32, copy=False).view(np.uint32)
            lists = program, operands, offset
            offset = put_items(*lists, Opcode.UPDATE, indexes, values, **self._power)
        if records is not None:
            put_records(program, operands, offset, records, first_priorities)
        return program, operands, self._put_draws(program, draws)

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

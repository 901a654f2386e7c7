"""A replay buffer whose kernel learns: kernels ``dqn`` and ``ddpg``.

Draw, gather, gradient step, priorities and insertion happen on the card (PEARL IV-C): one launch is
as many iterations as there are steps, and only reports and, where asked for, parameters come back.
"""

import warnings
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from host.cards.kernel import CapacityError, Kernel
from host.learner.experience_checks import (
    check_actions,
    check_batch,
    check_drawn,
    check_experiences,
    checked_fields,
    learner_fields,
    warn_of_clipped,
)
from host.learner.hyperparameters import (
    Diverged,
    check_steps,
    checked_hyperparameters,
    hyperparameter_records,
)
from host.learner.inference import CardInference
from host.learner.launch_results import Learned, Sets, Trained
from host.learner.parameters import from_image, set_bits, to_image, zero_moments
from host.programs.launcher import CommandError, aligned
from host.replay.experience import Experiences, Fields, in_runs, put_records
from host.replay.prioritized_buffer import PrioritizedReplayBuffer
from host.values import held
from hw.errors import UsageError
from hw.learner.commands import LearnOpcode
from hw.learner.config import PARAMETER_SETS
from hw.learner.parameters.parameter_image import sections
from hw.learner.records import REPORT, LearnError
from hw.nn.optimizer import Optimizer
from hw.nn.optimizers import optimizer_of
from hw.replay.commands import MAX_COUNT
from hw.replay.records import HEADER, ITEM

__all__ = [
    "Diverged",
    "LearningReplay",
    "hyperparameter_records",
    "learner_fields",
    "received_errors",
    "sent_batches",
]


class LearningReplay(CardInference, PrioritizedReplayBuffer):
    """A prioritized replay buffer whose kernel also trains networks on its batches.

    Parameters
    ----------
    kernel : host.cards.Kernel
        A loaded kernel ``dqn`` or ``ddpg``.
    fields : dict, optional
        Must be those of ``learner_fields(kernel)``, the default; else ValueError. Observations may
        have any shape of as many numbers, in which batches then have them.
    capacity, alpha, epsilon, seed, stratified, timeout_s, takeover
        As ``PrioritizedReplayBuffer``, whose methods all work here too. ``seed`` is for the draws;
        the networks' parameters must be given by ``initialize`` or ``load``.

    Attributes
    ----------
    learner : LearnerConfig
        The config of the kernel's learner.
    saturations : int array [3]
        How many weights, activations, gradients the kernel has clipped since its reset, up to the
        last ``learn`` or ``train``; 0 in binary32. The first time, there is a RuntimeWarning.
    """

    def __init__(
        self, kernel: Kernel, fields: Fields | None = None, **options: int | float | bool
    ) -> None:
        super().__init__(kernel, checked_fields(kernel, fields), **options)
        self.learner = self.config.learner
        self.saturations, self._warned = np.zeros(3, np.int64), False

    def learn(
        self,
        steps: NDArray[np.void],
        *,
        batch_size: int,
        experiences: Experiences | None = None,
        inserts: int | None = None,
        store: Sequence[str] = (),
        priorities: ArrayLike | None = None,
        td_errors: ArrayLike | None = None,
    ) -> Learned:
        """``len(steps)`` iterations in one launch: each draws a batch, trains, gives the batch's
        experiences their new priorities, stores other experiences, and updates the parameters.

        Parameters
        ----------
        steps : records [iterations]
            Of ``learner.step_record``; see ``hyperparameter_records``.
        batch_size : int
            A multiple of the learner's lanes, at most its batch.
        experiences : dict of arrays [n, ...], records [n] of ``dtype``, or None
            Stored in this order: n - inserts * iterations before the first iteration, then
            ``inserts`` by each iteration, after its draw.
        inserts : int or None
            None: n // iterations.
        store : sequence of str
            Sets of parameters to return (``PARAMETER_SETS``), as after the last iteration.
        priorities, td_errors : sequence of floats, or None
            One for each experience, as for ``step``.

        Returns ``Learned``. ValueError for bad arguments and before ``initialize`` or ``load``
        (nothing happened), and if a drawn experience has a number that the kernel refuses (in fixed
        point a reward or discount of 2^100); Diverged if a TD error is not finite. In the last two
        cases the iterations before stand, and the one that failed changed neither priorities nor
        parameters.
        """
        steps, count = self.checked_steps(steps, batch_size)
        records = np.zeros(0, self.dtype) if experiences is None else self.records_of(experiences)
        rest, inserts = self.division(len(records), count, inserts, batch_size)
        first_priorities = self.first_priorities(len(records), priorities, td_errors)
        kept = max(0, rest - self.capacity)
        leading = first_priorities and first_priorities.part(kept, rest)
        sent = first_priorities and first_priorities.part(kept, len(records))
        errors = count * batch_size + (sent.error_count if sent else 0)
        if self._ring is not None:
            if store:
                set_bits(store)  # refuses what is no set, as the program's field does
            before = records[kept:rest], leading
            after = records[rest:], first_priorities and first_priorities.part(rest, None)
            with self.launcher.kernel.flight:
                reports = self._iterated(steps, batch_size, before, after, inserts)
                parameters = self._core.learner.store(store) if store else None
            self._count_errors(errors)
            self._count_saturations(reports["saturations"][-1])
            if store:
                parameters = np.ascontiguousarray(parameters).view(np.uint8)
                parameters = from_image(self.learner, parameters, store)
            return Learned(reports, parameters)
        program, operands = [], [(0, steps.view(np.uint8))]
        put_records(program, operands, steps.nbytes, records[kept:rest], leading)
        offset = aligned(max(begin + array.nbytes for begin, array in operands))
        if inserts:
            blocks = in_runs(records[rest:], count)
            operands.append((offset, blocks))
        learn = {
            "count": count,
            "stratum_width": self._stratum(batch_size),
            "batch": batch_size,
            **self._power,
            "inserts": inserts,
            "experiences": offset if inserts else 0,
        }
        if inserts and first_priorities:
            offset = aligned(offset + blocks.nbytes)
            learn |= first_priorities.part(rest, len(records)).put(operands, offset, runs=count)
        program.append((LearnOpcode.LEARN, learn))
        size = count * REPORT.size
        _, reports, parameters = self._launch(program, operands, size, count, store)
        self._count_errors(errors)
        return Learned(reports, parameters)

    def _iterated(self, steps, batch_size, before, after, inserts):
        """The reports of INSERT and LEARN on the twin's ring. ``before`` and ``after`` are
        ``(records, first priorities)``, stored by the INSERT, and ``inserts`` in each iteration."""

        def part(records, first, begin, end):
            first = first and first.part(begin, end)
            return records[begin:end], dict(values=first.values, **first.fields) if first else {}

        ring, reports = self._ring, np.zeros(len(steps), REPORT.dtype)
        if len(before[0]):
            records, first = part(*before, 0, len(before[0]))
            ring.insert(records, **first)
        for k, step in enumerate(steps):
            error, detail, report = self._core.learn(
                step, batch_size, self._stratum(batch_size), self._power,
                *part(*after, k * inserts, (k + 1) * inserts),
            )  # fmt: skip
            if error:
                program, command = [], self.launcher.design.commands[LearnOpcode.LEARN]
                put_records(program, [], 0, *before)
                told = len(program), detail, command.name, command.doc
                error = CommandError(error, self.launcher.design.errors, *told)
                self._explain(error)
                raise error
            reports[k] = report
        return reports

    def train(
        self,
        steps: NDArray[np.void],
        experiences: Experiences,
        *,
        batch_size: int,
        weights: ArrayLike | None = None,
        store: Sequence[str] = (),
    ) -> Trained:
        """``len(steps)`` iterations in one launch, on the batches in ``experiences``: for a replay
        memory elsewhere (CF'22 Fig. 10). The card's own replay memory is not read or written.

        Parameters
        ----------
        steps, batch_size, store
            As ``learn``.
        experiences : dict of arrays [n, ...], or records [n] of ``dtype``
            n = iterations * batch_size, the first iteration's batch first.
        weights : floats [n] or None
            Importance weights, divided by the largest of their batch. None: all are 1.

        Returns ``Trained``. Errors as for ``learn``; nothing is launched if a number is not finite.
        """
        steps, count = self.checked_steps(steps, batch_size)
        records = self.records_of(experiences)
        sent = sent_batches(self.learner, records, weights, count, batch_size)
        batches = aligned(steps.nbytes)
        operands = [(0, steps.view(np.uint8)), (batches, sent)]
        lists = count * REPORT.size
        fields = dict(count=count, batch=batch_size, batches=batches, td_errors=lists)
        size = lists + count * aligned(batch_size * ITEM.size)
        program = [(LearnOpcode.TRAIN, fields)]
        results, *learned = self._launch(program, operands, size, count, store)
        return Trained(*learned, received_errors(results[lists:], count, batch_size))

    def initialize(self, parameters: Mapping[str, Sequence[tuple[ArrayLike, ArrayLike]]]) -> None:
        """Gives online and target networks the same new weights; the optimizer's moments become 0.

        ``parameters``: ``{network: [(weights [outputs, inputs], biases [outputs]), ...]}``, floats.
        """
        self.load(zero_moments(parameters))

    def load(
        self, parameters: Mapping[str, Sequence[Mapping[str, tuple[ArrayLike, ArrayLike]]]]
    ) -> None:
        """Loads ``{network: [{set: (weights, biases)}, ...]}``, floats, to the card.

        All networks and layers must be given, with the same sets in each; sets that are not given
        stay as they are on the card. ValueError for other names or shapes, and for a number that is
        not finite. Fixed-point weights are rounded, and clipped with a RuntimeWarning.
        """
        self._load(*self._image(parameters))

    def _image(self, parameters):
        """``(image, sets)`` of ``parameters`` as ``load`` takes them."""
        image, sets, clipped = to_image(self.learner, parameters)
        if clipped:
            warnings.warn(f"{clipped} weights were clipped to their format", RuntimeWarning, 3)
        return image, sets

    def store(self, sets: Sequence[str] = PARAMETER_SETS) -> Sets:
        """Parameters from the card as ``load`` takes them, float32."""
        return from_image(self.learner, self._image_of(sets), sets)

    @property
    def _identity(self):
        optimizer = optimizer_of(self.learner.arithmetic).NAME
        return {"learner": self.learner.to_json(), "optimizer": optimizer, **super()._identity}

    def state_dict(self) -> dict[str, object]:
        """The replay memory's state, and all parameters as they lie in memory (uint32)."""
        image = self._image_of(PARAMETER_SETS)
        return {**super().state_dict(), "parameters": image.view(np.uint32)}

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Loads a ``state_dict``; ValueError if it is of another memory, learner or optimizer. A
        state without an optimizer's name is of the optimizer that computes in binary32."""
        state = {"optimizer": Optimizer.NAME, **state}
        self._check_identity(state)
        image = held("parameters", state["parameters"], np.uint32)
        size = self._put_store([], 0, PARAMETER_SETS) // 4
        if image.shape != (size,):
            raise UsageError(f"parameters must be {size} numbers, not {list(image.shape)}")
        super().load_state_dict(state)
        self._load(image, PARAMETER_SETS)

    # -- arrays to programs

    def records_of(self, experiences: Experiences) -> NDArray[np.void]:
        records = super().records_of(experiences)
        if self.dtype["action"].kind == "u":
            check_actions(self.learner, records["action"])
        return records

    def checked_steps(
        self, steps: NDArray[np.void], batch_size: int
    ) -> tuple[NDArray[np.void], int]:
        """``(steps, iterations)`` of the argument ``steps`` of ``learn``. ValueError if the kernel
        refuses these steps or batches of this size, or if parameters are missing."""
        steps = checked_hyperparameters(steps, self.learner.step_record)
        count = len(steps)
        if not 1 <= count <= MAX_COUNT:
            raise UsageError(f"steps must be 1 to {MAX_COUNT}, not {count}")
        check_steps(steps, self.learner)
        check_batch(self.learner, batch_size)
        self._check_loaded(PARAMETER_SETS)
        return steps, count

    def _put_store(self, program, offset, sets):
        """Append a STORE to ``offset`` of results; return the bytes that it writes."""
        bits = set_bits(sets)
        last = sections(self.learner, sets)[-1]
        size = last.offset + last.size
        program.append((LearnOpcode.STORE, {"count": size, "destination": offset, "sets": bits}))
        return size

    def _image_of(self, sets):
        """The bytes of the image of ``sets``: by one launch, or by a launch for each set where the
        bank has no room for the whole image."""
        program = []
        size = self._put_store(program, 0, sets)
        self._check_loaded(sets)
        try:
            return self.launcher.run(program, (), size)
        except CapacityError:
            if len(set(sets)) == 1:
                raise
        image = np.zeros(size, np.uint8)
        for each in sets:
            image[self._bytes_of(each, sets)] = self._image_of((each,))
        return image

    def _load(self, image, sets):
        """Loads the image of ``sets``; launches as for ``_image_of``, by the bank of operands."""
        command, image = {"count": image.nbytes, "sets": set_bits(sets)}, image.view(np.uint8)
        try:
            self.launcher.run([(LearnOpcode.LOAD, command)], [(0, image)])
        except CapacityError:
            if len(set(sets)) == 1:
                raise
            for each in sets:
                self._load(image[self._bytes_of(each, sets)], (each,))

    def _bytes_of(self, parameter_set, sets):
        """Places of the bytes of ``parameter_set`` in the image of ``sets``, in order."""
        return np.concatenate(
            [
                np.arange(each.offset, each.offset + each.size)
                for each in sections(self.learner, sets)
                if each.parameter_set == parameter_set
            ]
        )

    def _run(self, program, operands, size, cleared=0):
        """The launch of a LEARN or TRAIN; its errors in the words of experiences."""
        try:
            return self.launcher.run(program, operands, size, cleared)
        except CommandError as error:
            self._explain(error)
            raise

    def _explain(self, error):
        """Raises another error in its place if it is about an experience."""
        if error.code == LearnError.NUMBER:
            index = error.detail
            raw = self._storage.read(np.uint8, self.dtype.itemsize, index * self._stride)
            try:
                check_drawn(self.learner, raw.view(self.dtype), [index])
            except UsageError as wrong:
                raise wrong from error
        if error.code == LearnError.DIVERGED:
            raise Diverged(error.detail) from error

    def _launch(self, program, operands, size, count, store):
        """``size`` bytes of results, ``count`` REPORTs first; those; the parameters of ``store``,
        or None."""
        extra = self._put_store(program, size, store) if store else 0
        results = self._run(program, operands, size + extra)
        reports = results[: count * REPORT.size].copy().view(REPORT.dtype)
        self._count_saturations(reports["saturations"][-1])
        parameters = from_image(self.learner, results[size:], store) if store else None
        return results[:size], reports, parameters

    def _count_saturations(self, counts):
        clipped = counts.astype(np.int64) - self.saturations
        self.saturations = counts.astype(np.int64)
        if (clipped > 0).any() and not self._warned:
            self._warned = True
            warn_of_clipped(*clipped.tolist())


def sent_batches(learner, records, weights, count, batch_size):
    """The bytes of ``count`` batches, a HEADER and an experience for each record: uint8 [count,
    bytes], each batch padded to whole beats.

    records : records [count * batch_size], batch by batch
    weights : importance weights [count * batch_size], or None for ones

    The index in a header is the experience's position in ``records``. ValueError for another number
    of records or weights, for a weight that is negative or not finite, for a batch whose weights
    are all 0, and for an experience that the kernel refuses.
    """
    total = count * batch_size
    if len(records) != total:
        raise UsageError(
            f"experiences must be {total} ({count} batches of {batch_size}), not {len(records)}"
        )
    weights = held("weights", np.ones(total) if weights is None else weights, np.float32)
    if weights.shape != (total,):
        raise UsageError(f"weights must have shape ({total},), not {weights.shape}")
    if np.signbit(weights).any():  # of -0, too
        bad = int(np.argmax(np.signbit(weights)))
        raise UsageError(f"weights must not be negative, as {weights[bad]} at position {bad} is")
    # What is smaller than any normal number is 0 to the card.
    empty = (weights.reshape(count, batch_size) < np.finfo(np.float32).tiny).all(axis=1)
    if empty.any():
        raise UsageError(f"weights must not all be 0 in a batch, as in batch {np.argmax(empty)}")
    check_experiences(learner, records)
    whole = np.zeros(total, [("header", HEADER.dtype), ("experience", records.dtype)])
    whole["header"]["index"], whole["header"]["weight"] = np.arange(total), weights
    whole["experience"] = records
    return in_runs(whole, count)


def received_errors(results, count, batch_size):
    """The TD errors in ``results``, the bytes of ``count`` lists of items, each list padded to
    whole beats: float32 [count, batch_size]."""
    lists = results.reshape(count, aligned(batch_size * ITEM.size))[:, : batch_size * ITEM.size]
    return np.ascontiguousarray(lists).view(ITEM.dtype)["value"].view(np.float32).copy()

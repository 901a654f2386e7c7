"""A learner's kernel whose batches come from a replay memory elsewhere (CF'22 Fig. 10)."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from host.learner.experience_checks import check_drawn
from host.learner.hyperparameters import Diverged
from host.learner.launch_results import Layer, Learned, Sets
from host.learner.learning_replay import LearningReplay
from host.replay.experience import Batch, Experiences
from host.replay.replay_memory import Draw
from host.replay.row_memory import RowMemory
from hw.errors import UsageError
from hw.learner.config import PARAMETER_SETS

__all__ = ["SentReplay"]


class SentReplay:
    """A learner's kernel that trains on batches of a replay memory on the CPU: the command TRAIN of
    each batch in a launch of its own. It stands where a ``LearningReplay`` stands, whose ``learn``
    is one launch.

    With a ``TreeMemory`` of the same options, parameters, reports, TD errors and priorities are
    those of ``LearningReplay`` byte for byte: weights are sent as they are drawn, and each
    iteration draws, trains, updates priorities and inserts, in the order of the command LEARN.

    Parameters
    ----------
    memory : RowMemory
        Its fields must be the learner's; else UsageError.
    trainer : LearningReplay
        Has the kernel. Its own replay memory is not used, and may have the least capacity.

    Attributes
    ----------
    learner : LearnerConfig
        The config of the kernel's learner.
    """

    def __init__(self, memory: RowMemory, trainer: LearningReplay) -> None:
        if memory.dtype != trainer.dtype:
            raise UsageError(f"fields must be the learner's ({trainer.dtype}), not {memory.dtype}")
        self.memory, self.trainer = memory, trainer
        self.learner, self.dtype, self.capacity = trainer.learner, memory.dtype, memory.capacity

    def __repr__(self):
        return f"{type(self).__name__}({self.memory!r}, {self.trainer!r})"

    def __len__(self) -> int:
        return len(self.memory)

    @property
    def in_process(self) -> bool:
        """``ReplayMemory.in_process`` of the kernel's memory."""
        return self.trainer.in_process

    def step(
        self,
        experiences: Experiences | None = None,
        update: tuple[ArrayLike, ArrayLike] | None = None,
        sample: Draw | list[Draw] | None = None,
        **options: ArrayLike,
    ) -> Batch | list[Batch] | None:
        """As ``ReplayMemory.step``, without the card; experiences must be ones that the kernel
        takes."""
        if experiences is not None:
            experiences = self.trainer.records_of(experiences)
        return self.memory.step(experiences, update, sample, **options)

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
        """As ``LearningReplay.learn``, with a launch for each iteration."""
        trainer, memory = self.trainer, self.memory
        steps, count = trainer.checked_steps(steps, batch_size)
        records = np.zeros(0, self.dtype)
        if experiences is not None:
            records = trainer.records_of(experiences)
        rest, inserts = memory.division(len(records), count, inserts, batch_size)
        first_priorities = memory.first_priorities(len(records), priorities, td_errors)

        def insert(begin, end):
            memory.insert(
                records[begin:end], first_priorities and first_priorities.part(begin, end)
            )

        insert(0, rest)
        reports = []
        for k in range(count):
            wanted = store if k == count - 1 else ()
            trained = self._train(steps[k : k + 1], batch_size, wanted)
            insert(rest + k * inserts, rest + (k + 1) * inserts)
            trained.reports["position"] = memory.position
            reports.append(trained.reports)
        return Learned(np.concatenate(reports), trained.parameters)

    def _train(self, step, batch_size, store):
        """One iteration without its INSERT; the ``Trained``."""
        drawn = self.memory.draw(batch_size, int(step["beta"][0]))
        check_drawn(self.learner, drawn.records, drawn.indexes)
        options = dict(batch_size=batch_size, weights=drawn.weights, store=store)
        try:
            trained = self.trainer.train(step, drawn.records, **options)
        except Diverged as error:
            raise Diverged(int(drawn.indexes[error.index])) from error
        self.memory.update(drawn.indexes, trained.td_errors[0])
        return trained

    # -- the kernel's part

    @property
    def clipped_priorities(self) -> int | None:
        return self.memory.clipped_priorities

    @property
    def saturations(self) -> NDArray[np.int64]:
        """As ``LearningReplay.saturations``."""
        return self.trainer.saturations

    @property
    def device_cycles(self) -> int | None:
        """Clocks of all launches so far; None on a card that does not count."""
        return self.trainer.device_cycles

    def initialize(self, parameters: Mapping[str, Sequence[Layer]]) -> None:
        """As ``LearningReplay.initialize``."""
        self.trainer.initialize(parameters)

    def load(self, parameters: Sets) -> None:
        """As ``LearningReplay.load``."""
        self.trainer.load(parameters)

    def store(self, sets: Sequence[str] = PARAMETER_SETS) -> Sets:
        """As ``LearningReplay.store``."""
        return self.trainer.store(sets)

    def act(self, observations: ArrayLike, **options: float) -> NDArray[np.float32]:
        """As the trainer's ``act``."""
        return self.trainer.act(observations, **options)

    def state_dict(self) -> dict[str, object]:
        """The states of the memory and of the trainer."""
        return {"memory": self.memory.state_dict(), "trainer": self.trainer.state_dict()}

    def load_state_dict(self, state: Mapping[str, Mapping[str, object]]) -> None:
        """Loads a ``state_dict``; ValueError if it is of another memory or kernel."""
        self.trainer.load_state_dict(state["trainer"])
        self.memory.load_state_dict(state["memory"])

    def abort(self) -> None:
        """Gives up the launch under way."""
        self.trainer.abort()

    def close(self) -> None:
        """Releases the kernel."""
        self.memory.close()
        self.trainer.close()

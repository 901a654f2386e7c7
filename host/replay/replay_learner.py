"""The learner on the CPU: a replay memory draws batches, the updater learns from them."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from host.algorithms.autodiff import Updater
from host.algorithms.config import Clock
from host.algorithms.policy import InferredPolicy, Policy
from host.replay.experience import Batch
from host.replay.memory_learner import MemoryLearner
from host.replay.nstep import Collected, stored
from host.replay.prioritized_buffer import PrioritizedReplayBuffer
from host.replay.replay_memory import Draw
from host.replay.row_memory import RowMemory

__all__ = ["ReplayLearner"]

#: ``(indexes, TD errors)`` of earlier batches, and the draws of a launch; None without one.
Plan: TypeAlias = tuple[tuple[NDArray[np.generic], NDArray[np.generic]] | None, list[Draw] | None]


class ReplayLearner(MemoryLearner):
    """Learns on the CPU from batches of a replay memory, the card's or another. A launch takes the
    TD errors of earlier batches and the experiences collected since, and brings the next
    ``updates_per_launch`` batches.

    All batches of a launch are drawn before the first update with one of them, in the order of the
    updates. The new priorities of their experiences enter in the same order, at the beginning of a
    later launch.

    Parameters
    ----------
    policy, clock, buffer, options
        As ``MemoryLearner``.
    updater : Updater
        Does the gradient steps, off the card.
    """

    BUFFER = PrioritizedReplayBuffer

    def __init__(
        self,
        policy: Policy,
        clock: Clock,
        buffer: PrioritizedReplayBuffer | RowMemory,
        updater: Updater,
        **options: object,
    ) -> None:
        super().__init__(policy, clock, buffer, **options)
        self.updater, self._errors = updater, None

    def plan(self, fill: int, learning: bool) -> Plan:
        errors, self._errors = self._errors, None
        agent = self.agent
        draw = agent.batch_size, agent.beta_at(self.clock.launched)
        return errors, [draw] * self.updates_per_launch if learning else None

    def launch(self, experience: Collected | None, plan: Plan) -> list[Batch] | None:
        records, options = stored(experience)
        return self.buffer.step(records, *plan, **options)

    def learned(self, result: list[Batch] | None) -> dict[str, float | None]:
        if result is None:
            return {}
        indexes, errors, measured = [], [], []
        for batch in result:
            found, values = self.updater.update(batch, self.clock)
            self.clock.updates += 1
            indexes.append(batch["indexes"])
            errors.append(found)
            measured.append(values | {"td_error": float(np.abs(found).mean())})
        self._errors = np.concatenate(indexes), np.concatenate(errors)
        return {name: float(np.mean([each[name] for each in measured])) for name in measured[0]}

    @contextmanager
    def actor(self, policy: Policy | None = None) -> Iterator[Policy | InferredPolicy]:
        yield self.updater.inferred(policy or self.policy)

    def state_dict(self) -> dict[str, object]:
        errors = self._errors
        if errors is not None:
            errors = [errors[0].astype(np.uint32), errors[1]]  # as files have had them
        return super().state_dict() | {"errors": errors, "updater": self.updater.state_dict()}

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        super().load_state_dict(state)
        self.updater.load_state_dict(state["updater"])
        self._errors = None if state["errors"] is None else tuple(state["errors"])

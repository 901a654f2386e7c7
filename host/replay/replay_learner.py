"""The learner on the CPU: a replay memory draws batches, the updater learns from them."""

from contextlib import contextmanager

import numpy as np

from host.replay.memory_learner import MemoryLearner
from host.replay.nstep import stored
from host.replay.prioritized_buffer import PrioritizedReplayBuffer

__all__ = ["ReplayLearner"]


class ReplayLearner(MemoryLearner):
    """Learns on the CPU from batches of a replay memory, the card's or another. A launch takes the
    TD errors of earlier batches and the experiences collected since, and brings the next
    ``updates_per_launch`` batches.

    All batches of a launch are drawn before the first update with one of them, in the order of the
    updates. The new priorities of their experiences enter in the same order, at the beginning of a
    later launch.

    Parameters
    ----------
    updater : Updater
        Does the gradient steps, off the card.
    config, policy, clock, buffer, phases
        As ``MemoryLearner``.
    """

    BUFFER = PrioritizedReplayBuffer

    def __init__(self, config, policy, clock, buffer, updater, *, phases):
        super().__init__(config, policy, clock, buffer, phases=phases)
        self.updater, self._errors = updater, None

    def plan(self, fill, learning):
        errors, self._errors = self._errors, None
        agent = self.agent
        draw = agent.batch_size, agent.beta_at(self.clock.launched)
        return errors, [draw] * self.config.updates_per_launch if learning else None

    def launch(self, experience, plan):
        records, options = stored(experience)
        return self.buffer.step(records, *plan, **options)

    def learned(self, result):
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
    def actor(self, policy=None):
        yield self.updater.inferred(policy or self.policy)

    def state_dict(self):
        errors = self._errors
        if errors is not None:
            errors = [errors[0].astype(np.uint32), errors[1]]  # as files have had them
        return super().state_dict() | {"errors": errors, "updater": self.updater.state_dict()}

    def load_state_dict(self, state):
        super().load_state_dict(state)
        self.updater.load_state_dict(state["updater"])
        self._errors = None if state["errors"] is None else tuple(state["errors"])

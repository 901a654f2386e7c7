"""The learner beside the card: it draws batches, the updater learns from them."""

from contextlib import contextmanager

import numpy as np

from host.learners.learner import MemoryLearner

__all__ = ["ReplayLearner"]


class ReplayLearner(MemoryLearner):
    """The TD errors of an earlier batch, the experiences collected since, and the next batch travel
    together in one launch.

    Parameters
    ----------
    updater : Updater
    config, policy, clock, buffer, phases
        As ``MemoryLearner``.
    """

    def __init__(self, config, policy, clock, buffer, updater, *, phases):
        super().__init__(config, policy, clock, buffer, phases=phases)
        self.updater, self._errors = updater, None

    def plan(self, fill, learning):
        errors, self._errors = self._errors, None
        agent = self.config.agent
        return errors, (agent.batch_size, agent.beta_at(self.clock.launched)) if learning else None

    def launch(self, experience, plan):
        return self.buffer.step(experience, *plan)

    def learned(self, result):
        if result is None:
            return {}
        errors, measured = self.updater.update(result, self.clock)
        self.clock.updates += 1
        self._errors = result["indexes"], errors
        return measured | {"td_error": float(np.abs(errors).mean())}

    @contextmanager
    def acting(self, policy=None):
        if policy is not None:
            policy.infer = self.updater.inference(policy)
        yield policy or self.actor()

    def state_dict(self):
        errors = None if self._errors is None else list(self._errors)
        return super().state_dict() | {"errors": errors, "updater": self.updater.state_dict()}

    def load_state_dict(self, state):
        super().load_state_dict(state)
        self.updater.load_state_dict(state["updater"])
        self._errors = None if state["errors"] is None else tuple(state["errors"])

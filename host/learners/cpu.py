"""The learner on the CPU: the card draws batches, the agent learns from them."""

__all__ = ["CPULearner"]


class CPULearner:
    """An iteration is one launch: the TD errors of the last batch, the experiences collected since,
    and the next batch travel together.

    ``plan``, ``launch`` and ``finish`` are called in this order; ``launch`` alone in a thread of
    its own, while the agent acts.

    Parameters
    ----------
    config : TrainConfig
    agent : Agent
    buffer : PrioritizedReplayBuffer
    """

    #: Weights, activations, gradients clipped so far: binary32 does not.
    clipped = (None, None, None)

    def __init__(self, config, agent, buffer):
        self.config, self.agent, self.buffer = config, agent, buffer
        self._update = None

    def plan(self, learning):
        """What the next launch shall draw; ``learning``: whether there is enough to learn from."""
        return (self.config.agent.batch_size, self.agent.beta) if learning else None

    def launch(self, experiences, plan):
        """Take the experiences (dict of arrays, or None) to the card and come back with what
        ``plan`` asked for."""
        return self.buffer.step(experiences, self._update, plan)

    def finish(self, batch):
        """Learn from what ``launch`` returned; ``(loss, td_errors)``, None before learning."""
        self._update = None
        if batch is None:
            return None, None
        td_errors, loss = self.agent.learn_batch(batch)
        self._update = batch["indexes"], td_errors
        return loss, td_errors

    def state_dict(self):
        return {"update": None if self._update is None else list(self._update)}

    def load_state_dict(self, state):
        self._update = None if state["update"] is None else tuple(state["update"])

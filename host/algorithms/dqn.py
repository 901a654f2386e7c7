"""DQN on the CPU: acts on observations, learns from prioritized batches."""

import numpy as np

from host.algorithms.agent import TemporalDifferenceAgent
from host.algorithms.dqn_config import DQNConfig
from host.algorithms.loss import weighted_loss
from host.algorithms.network import MLP

__all__ = ["DQN", "DQNConfig"]


class DQN(TemporalDifferenceAgent):
    """Deep Q-network agent (Mnih et al., 2015; double: van Hasselt et al., 2016); ``config`` is a
    DQNConfig, the rest as ``TemporalDifferenceAgent``."""

    CONFIG = DQNConfig
    POLICY = "q"

    def make_networks(self, rng):
        config = self.config
        options = dict(activation=config.activation, dueling=config.dueling, rng=rng)
        return {
            "q": lambda: MLP(self.observation_size, self.action_count, config.hidden, **options)
        }

    @property
    def online(self):
        return self.networks["q"].online

    @property
    def target(self):
        return self.networks["q"].target

    @property
    def epsilon(self):
        """Chance of a random action now."""
        return self.config.epsilon(self.steps)

    exploration = epsilon

    def act(self, obs, *, greedy=False):
        """Actions [rows] (int64, 0..action_count-1): ``argmax Q``, or random with chance epsilon.

        Not greedy, it counts ``rows`` environment steps.
        """
        actions = self.predict(obs).argmax(axis=1)
        if not greedy:
            explore = self.rng.random(len(actions)) < self.epsilon
            random = self.rng.integers(self.action_count, size=len(actions))
            actions = np.where(explore, random, actions)
            self.steps += len(actions)
        return actions

    def learn_batch(self, batch):
        """One optimizer step on ``mean(weights * loss(td))``.

        Parameters
        ----------
        batch : dict
            ``obs``, ``next_obs`` [batch, observation_size], ``action``, ``reward``, ``discount``
            (gamma^k, 0 where terminated), ``weights`` [batch].

        Returns
        -------
        td_errors : array [batch], float32
            ``y - Q(s, a)`` before the step.
        loss : float

        ValueError, and nothing learned, if a TD error is not finite.
        """
        config, rows = self.config, np.arange(len(batch["action"]))
        obs, next_obs = (np.asarray(batch[name], np.float32) for name in ("obs", "next_obs"))
        action = np.asarray(batch["action"], np.int64)
        q_next = self.target.forward(next_obs)
        chooser = self.online.forward(next_obs) if config.double else q_next
        value = q_next[rows, chooser.argmax(axis=1)]
        q = self.online.forward(obs)
        td = (batch["reward"] + batch["discount"] * value - q[rows, action]).astype(np.float32)
        self.check_finite(td)
        loss, derivative = weighted_loss(
            config.loss, td, batch["weights"], delta=config.huber_delta
        )
        q[...] = 0  # the buffer now holds dL/dq: dtd/dq = -1 at the action taken
        q[rows, action] = -derivative
        self.online.backward(q)
        self.descend()
        return td, loss

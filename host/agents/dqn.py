"""DQN on the CPU: acts on observations, learns from prioritized batches.

It knows neither the environment nor the buffer; ``host.train`` brings the three together.
"""

import numpy as np

from host.agents.dqn_config import DQNConfig
from host.agents.loss import weighted_loss
from host.agents.network import MLP

__all__ = ["DQN", "DQNConfig"]


class DQN:
    """Deep Q-network agent (Mnih et al., 2015; double: van Hasselt et al., 2016).

    Parameters
    ----------
    config : DQNConfig
    observation_size, action_count : int
    seed : int or numpy.random.SeedSequence
        Of the first weights and of exploration.

    Attributes
    ----------
    steps : int
        Environment steps acted in so far; the schedules' clock.
    updates : int
        Batches learned from.
    """

    def __init__(self, config, *, observation_size, action_count, seed):
        self.config, self.action_count = config, action_count
        sequence = (
            seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)
        )
        weights, exploration = (np.random.default_rng(s) for s in sequence.spawn(2))
        self.rng = exploration
        self.online, self.target = (
            MLP(
                observation_size,
                action_count,
                config.hidden,
                activation=config.activation,
                dueling=config.dueling,
                rng=weights,
            )
            for _ in range(2)
        )
        self.target.parameters[...] = self.online.parameters
        self.optimizer = config.make_optimizer(self.online.parameters)
        self.steps = self.updates = 0
        self._scratch = np.empty_like(self.online.parameters)
        self._epsilon, self._beta = config.epsilon, config.beta
        self._learning_rate = config.learning_rate_schedule

    @property
    def epsilon(self):
        """Chance of a random action now."""
        return self._epsilon(self.steps)

    @property
    def beta(self):
        """Exponent of the importance weights now."""
        return self._beta(self.steps)

    @property
    def learning_rate(self):
        return self._learning_rate(self.steps)

    def predict(self, obs):
        """Q values [rows, action_count] of observations [rows, observation_size]."""
        obs = np.asarray(obs, np.float32)
        if obs.ndim != 2 or obs.shape[1] != self.online.inputs:
            raise ValueError(f"obs must be [rows, {self.online.inputs}], not {list(obs.shape)}")
        return self.online.forward(obs).copy()

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
            ``obs``, ``next_obs`` [batch, observation_size], ``action``, ``reward``,
            ``terminated``, ``discount`` (gamma^k, not zeroed where terminated), ``weights``
            [batch].

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
        bootstrap = np.where(batch["terminated"], 0, batch["discount"])
        value = q_next[rows, chooser.argmax(axis=1)]
        q = self.online.forward(obs)
        td = (batch["reward"] + bootstrap * value - q[rows, action]).astype(np.float32)
        if not np.isfinite(td).all():
            row = int(np.flatnonzero(~np.isfinite(td))[0])
            raise ValueError(
                f"td_errors must be finite, not {td[row]} (row {row} of batch {self.updates}; "
                f"learning_rate {self.learning_rate:g} may be too high, or an observation or "
                "reward is not finite)"
            )
        loss, derivative = weighted_loss(
            config.loss, td, batch["weights"], delta=config.huber_delta
        )
        q[...] = 0  # the buffer now holds dL/dq: dtd/dq = -1 at the action taken
        q[rows, action] = -derivative
        self.online.backward(q)
        self._descend()
        return td, loss

    def _descend(self):
        config, gradient = self.config, self.online.gradient
        if config.max_gradient_norm is not None:
            norm = float(np.sqrt(np.dot(gradient, gradient)))
            if norm > config.max_gradient_norm:
                gradient *= config.max_gradient_norm / norm
        self.optimizer.step(gradient, self.learning_rate)
        self.updates += 1
        if self.updates % config.target_interval == 0:
            self._synchronize()

    def _synchronize(self):
        """``target += tau (online - target)``."""
        if self.config.target_tau == 1:
            self.target.parameters[...] = self.online.parameters
        else:
            np.subtract(self.online.parameters, self.target.parameters, out=self._scratch)
            self._scratch *= self.config.target_tau
            self.target.parameters += self._scratch

    def state_dict(self):
        """Everything that the next action and the next update depend on."""
        return {
            "online": self.online.parameters.copy(),
            "target": self.target.parameters.copy(),
            "optimizer": self.optimizer.state_dict(),
            "rng": self.rng.bit_generator.state,
            "steps": self.steps,
            "updates": self.updates,
        }

    def load_state_dict(self, state):
        if len(state["online"]) != len(self.online.parameters):
            raise ValueError(
                f"parameters must be {len(self.online.parameters)} numbers for this network, "
                f"not {len(state['online'])}"
            )
        self.online.parameters[...] = state["online"]
        self.target.parameters[...] = state["target"]
        self.optimizer.load_state_dict(state["optimizer"])
        self.rng.bit_generator.state = state["rng"]
        self.steps, self.updates = int(state["steps"]), int(state["updates"])

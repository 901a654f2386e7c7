"""DDPG on the CPU: continuous actions in [-1, 1], learned from prioritized batches."""

import numpy as np

from host.algorithms.agent import TemporalDifferenceAgent
from host.algorithms.ddpg_config import DDPGConfig
from host.algorithms.loss import weighted_loss
from host.algorithms.network import MLP

__all__ = ["DDPG", "DDPGConfig"]

#: Of the actor's output layer at first: actions near 0, where tanh has its full slope.
_ACTOR_GAIN = 0.01


class DDPG(TemporalDifferenceAgent):
    """Deep deterministic policy gradient agent (Lillicrap et al., 2016) with Gaussian noise;
    ``config`` is a DDPGConfig, the rest as ``TemporalDifferenceAgent``.

    The critic sees observation and action side by side. The actor's gradient goes through the
    critic as it was before the step (lagged critic), as on the card.
    """

    CONFIG = DDPGConfig
    POLICY = "actor"

    def make_networks(self, rng):
        config, size, count = self.config, self.observation_size, self.action_count
        options = dict(activation=config.activation, rng=rng)
        return {
            "critic": lambda: MLP(size + count, 1, config.hidden, **options),
            "actor": lambda: MLP(
                size,
                count,
                config.hidden,
                output_activation="tanh",
                output_gain=_ACTOR_GAIN,
                **options,
            ),
        }

    @property
    def learning_rates(self):
        critic = self.learning_rate
        return critic, critic / self.config.learning_rate * self.config.actor_learning_rate

    @property
    def noise(self):
        """Standard deviation of the noise on an action now."""
        return self.config.noise(self.steps)

    exploration = noise

    def act(self, obs, *, greedy=False):
        """Actions [rows, action_count] (float32, in [-1, 1]): ``mu(obs)``, with noise if not
        greedy.

        Not greedy, it counts ``rows`` environment steps.
        """
        actions = self.predict(obs)
        if not greedy:
            actions += self.rng.normal(0, self.noise, actions.shape).astype(np.float32)
            np.clip(actions, -1, 1, out=actions)
            self.steps += len(actions)
        return actions

    def learn_batch(self, batch):
        """One optimizer step of the critic on ``mean(weights * loss(td))`` and of the actor on
        ``-mean Q(s, mu(s))``; parameters and results as ``DQN.learn_batch``, with ``action``
        [batch, action_count]."""
        config, critic, actor = self.config, self.networks["critic"], self.networks["actor"]
        obs, next_obs = (np.asarray(batch[name], np.float32) for name in ("obs", "next_obs"))
        action = np.asarray(batch["action"], np.float32).reshape(len(obs), self.action_count)
        value = critic.target.forward(_beside(next_obs, actor.target.forward(next_obs)))[:, 0]
        bootstrap = batch["discount"] * value
        q = critic.online.forward(_beside(obs, action))
        td = (batch["reward"] + bootstrap - q[:, 0]).astype(np.float32)
        self.check_finite(td)
        loss, derivative = weighted_loss(
            config.loss, td, batch["weights"], delta=config.huber_delta
        )
        critic.online.backward(-derivative[:, None].astype(np.float32))
        critic.online.forward(_beside(obs, actor.online.forward(obs)))
        ascent = np.full((len(obs), 1), -1 / len(obs), np.float32)
        through = critic.online.input_gradient(ascent)
        actor.online.backward(through[:, self.observation_size :])
        self.descend()
        return td, loss


def _beside(obs, action):
    return np.concatenate([obs, action], axis=1)

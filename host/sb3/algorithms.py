"""DQN, TD3 and SAC of stable-baselines3 with prioritized replay: gradient steps with importance
weights, after which the batch gets new priorities.

With alpha = beta = 0 they are the library's own, number for number.
"""

import numpy as np

from host.sb3.card_buffer import CardBuffer
from hw.errors import UsageError
from hw.extras import needed

needed("stable_baselines3", "sb3", "for rlfabric.sb3")

import torch  # noqa: E402
from stable_baselines3.common.utils import polyak_update  # noqa: E402
from torch.nn import functional  # noqa: E402

__all__ = ["DQNSteps", "SACSteps", "TD3Steps"]


class _Prioritized:
    """The common part of the three. It stands before the library's class in a class's bases."""

    #: The buffer's class, if the user names none.
    BUFFER: type[CardBuffer]

    def _setup_model(self):
        kind = self.replay_buffer_class or self.BUFFER
        if not issubclass(kind, CardBuffer):
            raise UsageError(
                "replay_buffer_class must be rlfabric.sb3.PrioritizedReplayBuffer, not "
                f"{kind.__name__}: {type(self).__name__} draws by priority"
            )
        n_steps, given = getattr(self, "n_steps", 1), self.replay_buffer_kwargs
        options = dict(given)
        for name, own in (("gamma", self.gamma), ("n_steps", n_steps)):
            wanted = name == "gamma" or n_steps > 1
            if wanted and options.setdefault(name, own) != own:
                raise UsageError(
                    f"{name} in replay_buffer_kwargs must be the model's ({own}), not "
                    f"{options[name]!r}"
                )
        self.replay_buffer_class, self.replay_buffer_kwargs = kind, options
        self.n_steps = 1  # else the library warns that a buffer of one's own has no n-step returns
        super()._setup_model()
        # A saved model has the user's options: it may be loaded with another gamma.
        self.n_steps, self.replay_buffer_kwargs = n_steps, given

    def load_replay_buffer(self, path, *options, **more):
        """As the library's; the buffer before is closed, so that its card is free."""
        before = self.replay_buffer
        super().load_replay_buffer(path, *options, **more)
        if not isinstance(self.replay_buffer, CardBuffer):
            other, self.replay_buffer = type(self.replay_buffer).__name__, before
            raise UsageError(f"path must have a PrioritizedReplayBuffer, not a {other}")
        if before is not None:
            before.close()

    def _begin(self, *optimizers):
        self.policy.set_training_mode(True)
        self._update_learning_rate(list(optimizers))

    def _drawn(self, batch_size):
        """A batch; its discounts are numbers in any case."""
        batch = self.replay_buffer.sample_prioritized(
            batch_size, self._vec_normalize_env, self._current_progress_remaining
        )
        return batch._replace(discounts=self.gamma) if batch.discounts is None else batch

    def _bootstrapped(self, batch, value):
        """``y = r + discount (1 - done) value``, [batch, 1]."""
        return batch.rewards + (1 - batch.dones) * batch.discounts * value

    def _critic_step(self, batch, wanted, scale):
        """A step of all critics, each on ``scale mean(w (Q - y)^2)``. The priorities follow from
        the largest magnitude of their TD errors (LAP, Fujimoto et al., 2020). Returns the loss."""
        found = self.critic(batch.observations, batch.actions)
        errors = [functional.mse_loss(q, wanted, reduction="none") for q in found]
        loss = scale * sum((batch.weights * each).mean() for each in errors)
        descend(self.critic.optimizer, loss)
        with torch.no_grad():
            td = torch.cat([(wanted - q).abs() for q in found], 1).amax(1)
        self.replay_buffer.update_priorities(batch.indexes, td)
        return loss.item()

    def _least_target(self, batch, action):
        """The smallest of the critics' target values of the next observations, [batch, 1]."""
        return torch.cat(self.critic_target(batch.next_observations, action), 1).amin(1, True)

    def _record(self, **means):
        self.logger.record("train/n_updates", self._n_updates, exclude="tensorboard")
        for name, values in means.items():
            if values:
                self.logger.record(f"train/{name}", np.mean(values))


def descend(optimizer, loss):
    """A step of ``optimizer`` against the gradient of ``loss``."""
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


class DQNSteps(_Prioritized):
    """``train`` of DQN: Q descends ``mean(w huber(y - Q(s, a)))``, ``y = r + discount max Q'(s',
    .)`` (Mnih et al., 2015), with the weights w of prioritized replay (Schaul et al., 2016)."""

    def train(self, gradient_steps, batch_size=100):
        optimizer, losses = self.policy.optimizer, []
        self._begin(optimizer)
        for _ in range(gradient_steps):
            batch = self._drawn(batch_size)
            with torch.no_grad():
                best = self.q_net_target(batch.next_observations).amax(1, True)
                wanted = self._bootstrapped(batch, best)
            q = self.q_net(batch.observations).gather(1, batch.actions.long())
            loss = (batch.weights * functional.smooth_l1_loss(q, wanted, reduction="none")).mean()
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(self.policy.parameters(), self.max_grad_norm)
            optimizer.step()
            losses.append(loss.item())
            self.replay_buffer.update_priorities(batch.indexes, (wanted - q)[:, 0])
        self._n_updates += gradient_steps
        self._record(loss=losses)


class TD3Steps(_Prioritized):
    """``train`` of TD3 (Fujimoto et al., 2018): the critics' squared errors are weighted; the actor
    and the targets step once in ``policy_delay`` steps."""

    def train(self, gradient_steps, batch_size=100):
        self._begin(self.actor.optimizer, self.critic.optimizer)
        critic_losses, actor_losses = [], []
        for _ in range(gradient_steps):
            self._n_updates += 1
            batch = self._drawn(batch_size)
            with torch.no_grad():
                value = self._least_target(batch, self._smoothed(batch))
                wanted = self._bootstrapped(batch, value)
            critic_losses.append(self._critic_step(batch, wanted, 1.0))
            if self._n_updates % self.policy_delay == 0:
                acted = self.actor(batch.observations)
                loss = -self.critic.q1_forward(batch.observations, acted).mean()
                descend(self.actor.optimizer, loss)
                actor_losses.append(loss.item())
                self._move_targets()
        self._record(actor_loss=actor_losses, critic_loss=critic_losses)

    def _smoothed(self, batch):
        """``clip(mu'(s') + clip(noise, -c, c), -1, 1)``."""
        limit = self.target_noise_clip
        noise = torch.empty_like(batch.actions).normal_(0, self.target_policy_noise)
        action = self.actor_target(batch.next_observations) + noise.clamp(-limit, limit)
        return action.clamp(-1, 1)

    def _move_targets(self):
        for name in ("critic", "actor"):
            network, target = getattr(self, name), getattr(self, f"{name}_target")
            polyak_update(network.parameters(), target.parameters(), self.tau)
            # Batch normalization's statistics are copied.
            seen = getattr(self, f"{name}_batch_norm_stats")
            polyak_update(seen, getattr(self, f"{name}_batch_norm_stats_target"), 1.0)


class SACSteps(_Prioritized):
    """``train`` of SAC (Haarnoja et al., 2018): the critics' squared errors are weighted; actor and
    entropy coefficient learn from the batch as it is."""

    def train(self, gradient_steps, batch_size=64):
        learned = self.ent_coef_optimizer
        self._begin(self.actor.optimizer, self.critic.optimizer, *[learned] * (learned is not None))
        means = {"ent_coef": [], "actor_loss": [], "critic_loss": [], "ent_coef_loss": []}
        for step in range(gradient_steps):
            batch = self._drawn(batch_size)
            if self.use_sde:
                self.actor.reset_noise()
            acted, logarithm = self.actor.action_log_prob(batch.observations)
            logarithm = logarithm.reshape(-1, 1)
            alpha = self._entropy_step(logarithm.detach(), means["ent_coef_loss"])
            with torch.no_grad():
                action, following = self.actor.action_log_prob(batch.next_observations)
                value = self._least_target(batch, action) - alpha * following.reshape(-1, 1)
                wanted = self._bootstrapped(batch, value)
            means["critic_loss"].append(self._critic_step(batch, wanted, 0.5))
            q = torch.cat(self.critic(batch.observations, acted), 1).amin(1, True)
            loss = (alpha * logarithm - q).mean()
            descend(self.actor.optimizer, loss)
            means["actor_loss"].append(loss.item())
            means["ent_coef"].append(alpha.item())
            if step % self.target_update_interval == 0:
                polyak_update(self.critic.parameters(), self.critic_target.parameters(), self.tau)
                polyak_update(self.batch_norm_stats, self.batch_norm_stats_target, 1.0)
        self._n_updates += gradient_steps
        self._record(**means)

    def _entropy_step(self, logarithm, losses):
        """The entropy coefficient for this step; where it is learned, its logarithm then
        descends."""
        if self.ent_coef_optimizer is None:
            return self.ent_coef_tensor
        alpha = self.log_ent_coef.detach().exp()
        loss = -(self.log_ent_coef * (logarithm + self.target_entropy)).mean()
        descend(self.ent_coef_optimizer, loss)
        losses.append(loss.item())
        return alpha

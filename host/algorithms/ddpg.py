"""DDPG: continuous actions in [-1, 1], learned from prioritized batches."""

from dataclasses import dataclass
from typing import Annotated

from gymnasium.spaces import Box

from host.algorithms.algorithm import Algorithm, by_table
from host.algorithms.autodiff import Updater, torch
from host.algorithms.deterministic import DeterministicConfig, DeterministicPolicy, beside
from host.rules import Flag
from host.summaries import SUMMARIES

__all__ = ["DDPG", "DDPGConfig", "DDPGUpdater"]


@dataclass(frozen=True, kw_only=True)
class DDPGConfig(DeterministicConfig):
    """Deep deterministic policy gradient (Lillicrap et al., 2016).

    ``y = r + discount Q'(s', mu'(s'))``, ``td = y - Q(s, a)``; the actor mu ascends
    ``mean Q(s, mu(s))``. ``Q'`` and ``mu'`` are the target networks of critic and actor; the
    discount is 0 if the episode terminated.
    """

    #: The actor ascends the critic as it was before the critic's step, so that both can learn at
    #: once; false: as it is after that step.
    lagged_critic: Annotated[bool, Flag()] = True


class DDPGUpdater(Updater):
    """The gradient steps of DDPG: the critic Q descends ``mean(weights * loss(td))``, the actor mu
    descends ``-mean Q(s, mu(s))``. With ``lagged_critic`` the actor's Q is the critic before its
    step, as in kernel ``ddpg``; else it is the critic after its step."""

    def update(self, batch, clock):
        batch, critic, actor = self.tensors(batch), self.networks["critic"], self.networks["actor"]
        obs, next_obs = batch["obs"], batch["next_obs"]
        with torch.no_grad():
            value = critic.target(beside(next_obs, actor.target(next_obs)))[:, 0]
            wanted = batch["reward"] + batch["discount"] * value
        td = wanted - critic(beside(obs, batch["action"]))[:, 0]
        errors = self.check_finite("td_errors", td, clock)
        loss = self.weighted_loss(td, batch["weights"])
        critic_rate, actor_rate = self.config.learning_rates_at(clock.launched)
        critic.backward(loss)
        if not self.config.lagged_critic:
            critic.descend(critic_rate)
        actor.backward(-critic(beside(obs, actor(obs)), critic.constants).mean())
        if self.config.lagged_critic:
            critic.descend(critic_rate)
        actor.descend(actor_rate)
        self.synchronize(clock)
        return errors, {"loss": loss.item()}


DDPG = Algorithm(
    name="ddpg",
    summary=SUMMARIES["ddpg"],
    config=DDPGConfig,
    policy=DeterministicPolicy,
    updater=DDPGUpdater,
    actions=(Box,),
    columns={"loss": "weighted loss of the TD errors"},
    kernel=by_table,
    defaults=dict(
        env="Pendulum-v1",
        steps=40_000,
        env_count=4,
        learning_starts=256,
        evaluation_interval_steps=1000,
        log_interval_steps=400,
        checkpoint_interval_steps=20_000,
        evaluation_episodes=50,
    ),
    # The goal is far from the start: only noise that lasts over many steps reaches it.
    environments={
        "MountainCarContinuous-v0": dict(
            steps=20_000,
            env_count=2,
            learning_starts=2000,
            agent=dict(
                gamma=0.99,
                learning_rate=1e-3,
                actor_learning_rate=1e-3,
                target_tau=0.005,
                noise="ornstein_uhlenbeck",
                noise_theta=0.015,
                noise_start=0.9,
                noise_end=0.9,
            ),
        ),
    },
    card_environments={
        "MountainCarContinuous-v0": dict(steps_per_launch=4, updates_per_launch=4),
    },
)

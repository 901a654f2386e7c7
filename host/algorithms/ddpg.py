"""DDPG: continuous actions in [-1, 1], learned from prioritized batches."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from gymnasium.spaces import Box

from host.algorithms.algorithm import Algorithm
from host.algorithms.autodiff import Updater, torch
from host.algorithms.config import SCHEDULE, TemporalDifferenceConfig, linear
from host.algorithms.network import MLP
from host.algorithms.policy import Policy
from host.rules import POSITIVE, Choice, Number

__all__ = ["DDPG", "DDPGConfig", "DDPGUpdater", "DeterministicPolicy"]

_DEVIATION = Number("in [0, 10]", lambda x: 0 <= x <= 10)

#: Of the actor's output layer at first: actions near 0, where tanh has its full slope.
_ACTOR_GAIN = 0.01


@dataclass(frozen=True, kw_only=True)
class DDPGConfig(TemporalDifferenceConfig):
    """Deep deterministic policy gradient (Lillicrap et al., 2016).

    ``y = r + discount Q'(s', mu'(s'))``, ``td = y - Q(s, a)``; the actor ascends
    ``mean Q(s, mu(s))``. ``Q'`` and ``mu'`` are the target networks; the discount is 0 where the
    episode terminated. Actions are ``clip(mu(s) + noise, -1, 1)``.
    """

    hidden: tuple = (64, 64)
    n_step: int = 3
    gamma: float = 0.98
    reward_scale: float = 0.1
    #: Step size of the critic.
    learning_rate: float = 4e-3
    #: Step size of the actor; falls in proportion to the critic's.
    actor_learning_rate: Annotated[float, POSITIVE] = 2e-3
    max_gradient_norm: float | None = None
    target_interval: int = 1
    target_tau: float = 0.02
    beta_steps: int = 20_000
    #: Standard deviation of the Gaussian noise on each component of an action, which is in [-1, 1],
    #: at first.
    noise_start: Annotated[float, _DEVIATION] = 1.0
    #: Standard deviation of the noise from ``noise_steps`` on.
    noise_end: Annotated[float, _DEVIATION] = 0.1
    #: Environment steps from ``noise_start`` to ``noise_end``.
    noise_steps: Annotated[int, SCHEDULE] = 5_000
    #: gaussian: new in every step; ornstein_uhlenbeck: it wanders (``DeterministicPolicy``).
    noise: Annotated[str, Choice(("gaussian", "ornstein_uhlenbeck"))] = "gaussian"
    #: ornstein_uhlenbeck: share of the noise that a step forgets.
    noise_theta: Annotated[float, Number("in (0, 1]", lambda x: 0 < x <= 1)] = 0.15

    def noise_at(self, steps):
        """Standard deviation of the noise after ``steps``."""
        return linear(steps, self.noise_start, self.noise_end, self.noise_steps)

    def learning_rates_at(self, steps):
        critic = self.learning_rate_at(steps)
        return critic, critic / self.learning_rate * self.actor_learning_rate


class DeterministicPolicy(Policy):
    """``clip(mu(s) + noise, -1, 1)``; the critics see observation and action side by side.

    Ornstein-Uhlenbeck noise is ``x <- (1 - theta) x + d sqrt(1 - (1 - theta)^2) N(0, 1)`` in each
    environment, 0 at the start of an episode, with ``d`` the deviation that it has in the long run
    (Lillicrap et al., 2016, 7: theta 0.15, and 0.2 before the normal number, which is d = 0.38;
    where a step takes the time dt, as in stable-baselines3, theta is theirs times dt).
    """

    ACTS, CRITICS = "actor", ("critic",)

    def __init__(self, config, spec, **seeds):
        super().__init__(config, spec, **seeds)
        self._wandering = np.zeros((0, spec.action_count))

    def make_networks(self, rng):
        size, count, hidden = self.spec.size, self.spec.action_count, self.config.hidden
        options = dict(activation=self.config.activation, rng=rng)
        critics = {name: MLP(size + count, 1, hidden, **options) for name in self.CRITICS}
        actor = MLP(
            size, count, hidden, output_activation="tanh", output_gain=_ACTOR_GAIN, **options
        )
        return critics | {"actor": actor}

    def exploration_at(self, steps):
        return self.config.noise_at(steps)

    def act(self, obs, *, greedy=False, steps=0):
        actions = self.predict(obs)
        if greedy:
            return actions
        noise = self.rng.normal(0, self.config.noise_at(steps), actions.shape)
        if self.config.noise == "ornstein_uhlenbeck":
            noise = self._wandered(noise)
        return np.clip(actions + noise.astype(np.float32), -1, 1)

    def _wandered(self, noise):
        if self._wandering.shape != noise.shape:
            self._wandering = np.zeros(noise.shape)
        kept = 1 - self.config.noise_theta
        self._wandering = kept * self._wandering + (1 - kept**2) ** 0.5 * noise
        return self._wandering

    def ended(self, which):
        if self._wandering.shape[0] == len(which):
            self._wandering[which] = 0

    def state_dict(self):
        return super().state_dict() | {"wandering": self._wandering.copy()}

    def load_state_dict(self, state):
        """Continue, in new episodes."""
        super().load_state_dict(state)
        self._wandering = np.zeros_like(state["wandering"])


def beside(obs, action):
    """What a critic sees of tensors [rows, size] and [rows, action_count]."""
    return torch.cat([obs, action], 1)


class DDPGUpdater(Updater):
    """The critic descends ``mean(weights * loss(td))``, the actor ``-mean Q(s, mu(s))``, through
    the critic as it was before the step, as on the card (lagged critic)."""

    def update(self, batch, clock):
        batch, critic, actor = self.tensors(batch), self.networks["critic"], self.networks["actor"]
        obs, next_obs = batch["obs"], batch["next_obs"]
        with torch.no_grad():
            value = critic.target(beside(next_obs, actor.target(next_obs)))[:, 0]
            wanted = batch["reward"] + batch["discount"] * value
        td = wanted - critic(beside(obs, batch["action"]))[:, 0]
        errors = self.check_finite("td_errors", td, clock)
        loss = self.weighted_loss(td, batch["weights"])
        critic.backward(loss)
        actor.backward(-critic(beside(obs, actor(obs))).mean())
        for trained, rate in zip(
            (critic, actor), self.config.learning_rates_at(clock.steps), strict=True
        ):
            trained.descend(rate)
        self.synchronize(clock)
        return errors, {"loss": loss.item()}


DDPG = Algorithm(
    name="ddpg",
    summary="deep deterministic policy gradient with prioritized replay; continuous actions",
    config=DDPGConfig,
    policy=DeterministicPolicy,
    updater=DDPGUpdater,
    actions=(Box,),
    columns={"loss": "weighted loss of the TD errors"},
    kernel=lambda config: {},
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
    # What is far from the start needs pushes that last.
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

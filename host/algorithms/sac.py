"""SAC: continuous actions, by a policy that maximizes return and entropy."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from gymnasium.spaces import Box

from host.algorithms.algorithm import Algorithm
from host.algorithms.autodiff import Updater, torch
from host.algorithms.config import TemporalDifferenceConfig
from host.algorithms.ddpg import DDPG
from host.algorithms.deterministic import LONG_RUN, PENDULUM, beside, larger
from host.algorithms.layers import Activate, Described, Part
from host.algorithms.network import MLP
from host.algorithms.policy import Policy
from host.rules import FINITE, POSITIVE, Flag
from host.summaries import SUMMARIES

__all__ = ["SAC", "SACConfig", "SACUpdater", "SquashedGaussian"]

#: limits of the logarithm of a deviation (Haarnoja et al.'s own program)
_LOW, _HIGH = -20.0, 2.0
#: Gain of first weights ``U(-1 / sqrt(fan_in), 1 / sqrt(fan_in))``, as in stable-baselines3. With
#: those of Kaiming, 2.4 times as large in each hidden layer, critics are far off at first, and half
#: of the seeds take twice as many environment steps to solve Pendulum.
_GAIN = 3**-0.5


@dataclass(frozen=True, kw_only=True)
class SACConfig(TemporalDifferenceConfig):
    """Soft actor-critic (Haarnoja et al., Soft Actor-Critic Algorithms and Applications, 2019).

    ``y = r + discount (min(Q1'(s', a'), Q2'(s', a')) - alpha log pi(a'|s'))``, ``a' ~ pi(.|s')``;
    the actor pi descends ``mean(alpha log pi(a|s) - min(Q1(s, a), Q2(s, a)))``, a drawn from pi.
    Q1' and Q2' are the target networks; the discount is 0 if the episode terminated. If alpha is
    learned, it descends ``-mean(log(alpha) (log pi(a|s) + target_entropy))``. The defaults are the
    paper's. With ``n_step`` above 1, r is the discounted sum of n rewards, without the entropies
    of the steps between.
    """

    hidden: tuple = (256, 256)
    n_step: int = 1
    batch_size: int = 256
    #: Step size of critics, actor and alpha.
    learning_rate: float = 3e-4
    max_gradient_norm: float | None = None
    loss: str = "squared"
    target_interval: int = 1
    target_tau: float = 0.005
    #: Weight of the entropy, alpha; if it is learned, its first value.
    entropy_coefficient: Annotated[float, POSITIVE] = 1.0
    #: Alpha is learned, so that the entropy is ``target_entropy`` on average.
    learn_entropy_coefficient: Annotated[bool, Flag()] = True
    #: Entropy of the actions that alpha aims at; None: minus the number of components.
    target_entropy: Annotated[float | None, FINITE] = None


class _Coefficient:
    """log(alpha), as a network of one number."""

    def __init__(self, value):
        self.parameters = np.full(1, np.log(value), np.float32)
        self.arrays = [self.parameters]


class SquashedGaussian(Policy):
    """A policy with actions ``a = tanh(mean(s) + exp(log_deviation(s)) N(0, 1))``; if ``greedy``,
    ``tanh(mean(s))``. The actor's outputs are the means, then the logarithms of the deviations."""

    ACTS = "actor"

    def make_networks(self, rng):
        size, count, hidden = self.spec.size, self.spec.action_count, self.config.hidden
        options = dict(activation=self.config.activation, gain=_GAIN, rng=rng)
        critics = {
            name: MLP(size + count, 1, hidden, output_gain=_GAIN, **options)
            for name in ("critic", "critic_2")
        }
        actor = MLP(size, 2 * count, hidden, output_gain=0.01, **options)
        return critics | {
            "actor": actor,
            "alpha": _Coefficient(self.config.entropy_coefficient),
        }

    def described(self):
        mean = [Part(0, self.spec.action_count), Activate("tanh")]
        return Described(self.networks[self.ACTS].described(), "mean", {"mean": mean})

    def choose(self, outputs, *, greedy=False, steps=0):
        mean, logarithm = np.split(outputs, 2, axis=1)
        if greedy:
            return np.tanh(mean)
        noise = self.rng.standard_normal(mean.shape, np.float32)
        return np.tanh(mean + np.exp(logarithm.clip(_LOW, _HIGH)) * noise)


class SACUpdater(Updater):
    """The gradient steps of SAC. Each critic descends ``mean(weights * loss(td))`` with its own TD
    errors; the priority follows from the larger magnitude of both. Actor and alpha descend as in
    ``SACConfig``, after the critics' step."""

    def __init__(self, policy, **options):
        super().__init__(policy, **options)
        wanted = self.config.target_entropy
        self._entropy = -float(self.spec.action_count) if wanted is None else wanted

    def update(self, batch, clock):
        batch, (one, two, actor, alpha) = self.tensors(batch), self.networks.values()
        obs, next_obs, rate = batch["obs"], batch["next_obs"], self._rate(clock)
        seen, weight = beside(obs, batch["action"]), alpha.arrays[0].detach().exp()
        with torch.no_grad():
            action, logarithm = self._drawn(next_obs)
            following = beside(next_obs, action)
            value = torch.minimum(one.target(following), two.target(following))[:, 0]
            wanted = batch["reward"] + batch["discount"] * (value - weight * logarithm)
        errors = [wanted - critic(seen)[:, 0] for critic in (one, two)]
        found = self.check_finite("td_errors", larger(*errors), clock)
        losses = [self.weighted_loss(td, batch["weights"]) for td in errors]
        for critic, loss in zip((one, two), losses, strict=True):
            critic.backward(loss)
            critic.descend(rate)
        action, logarithm = self._drawn(obs)
        acted = beside(obs, action)
        actor.backward((weight * logarithm - torch.minimum(one(acted), two(acted))[:, 0]).mean())
        actor.descend(rate)
        entropy = -logarithm.detach().mean()
        if self.config.learn_entropy_coefficient:
            alpha.backward((alpha.arrays[0] * (entropy - self._entropy)).sum())
            alpha.descend(rate)
        self.synchronize(clock)
        measured = {"loss": sum(loss.item() for loss in losses), "entropy": entropy.item()}
        return found, measured | {"entropy_coefficient": weight.item()}

    def _rate(self, clock):
        return self.config.learning_rate_at(clock.launched)

    def _drawn(self, obs):
        """Actions of the present policy and ``log pi(a|s)``, with gradients by its parameters.

        ``log pi = log N(u; mean, deviation) - sum log(1 - tanh(u)^2)``, and
        ``log(1 - tanh(u)^2) = 2 (log 2 - u - softplus(-2 u))``.
        """
        mean, logarithm = self.networks["actor"](obs).chunk(2, 1)
        logarithm, noise = logarithm.clamp(_LOW, _HIGH), self.normal(mean.shape)
        u = mean + logarithm.exp() * noise
        density = -(noise**2) / 2 - logarithm - np.log(2 * np.pi) / 2
        squash = 2 * (np.log(2) - u - torch.nn.functional.softplus(-2 * u))
        return u.tanh(), (density - squash).sum(1)


SAC = Algorithm(
    name="sac",
    summary=SUMMARIES["sac"],
    config=SACConfig,
    policy=SquashedGaussian,
    updater=SACUpdater,
    actions=(Box,),
    columns={
        "loss": "weighted loss of the TD errors, of both critics",
        "entropy": "entropy of the policy, in nats",
        "entropy_coefficient": "alpha",
    },
    defaults=dict(env="Pendulum-v1", **LONG_RUN),
    # A gradient step for each environment step, as in stable-baselines3 and RLtools: with one for
    # four it takes more than twice as many environment steps.
    environments={
        "Pendulum-v1": dict(
            DDPG.defaults,
            updates_per_launch=4,
            capacity=1 << 15,
            agent=dict(PENDULUM, learning_rate=3e-3, entropy_coefficient=0.1),
        ),
    },
)

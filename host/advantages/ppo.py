"""PPO: learns from rollouts whose advantages the card estimates."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from gymnasium.spaces import Box, Discrete

from host.advantages.standardization import Standardization
from host.algorithms.actor_critic import ActorCritic, log_probability_and_entropy
from host.algorithms.algorithm import Algorithm
from host.algorithms.autodiff import Updater, torch
from host.algorithms.config import AgentConfig
from host.algorithms.layers import Clip, Described
from host.algorithms.normalizer import Normalizer
from host.algorithms.policy import Policy
from host.rules import FRACTION, NOT_NEGATIVE, POSITIVE, Choice, Flag, Integer, Number
from host.summaries import HEPPO, SUMMARIES
from hw.gae.commands import LEAST_CODE_BITS, MOST_CODE_BITS

__all__ = ["PPO", "PPOConfig", "PPOPolicy", "PPOUpdater"]

_WIDTH = Choice((8, 16, 32))


@dataclass(frozen=True, kw_only=True)
class PPOConfig(AgentConfig):
    """Proximal policy optimization (Schulman et al., 2017).

    ``loss = policy + value_coefficient * value - entropy_coefficient * entropy``, means over a
    minibatch: ``policy = -min(A ratio, A clip(ratio, 1 - clip, 1 + clip))``,
    ``ratio = pi(a|s) / pi_old(a|s)``; ``value = (V - G)**2``, V the critic's value, unless
    ``value_clip`` limits it. The card computes the advantages A and the rewards-to-go G.
    """

    hidden: tuple = (64, 64)
    activation: str = "tanh"
    gamma: float = 0.98
    #: Standardizes each component of the observations (each pixel of an image) by mean and
    #: deviation of all observations in training, clipped at 10 deviations. Evaluations and a loaded
    #: policy do not change mean and deviation.
    normalize_observations: Annotated[bool, Flag()] = False
    #: Decay of advantages per step, besides gamma.
    gae_lambda: Annotated[float, FRACTION] = 0.9
    #: Steps in a minibatch; the last of an epoch may be smaller.
    batch_size: int = 256
    #: Passes over a rollout.
    epochs: Annotated[int, Integer(1, 1 << 10)] = 10
    learning_rate: float = 1e-3
    optimizer_epsilon: float = 1e-5
    #: Largest norm of the gradient of actor and critic together, to which a larger one is scaled
    #: down.
    max_gradient_norm: float | None = 0.5
    #: Largest distance of a ratio from 1 before it is clipped.
    clip: Annotated[float, POSITIVE] = 0.2
    #: Largest distance of a value from the old value before it is clipped; the larger of both
    #: squared errors counts. None: no limit.
    value_clip: Annotated[float | None, POSITIVE] = None
    #: Weight of the critic's loss.
    value_coefficient: Annotated[float, NOT_NEGATIVE] = 0.5
    #: Weight of the policy's entropy.
    entropy_coefficient: Annotated[float, NOT_NEGATIVE] = 0.0
    #: Standardizes each minibatch's advantages to mean 0 and deviation 1.
    normalize_advantages: Annotated[bool, Flag()] = True
    #: The epochs end early if a minibatch's estimate of KL(old, new) is over 1.5 times this number;
    #: None: never.
    target_kl: Annotated[float | None, POSITIVE] = None
    #: Box actions, in [-1, 1]: natural logarithm of each component's deviation at first.
    log_deviation: Annotated[float, Number("in [-10, 2]", lambda x: -10 <= x <= 2)] = 0.0
    #: How rewards are standardized before the estimator: raw, not at all; dynamic, by mean and
    #: deviation of all rewards so far; block, by those of the rollout; restored, as block, and
    #: codes are converted back with this mean and deviation.
    rewards: str = "raw"
    #: How values are standardized before the estimator: raw or restored, as with rewards.
    values: str = "raw"
    #: Bits of rewards and values on the card: codes of 8 or 16, or words of 32.
    code_width: Annotated[int, _WIDTH] = 32
    #: Bits of a code, at most code_width, in a kernel with codes of 8 or 16 bits; none: code_width.
    code_bits: Annotated[int | None, Integer(LEAST_CODE_BITS, MOST_CODE_BITS)] = None
    #: Bits of the card's results.
    result_width: Annotated[int, _WIDTH] = 32

    def __post_init__(self):
        super().__post_init__()
        self.standardization.check(self.code_width)

    @property
    def standardization(self):
        return Standardization(rewards=self.rewards, values=self.values, code_bits=self.code_bits)


class PPOPolicy(Policy):
    """A policy that draws actions from the actor's distribution; if ``greedy``, it takes the
    likeliest action.

    Attributes
    ----------
    normalizer : Normalizer or None
        Normalizes observations; None unless ``normalize_observations`` is set. ``sample`` alone
        changes its mean and variance, which are saved with the policy.
    """

    ACTS = "actor_critic"

    def __init__(self, config, spec, **seeds):
        super().__init__(config, spec, **seeds)
        [self._network] = self.networks.values()
        self.normalizer = Normalizer(spec.size) if config.normalize_observations else None

    def make_networks(self, rng):
        return {self.ACTS: ActorCritic(self.config, self.spec, rng)}

    def _seen(self, obs):
        """The networks' inputs for obs [rows, ...]."""
        return self.flat(obs) if self.normalizer is None else self.normalizer(self.flat(obs))

    def predict(self, obs):
        """The actor's outputs [rows, action_count] for obs [rows, ...]: logits of discrete actions,
        or means of continuous ones."""
        return self._network.actor.forward(self._seen(obs))

    def value(self, obs):
        """The critic's values, float32 [rows]."""
        return self._network.critic.forward(self._seen(obs))[:, 0]

    def sample(self, obs):
        """Draws actions for obs [rows, ...] of a step in training, after the normalizer has counted
        these observations. Returns ``(networks' input, action, log probability, value)``, each
        [rows, ...]. Actions are not clipped (``applied`` does it)."""
        if self.normalizer is not None:
            self.normalizer.update(self.flat(obs))
        seen = self._seen(obs)
        action, logarithm = self._network.draw(seen, self.rng)
        return seen, action, logarithm, self._network.critic.forward(seen)[:, 0]

    def applied(self, action):
        """The action as the environment gets it: clipped to -1..1, unless it is discrete."""
        return action if self.spec.discrete else np.clip(action, -1, 1)

    def act(self, obs, *, greedy=False, steps=0):
        """As ``Policy.act``; the normalizer does not count the observations."""
        if greedy:
            output = self.predict(obs)
            return output.argmax(axis=1) if self.spec.discrete else self.applied(output)
        return self.applied(self._network.draw(self._seen(obs), self.rng)[0])

    def described(self):
        first = [] if self.normalizer is None else [self.normalizer.described()]
        network, discrete = self._network, self.spec.discrete
        acts = network.actor.described() + ([] if discrete else [Clip()])
        heads = {"logits" if discrete else "mean": acts, "value": network.critic.described()}
        return Described(first, next(iter(heads)), heads)

    @property
    def parameters(self):
        """name -> array of the networks and of the normalizer."""
        known = {} if self.normalizer is None else self.normalizer.arrays
        return super().parameters | known

    def _take(self, parameters):
        super()._take(parameters)
        if self.normalizer is not None:
            self.normalizer.load_arrays(parameters)


class PPOUpdater(Updater):
    """Learns from each rollout, in epochs of minibatches."""

    def update(self, batch, clock):
        """Learns from a rollout, in ``epochs`` passes over its steps in random order.

        Parameters
        ----------
        batch : dict
            ``obs``, ``action``, ``log_probability``, ``value``, ``advantage``, ``return``: arrays
            [steps, envs, ...].
        clock : Clock
            Each minibatch adds 1 to its ``updates``.

        Returns
        -------
        dict
            Column of progress.csv -> mean over the minibatches; ``explained_variance`` is
            ``1 - Var(returns - values) / Var(returns)`` before learning.

        ValueError if a loss is not finite, before the step that it would make.
        """
        data = {
            name: self.tensor(array.reshape(-1, *array.shape[2:])) for name, array in batch.items()
        }
        measured = self._epochs(data, clock)
        means = {name: float(np.mean([each[name] for each in measured])) for name in measured[0]}
        spread = float(np.var(batch["return"]))
        left = float(np.var(batch["return"] - batch["value"]))
        return means | {"explained_variance": 1 - left / spread if spread else None}

    def _epochs(self, data, clock):
        config, measured = self.config, []
        rate, [trained] = config.learning_rate_at(clock.launched), self.networks.values()
        for _ in range(config.epochs):
            order = self.tensor(self.rng.permutation(len(data["obs"])))
            for rows in order.split(config.batch_size):
                loss, values = self.losses({name: tensor[rows] for name, tensor in data.items()})
                self.check_finite("loss", loss, clock)
                measured.append(values)
                if config.target_kl is not None and values["kl"] > 1.5 * config.target_kl:
                    return measured
                trained.backward(loss)
                trained.descend(rate)
                clock.updates += 1
        return measured

    def losses(self, batch):
        """``(loss, measured)`` of a minibatch, a dict of tensors [rows, ...]: the loss, a tensor
        with gradients, and a dict of numbers by column. With ``normalize_advantages``, advantages
        of two or more rows are normalized over the minibatch."""
        config, advantage = self.config, batch["advantage"]
        if config.normalize_advantages and len(advantage) > 1:
            advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
        [trained] = self.networks.values()
        output, value, log_deviation = trained(batch["obs"])
        probability, entropy = log_probability_and_entropy(output, log_deviation, batch["action"])
        logarithm = probability - batch["log_probability"]
        ratio = logarithm.exp()
        clipped = ratio.clamp(1 - config.clip, 1 + config.clip)
        policy = -torch.minimum(advantage * ratio, advantage * clipped).mean()
        error, entropy = self._value_loss(value, batch), entropy.mean()
        loss = policy + config.value_coefficient * error - config.entropy_coefficient * entropy
        with torch.no_grad():
            parts = {
                "loss": loss,
                "policy_loss": policy,
                "value_loss": error,
                "entropy": entropy,
                # Unbiased, and never negative (Schulman, Approximating KL Divergence, 2020).
                "kl": (ratio - 1 - logarithm).mean(),
                "clip_fraction": ((ratio - 1).abs() > config.clip).float().mean(),
            }
        return loss, {name: part.item() for name, part in parts.items()}

    def _value_loss(self, value, batch):
        limit = self.config.value_clip
        error = (value - batch["return"]) ** 2
        if limit is not None:
            near = batch["value"] + (value - batch["value"]).clamp(-limit, limit)
            error = torch.maximum(error, (near - batch["return"]) ** 2)
        return error.mean()


PPO = Algorithm(
    name="ppo",
    summary=SUMMARIES["ppo"],
    config=PPOConfig,
    policy=PPOPolicy,
    updater=PPOUpdater,
    actions=(Discrete, Box),
    columns={
        "loss": "the whole loss",
        "policy_loss": "loss of the clipped surrogate",
        "value_loss": "squared error of the critic",
        "entropy": "entropy of the policy, in nats",
        "kl": "estimate of KL(the rollout's policy, the policy)",
        "clip_fraction": "share of ratios that were clipped",
        "explained_variance": "1 - Var(rewards-to-go - values) / Var(rewards-to-go)",
    },
    learns_from="rollouts",
    # stable-baselines3's numbers for PPO, and normalized observations, which Andrychowicz et al.
    # advise always (What Matters In On-Policy Reinforcement Learning?, 2020, 3.3).
    continuous=dict(
        steps=1_000_000,
        env_count=1,
        steps_per_launch=2048,
        evaluation_interval_steps=10 * 2048,
        log_interval_steps=2048,
        agent=dict(
            normalize_observations=True,
            gamma=0.99,
            gae_lambda=0.95,
            batch_size=64,
            learning_rate=3e-4,
        ),
    ),
    environments={
        "Pendulum-v1": dict(
            steps=120_000,
            env_count=4,
            steps_per_launch=512,
            evaluation_interval_steps=5 * 2048,
            evaluation_episodes=50,
            agent=dict(gamma=0.9, gae_lambda=0.95, batch_size=64, learning_rate_final=1e-5),
        )
    },
    presets=HEPPO,
    default_preset="heppo1",
)

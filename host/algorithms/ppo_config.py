"""The hyperparameters of PPO, where they are not those of every agent; the defaults solve
CartPole-v1."""

from dataclasses import dataclass
from typing import Annotated

from host.algorithms.agent_config import AgentConfig
from host.rules import FRACTION, NOT_NEGATIVE, POSITIVE, Choice, Flag, Integer, Number
from host.runtime.standardize import Standardization

__all__ = ["HEPPO", "PPOConfig"]

#: name -> how advantages are estimated (HEPPO V-C, Table III); results are whole words in all
HEPPO = {
    "heppo1": dict(rewards="raw", values="raw", code_width=32),
    "heppo2": dict(rewards="dynamic", values="raw", code_width=32),
    "heppo3": dict(rewards="restored", values="restored", code_width=8),
    "heppo4": dict(rewards="block", values="restored", code_width=8),
    "heppo5": dict(rewards="dynamic", values="restored", code_width=8),
}

_WIDTH = Choice((8, 16, 32))


@dataclass(frozen=True, kw_only=True)
class PPOConfig(AgentConfig):
    """Proximal policy optimization (Schulman et al., 2017).

    ``loss = policy + value_coefficient * value - entropy_coefficient * entropy``, means over a
    minibatch: ``policy = -min(A ratio, A clip(ratio, 1 - clip, 1 + clip))``,
    ``ratio = pi(a|s) / pi_old(a|s)``; ``value = (V - G)**2``. A and G, advantages and
    rewards-to-go, are the card's.
    """

    hidden: tuple = (64, 64)
    activation: str = "tanh"
    gamma: float = 0.98
    #: Each component of the observations, a pixel too, by mean and deviation of all that training
    #: has seen, within 10 deviations; evaluations and a loaded policy leave them as they are.
    normalize_observations: Annotated[bool, Flag()] = False
    #: Decay of advantages per step, besides gamma.
    gae_lambda: Annotated[float, FRACTION] = 0.9
    #: Steps in a minibatch; the last of an epoch may be smaller.
    batch_size: int = 256
    #: Times that a rollout is learned from.
    epochs: Annotated[int, Integer(1, 1 << 10)] = 10
    learning_rate: float = 1e-3
    learning_rate_steps: int = 100_000
    optimizer_epsilon: float = 1e-5
    #: Norm that the gradient of actor and critic together is scaled down to.
    max_gradient_norm: float | None = 0.5
    #: How far a ratio may leave 1.
    clip: Annotated[float, POSITIVE] = 0.2
    #: How far a value may leave the old one and still be drawn to its target; None: no limit.
    value_clip: Annotated[float | None, POSITIVE] = None
    #: Weight of the critic's loss.
    value_coefficient: Annotated[float, NOT_NEGATIVE] = 0.5
    #: Weight of the policy's entropy.
    entropy_coefficient: Annotated[float, NOT_NEGATIVE] = 0.0
    #: Each minibatch's advantages to mean 0 and deviation 1.
    normalize_advantages: Annotated[bool, Flag()] = True
    #: The epochs end where a minibatch's estimate of KL(old, new) is over 1.5 times this.
    target_kl: Annotated[float | None, POSITIVE] = None
    #: Box actions, in [-1, 1]: natural logarithm of each component's deviation at first.
    log_deviation: Annotated[float, Number("in [-10, 2]", lambda x: -10 <= x <= 2)] = 0.0
    #: How rewards reach the estimator: raw; dynamic, by mean and deviation of all so far; block, by
    #: those of the rollout; restored, the same and brought back after they were codes.
    rewards: str = "raw"
    #: How values reach the estimator: raw or restored, as of rewards.
    values: str = "raw"
    #: Bits of rewards and values on the card: 8 or 16, codes; 32, words.
    code_width: Annotated[int, _WIDTH] = 32
    #: Bits of the card's results.
    result_width: Annotated[int, _WIDTH] = 32

    def __post_init__(self):
        super().__post_init__()
        self.standardization  # noqa: B018 -- its rules are this config's too

    @property
    def standardization(self):
        return Standardization(rewards=self.rewards, values=self.values)

"""The hyperparameters of PPO, where they are not those of every agent; the defaults solve
CartPole-v1."""

from dataclasses import dataclass

from host.agents.agent_config import AgentConfig, check_number, check_positive
from host.runtime.standardize import Standardization
from hw.config import check_range

__all__ = ["HEPPO", "PPOConfig"]

#: name -> how advantages are estimated (HEPPO V-C, Table III); results are whole words in all
HEPPO = {
    "heppo1": dict(rewards="raw", values="raw", code_width=32),
    "heppo2": dict(rewards="dynamic", values="raw", code_width=32),
    "heppo3": dict(rewards="restored", values="restored", code_width=8),
    "heppo4": dict(rewards="block", values="restored", code_width=8),
    "heppo5": dict(rewards="dynamic", values="restored", code_width=8),
}

_WIDTHS = (8, 16, 32)


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
    #: Decay of advantages per step, besides gamma.
    gae_lambda: float = 0.9
    #: Steps in a minibatch; the last of an epoch may be smaller.
    batch_size: int = 256
    #: Times that a rollout is learned from.
    epochs: int = 10
    learning_rate: float = 1e-3
    learning_rate_steps: int = 100_000
    optimizer_epsilon: float = 1e-5
    #: Norm that the gradient of actor and critic together is scaled down to.
    max_gradient_norm: float | None = 0.5
    #: How far a ratio may leave 1.
    clip: float = 0.2
    #: How far a value may leave the old one and still be drawn to its target; None: no limit.
    value_clip: float | None = None
    value_coefficient: float = 0.5
    entropy_coefficient: float = 0.0
    #: Each minibatch's advantages to mean 0 and deviation 1.
    normalize_advantages: bool = True
    #: The epochs end where a minibatch's estimate of KL(old, new) is over 1.5 times this.
    target_kl: float | None = None
    #: Box actions, in [-1, 1]: natural logarithm of each component's deviation at first.
    log_deviation: float = 0.0
    #: How rewards reach the estimator: raw; dynamic, by mean and deviation of all so far; block, by
    #: those of the rollout; restored, the same and brought back after they were codes.
    rewards: str = "raw"
    #: The same of values: raw or restored.
    values: str = "raw"
    #: Bits of rewards and values on the card: 8 or 16, codes; 32, words.
    code_width: int = 32
    #: Bits of the card's results.
    result_width: int = 32

    def __post_init__(self):
        super().__post_init__()
        check_range("epochs", self.epochs, 1, 1 << 10)
        check_positive("clip", self.clip)
        for name in ("value_clip", "target_kl"):
            if getattr(self, name) is not None:
                check_positive(name, getattr(self, name))
        check_number("gae_lambda", self.gae_lambda, "in [0, 1]", lambda x: 0 <= x <= 1)
        for name in ("value_coefficient", "entropy_coefficient"):
            rule = "at least 0 and finite"
            check_number(name, getattr(self, name), rule, lambda x: 0 <= x < float("inf"))
        check_number("log_deviation", self.log_deviation, "in [-10, 2]", lambda x: -10 <= x <= 2)
        if not isinstance(self.normalize_advantages, bool):
            raise ValueError(
                f"normalize_advantages must be True or False, not {self.normalize_advantages!r}"
            )
        self.standardization  # noqa: B018 -- its rules are this config's too
        for name in ("code_width", "result_width"):
            if getattr(self, name) not in _WIDTHS:
                raise ValueError(f"{name} must be one of 8, 16, 32, not {getattr(self, name)!r}")

    @property
    def standardization(self):
        return Standardization(rewards=self.rewards, values=self.values)

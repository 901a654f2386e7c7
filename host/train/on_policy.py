"""Actors, advantage estimator and agent as one state machine.

An iteration is one launch on the card: a rollout by one policy, its advantages, the agent's epochs.
They follow one another, for each needs all of the one before.
"""

from gymnasium.spaces import Discrete

from host.collect.rollout import collect
from host.train.session_base import Iteration, SessionBase

__all__ = ["OnPolicySession"]

#: columns of what the estimator saw on the way
_SEEN = (
    "reward_mean",
    "reward_deviation",
    "value_mean",
    "value_deviation",
    "clipped",
    "saturated",
)


class OnPolicySession(SessionBase):
    """
    Parameters
    ----------
    config : OnPolicyConfig
    estimator_factory : callable
        ``estimator_factory()`` makes the AdvantageEstimator.

    Attributes
    ----------
    estimator
    """

    COLUMNS = (
        "loss",
        "policy_loss",
        "value_loss",
        "entropy",
        "kl",
        "clip_fraction",
        "explained_variance",
        "learning_rate",
        *_SEEN,
    )

    def __init__(self, config, estimator_factory):
        super().__init__(config)
        self.estimator = estimator_factory()

    def _agent_options(self):
        return {"discrete": isinstance(self._envs.single_action_space, Discrete)}

    def iterate(self):
        """Collect, estimate, learn; ValueError as the estimator and agent do."""
        config, agent = self.config.agent, self.agent
        steps = self.config.steps_per_launch
        rollout, episodes = collect(self._actor, agent, steps, self.phases)
        with self.phases("packing"):
            flight = self.estimator.launcher.kernel.flight
            before = flight.seconds
            estimated = self.estimator.estimate(
                rollout.reward,
                rollout.value,
                rollout.terminated,
                rollout.truncated,
                rollout.bootstrap,
                gamma=config.gamma,
                gae_lambda=config.gae_lambda,
            )
            self.phases.move(flight.seconds - before, "card")
        with self.phases("learning"):
            measured = agent.learn(rollout, estimated.advantages, estimated.returns)
        measured |= {name: estimated.statistics.get(name) for name in _SEEN}
        self.launches += 1
        return Iteration(episodes, measured)

    @property
    def device_cycles(self):
        """Clocks of all launches of this session; None on a card that does not count."""
        return self.estimator.device_cycles

    def progress(self):
        return {"learning_rate": self.agent.learning_rate}

    def state_dict(self):
        return super().state_dict() | {"estimator": self.estimator.state_dict()}

    def load_state_dict(self, state):
        """Continue from ``state_dict``: weights, optimizer, random stream and what rewards are
        standardized with are the same, and the next rollout is of new episodes."""
        super().load_state_dict(state)
        self.estimator.load_state_dict(state["estimator"])

    def close(self):
        self.estimator.close()
        super().close()

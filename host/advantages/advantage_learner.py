"""The learner of on-policy agents: the card estimates advantages, the updater learns from them."""

from collections.abc import Mapping

from host.advantages.estimator import AdvantageEstimator
from host.advantages.rollout import Rollout
from host.algorithms.autodiff import Updater
from host.algorithms.config import Clock
from host.algorithms.learner import Learner
from host.algorithms.policy import Policy
from host.phases import Phases

__all__ = ["AdvantageLearner"]

#: statistics of the estimator
_STATISTICS = (
    "reward_mean",
    "reward_deviation",
    "value_mean",
    "value_deviation",
    "clipped",
    "saturated",
)


class AdvantageLearner(Learner):
    """The learner of on-policy agents. A launch estimates the advantages of one rollout on the
    card, and the updater then learns from the rollout in several epochs on the CPU.

    Collection, launch and epochs run one after the other, since each needs all results of the one
    before.

    Parameters
    ----------
    estimator : AdvantageEstimator
        Estimates on the card.
    updater : Updater
        Its ``update`` takes a rollout (``host.advantages.ppo.PPOUpdater``).
    phases : Phases, optional
        Counts the learner's time.
    policy, clock
        As ``Learner``.
    """

    at_once = True
    columns = ("learning_rate", *_STATISTICS)

    def __init__(
        self,
        policy: Policy,
        clock: Clock,
        estimator: AdvantageEstimator,
        updater: Updater,
        *,
        phases: Phases | None = None,
    ) -> None:
        super().__init__(policy, clock)
        self.estimator, self.updater, self.phases = estimator, updater, phases or Phases()

    def begin(self, experience: Rollout) -> Rollout:
        """Returns ``experience``, a Rollout, as the argument of ``end``; no launch begins before
        ``end``."""
        return experience

    def end(self, launch: Rollout) -> dict[str, float | None]:
        rollout, agent = launch, self.agent
        with self.phases("packing"):
            flight = self.estimator.launcher.kernel.flight
            before = flight.seconds
            estimated = self.estimator.estimate(
                rollout.reward,
                rollout.value,
                rollout.terminated,
                rollout.truncated,
                rollout.bootstrap,
                gamma=agent.gamma,
                gae_lambda=agent.gae_lambda,
            )
            self.phases.move(flight.seconds - before, "card")
        with self.phases("learning"):
            batch = rollout.batch(estimated.advantages, estimated.returns)
            measured = self.updater.update(batch, self.clock)
        return measured | {name: estimated.statistics.get(name) for name in _STATISTICS}

    @property
    def device_cycles(self) -> int | None:
        return self.estimator.device_cycles

    def state_dict(self) -> dict[str, object]:
        return {"estimator": self.estimator.state_dict(), "updater": self.updater.state_dict()}

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        self.estimator.load_state_dict(state["estimator"])
        self.updater.load_state_dict(state["updater"])

    def close(self) -> None:
        self.estimator.close()

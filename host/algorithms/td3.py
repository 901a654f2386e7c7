"""TD3: DDPG with two critics, smoothed target actions, and an actor that steps less often."""

from dataclasses import dataclass
from typing import Annotated

from gymnasium.spaces import Box

from host.algorithms.algorithm import Algorithm, by_table
from host.algorithms.autodiff import Updater, torch
from host.algorithms.ddpg import DDPG
from host.algorithms.deterministic import (
    LONG_RUN,
    PENDULUM,
    DeterministicConfig,
    DeterministicPolicy,
    beside,
    larger,
)
from host.rules import NOT_NEGATIVE, NOTHING, Integer
from host.summaries import SUMMARIES

__all__ = ["TD3", "TD3Config", "TD3Policy", "TD3Updater"]


@dataclass(frozen=True, kw_only=True)
class TD3Config(DeterministicConfig):
    """Twin delayed deep deterministic policy gradient (Fujimoto et al., 2018).

    ``y = r + discount min(Q1'(s', a'), Q2'(s', a'))``, ``a' = clip(mu'(s') + clip(noise, -c, c),
    -1, 1)``; the actor mu ascends ``mean Q1(s, mu(s))``. Q1', Q2' and mu' are the target networks,
    c is ``target_noise_clip``; the discount is 0 if the episode terminated.

    Networks, step sizes and batch are those of the authors' present program and of SAC's paper;
    TD3's paper had 400-300, 1e-3 and 100. The paper's agent acts at random for its first 10 000
    steps; here the noise is wide at first and falls over as many steps, however long the run is.
    """

    hidden: tuple = (256, 256)
    n_step: int = 1
    gamma: float = 0.99
    reward_scale: float = 1.0
    batch_size: int = 256
    learning_rate: float = 3e-4
    actor_learning_rate: float = 3e-4
    loss: str = "squared"
    target_tau: float = 0.005
    noise_steps: int | None = 10_000
    #: None: the targets move with the actor (``policy_delay``).
    target_interval: Annotated[None, NOTHING] = None
    #: Steps of the critics for one step of the actor and of all targets.
    policy_delay: Annotated[int, Integer(1, 1000)] = 2
    #: Standard deviation of the noise on target actions.
    target_noise: Annotated[float, NOT_NEGATIVE] = 0.2
    #: Largest noise on a target action.
    target_noise_clip: Annotated[float, NOT_NEGATIVE] = 0.5
    #: On the card the errors of the critics' outputs, and of the outputs through which the actor
    #: learns, are multiplied by 2**-shift, and their gradients by 2**shift. In fixed point a larger
    #: shift clips fewer large errors. The CPU does not need it.
    critic_error_shift: Annotated[int, Integer(-8, 8)] = 0
    actor_error_shift: Annotated[int, Integer(-8, 8)] = 0


class TD3Policy(DeterministicPolicy):
    """DDPG's policy, with a second critic."""

    CRITICS = ("critic", "critic_2")


class TD3Updater(Updater):
    """The gradient steps of TD3. Each critic descends ``mean(weights * loss(td))`` with its own TD
    errors; the priority follows from the larger magnitude of both. In every ``policy_delay``-th
    step the actor mu descends ``-mean Q1(s, mu(s))`` too, and then all target networks are updated
    by ``target_tau``."""

    def update(self, batch, clock):
        batch, (one, two, actor) = self.tensors(batch), self.networks.values()
        obs, next_obs = batch["obs"], batch["next_obs"]
        seen = beside(obs, batch["action"])
        with torch.no_grad():
            following = beside(next_obs, self._target_action(next_obs))
            value = torch.minimum(one.target(following), two.target(following))[:, 0]
            wanted = batch["reward"] + batch["discount"] * value
        errors = [wanted - critic(seen)[:, 0] for critic in (one, two)]
        found = self.check_finite("td_errors", larger(*errors), clock)
        losses = [self.weighted_loss(td, batch["weights"]) for td in errors]
        rate, actor_rate = self.config.learning_rates_at(clock.launched)
        for critic, loss in zip((one, two), losses, strict=True):
            critic.backward(loss)
            critic.descend(rate)
        if (clock.updates + 1) % self.config.policy_delay == 0:
            actor.backward(-one(beside(obs, actor(obs))).mean())
            actor.descend(actor_rate)
            self.move_targets()
        return found, {"loss": sum(loss.item() for loss in losses)}

    def _target_action(self, next_obs):
        """``a'`` of the formula in ``TD3Config``."""
        action, limit = self.networks["actor"].target(next_obs), self.config.target_noise_clip
        noise = self.normal(action.shape) * self.config.target_noise
        return (action + noise.clamp(-limit, limit)).clamp(-1, 1)


TD3 = Algorithm(
    name="td3",
    summary=SUMMARIES["td3"],
    config=TD3Config,
    policy=TD3Policy,
    updater=TD3Updater,
    actions=(Box,),
    columns={"loss": "weighted loss of the TD errors, of both critics"},
    kernel=by_table,
    learner="cpu",
    defaults=dict(env="Pendulum-v1", **LONG_RUN),
    environments={
        "Pendulum-v1": dict(
            DDPG.defaults,
            capacity=1 << 15,
            agent=dict(
                PENDULUM, n_step=3, learning_rate=4e-3, actor_learning_rate=2e-3, noise_steps=None
            ),
        ),
    },
)

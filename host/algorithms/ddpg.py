"""DDPG: continuous actions in [-1, 1], learned from prioritized batches."""

from dataclasses import dataclass
from functools import partial
from typing import Annotated

import numpy as np
from gymnasium.spaces import Box

from host.algorithms.algorithm import Algorithm
from host.algorithms.autodiff import Updater, torch
from host.algorithms.config import SCHEDULE
from host.algorithms.deterministic import DeterministicConfig, DeterministicPolicy, beside
from host.algorithms.policy import InferredPolicy
from host.algorithms.precision import FIXED_SUMS, PRECISIONS, PrecisionSchedule
from host.rules import Choice, Flag, Number
from hw.config import check_range
from hw.errors import UsageError

__all__ = ["DDPG", "DDPGConfig", "DDPGUpdater"]

_SHARE = Number("in (0, 1]", lambda x: 0 < x <= 1)


@dataclass(frozen=True, kw_only=True)
class DDPGConfig(DeterministicConfig):
    """Deep deterministic policy gradient (Lillicrap et al., 2016).

    ``y = r + discount Q'(s', mu'(s'))``, ``td = y - Q(s, a)``; the actor ascends
    ``mean Q(s, mu(s))``. ``Q'`` and ``mu'`` are the target networks; the discount is 0 where the
    episode terminated.
    """

    #: What networks compute with, on the CPU: float32; or FIXAR's fixed point: fixed32; qat, which
    #: goes from 32 bits to 16 at ``quantization_delay``; qat_errors_full, which leaves 32 to the
    #: errors that go back; or 16 bits from the first gradient steps on, by the ranges in the very
    #: first (fixed16_captured), of one format (fixed16_static), or the weights' too (fixed16_all).
    precision: Annotated[str, Choice(PRECISIONS)] = "float32"
    #: Precision qat and qat_errors_full: environment steps to the switch; None: half of the run's.
    quantization_delay: Annotated[int | None, SCHEDULE] = None
    #: Precisions that switch: share of the delay, its end, in which the ranges of layers are
    #: captured; 1: all steps before the switch, as in FIXAR's Algorithm 1.
    quantization_window: Annotated[float, _SHARE] = 1.0
    #: The actor climbs the critic as it was before its step, so that both can learn at once; false:
    #: as it is after it (FIXAR, III).
    lagged_critic: Annotated[bool, Flag()] = True

    @property
    def schedules(self):
        return super().schedules | {"quantization_delay": 0.5}

    def __post_init__(self):
        super().__post_init__()
        if self.precision == "float32":
            return
        why = f" with precision {self.precision}"
        if self.activation != "relu":
            raise UsageError(f"activation must be relu{why}, not {self.activation!r}")
        for width in self.hidden:
            check_range("hidden", width, 1, FIXED_SUMS, why)
        check_range("batch_size", self.batch_size, 1, FIXED_SUMS, why)


class DDPGUpdater(Updater):
    """The critic descends ``mean(weights * loss(td))``, the actor ``-mean Q(s, mu(s))``, through
    the critic as it was before its step, as on the card, or without ``lagged_critic`` after it.

    In a precision of fixed point the policy acts in it too, while it is trained.
    """

    def __init__(self, policy, **options):
        self.schedule = PrecisionSchedule(policy.config)
        super().__init__(policy, **options)
        self._mlps = {}
        if self.schedule.quantized:
            self._mlps = {name: each.mlp for name, each in self.networks.items()}

    def trained(self, network):
        if not self.schedule.quantized:
            return super().trained(network)
        from host.algorithms.fake_quantization import FakeQuantized  # which imports torch

        return FakeQuantized(network, self.config, self.device, self.schedule.weight)

    def inferred(self, policy):
        if not self.schedule.quantized:
            return policy
        infer = self.networks[policy.ACTS].infer
        if policy is not self.policy:
            infer = partial(infer, parameters=policy.networks[policy.ACTS].parameters)
        return InferredPolicy(policy, infer)

    def update(self, batch, clock):
        self.schedule.begin(self._mlps, clock)
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
        return errors.astype(np.float32), {"loss": loss.item()}

    def state_dict(self):
        return super().state_dict() | {"precision": self.schedule.state_dict(self._mlps)}

    def load_state_dict(self, state):
        super().load_state_dict(state)
        self.schedule.load_state_dict(state["precision"], self._mlps)


# FIXAR's tasks as the paper trains them (VI-B), uniform draws and rewards as they are. Of its noise
# it says nothing: here Gaussian, wide until there is something to learn from, for an actor near 0
# would show the memory little else. Its order is ``lagged_critic`` false, that of kernel ``fixar``.
_LOCOMOTION = dict(
    steps=1_000_000,
    env_count=1,
    capacity=1 << 20,
    alpha=0.0,
    learning_starts=10_000,
    evaluation_interval_steps=5000,
    evaluation_episodes=10,
    log_interval_steps=5000,
    checkpoint_interval_steps=50_000,
    agent=dict(
        hidden=(400, 300),
        gamma=0.99,
        n_step=1,
        reward_scale=1.0,
        batch_size=64,
        learning_rate=1e-4,
        actor_learning_rate=1e-4,
        loss="squared",
        target_tau=1e-3,
        noise_start=1.0,
        noise_end=0.1,
        noise_steps=20_000,
        first_weights="lillicrap",
    ),
)

DDPG = Algorithm(
    name="ddpg",
    summary="deep deterministic policy gradient with prioritized replay; continuous actions",
    config=DDPGConfig,
    policy=DeterministicPolicy,
    updater=DDPGUpdater,
    actions=(Box,),
    columns={"loss": "weighted loss of the TD errors"},
    kernel=lambda config: {},
    designs={
        # the paper's order and precision; the policy that acts is the quantized one
        "fixar": dict(act="card", agent=dict(lagged_critic=False, precision="qat")),
    },
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
        **dict.fromkeys(("HalfCheetah-v5", "Hopper-v5", "Swimmer-v5"), _LOCOMOTION),
    },
    # FIXAR's comparison (VI-B, Fig. 7), in its order of updates.
    presets={name: dict(precision=name, lagged_critic=False) for name in PRECISIONS},
    card_environments={
        "MountainCarContinuous-v0": dict(steps_per_launch=4, updates_per_launch=4),
    },
)

"""FIXAR's DDPG (Yang et al., DAC 2021): fixed point whose precision is switched while the agent
trains, the paper's tasks, and the agents that the paper compares. In float32, the default, the
algorithm is plain DDPG.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated

import numpy as np

from host.algorithms.config import SCHEDULE
from host.algorithms.ddpg import DDPG, DDPGConfig, DDPGUpdater
from host.algorithms.deterministic import LONG_RUN
from host.algorithms.policy import InferredPolicy
from host.fixar.precision_schedule import FIXED_SUMS, PrecisionSchedule
from host.rules import Choice, Integer, Number
from host.summaries import PRECISIONS
from hw.config import check_range
from hw.errors import UsageError
from hw.fixar.config import CODE_WIDTH, LEAST_CODE_BITS

__all__ = ["FIXAR_DDPG", "FixarDDPGConfig", "FixarDDPGUpdater", "updater"]

_SHARE = Number("in (0, 1]", lambda x: 0 < x <= 1)


@dataclass(frozen=True, kw_only=True)
class FixarDDPGConfig(DDPGConfig):
    """DDPG's hyperparameters, and the precision of its networks. FIXAR's order of updates (III),
    critic first, is ``lagged_critic`` false."""

    #: Numbers of the networks: float32, or FIXAR's fixed point. fixed32: 32 bits. qat: 32 bits, and
    #: 16 from ``quantization_delay`` on. qat_errors_full: as qat, but back-propagated errors keep
    #: 32 bits. The others have 16 bits from the first gradient steps on; fixed16_captured: by the
    #: ranges of the first step; fixed16_static: of one format; fixed16_all: in weights too.
    precision: Annotated[str, Choice(PRECISIONS)] = "float32"
    #: Precision qat and qat_errors_full: environment steps before the switch; None: half of the
    #: run.
    quantization_delay: Annotated[int | None, SCHEDULE] = None
    #: Precision qat and qat_errors_full: share of the delay, at its end, in which the ranges of
    #: layers are captured; 1: all steps before the switch, as in FIXAR's Algorithm 1.
    quantization_window: Annotated[float, _SHARE] = 1.0
    #: Bits of an activation's code where activations have 16 bits (n of FIXAR's Algorithm 1): the
    #: upper ones of the 16, the others are 0.
    activation_bits: Annotated[int, Integer(LEAST_CODE_BITS, CODE_WIDTH)] = CODE_WIDTH

    @property
    def schedules(self):
        return super().schedules | {"quantization_delay": 0.5}

    def __post_init__(self):
        super().__post_init__()
        if self.precision in ("float32", "fixed32") and self.activation_bits != CODE_WIDTH:
            raise UsageError(
                f"activation_bits must be {CODE_WIDTH} with precision {self.precision}, "
                f"not {self.activation_bits}"
            )
        if self.precision == "float32":
            return
        why = f" with precision {self.precision}"
        if self.activation != "relu":
            raise UsageError(f"activation must be relu{why}, not {self.activation!r}")
        for width in self.hidden:
            check_range("hidden", width, 1, FIXED_SUMS, why)
        check_range("batch_size", self.batch_size, 1, FIXED_SUMS, why)


def updater(policy, **options):
    """Makes the updater of ``policy``: a DDPGUpdater if its precision is float32, else a
    FixarDDPGUpdater. ``options`` are as for Updater."""
    kind = DDPGUpdater if policy.config.precision == "float32" else FixarDDPGUpdater
    return kind(policy, **options)


class FixarDDPGUpdater(DDPGUpdater):
    """The gradient steps of DDPG, with networks in the precision that the agent's schedule gives
    for each step. The policy acts in the same precision. It is not for precision float32."""

    def __init__(self, policy, **options):
        self.schedule = PrecisionSchedule(policy.config)
        super().__init__(policy, **options)
        self._mlps = {name: each.mlp for name, each in self.networks.items()}

    def trained(self, network):
        from host.fixar.fake_quantization import FakeQuantized  # which imports torch

        return FakeQuantized(network, self.config, self.device, self.schedule.weight)

    def inferred(self, policy):
        infer = self.networks[policy.ACTS].infer
        if policy is not self.policy:
            infer = partial(infer, parameters=policy.networks[policy.ACTS].parameters)
        return InferredPolicy(policy, infer)

    def update(self, batch, clock):
        self.schedule.begin(self._mlps, clock)
        errors, measured = super().update(batch, clock)
        return errors.astype(np.float32), measured

    def state_dict(self):
        return super().state_dict() | {"precision": self.schedule.state_dict(self._mlps)}

    def load_state_dict(self, state):
        super().load_state_dict(state)
        self.schedule.load_state_dict(state["precision"], self._mlps)


# The tasks as the paper trains them (VI-B), with uniform draws and rewards as they are. The paper
# says nothing of its noise. Here it is Gaussian, and wide at first: actions of the new actor are
# near 0, and with less noise the memory would hold almost no others.
_LOCOMOTION = LONG_RUN | dict(
    alpha=0.0,
    learning_starts=10_000,
    evaluation_episodes=10,
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

#: The algorithm ``ddpg`` of the registry: DDPG's runs, and those of FIXAR.
FIXAR_DDPG = replace(
    DDPG,
    config=FixarDDPGConfig,
    updater=updater,
    designs={
        # the paper's order and precision; the policy that acts is the quantized one
        "fixar": dict(act="card", agent=dict(lagged_critic=False, precision="qat")),
    },
    environments=DDPG.environments
    | dict.fromkeys(("HalfCheetah-v5", "Hopper-v5", "Swimmer-v5"), _LOCOMOTION),
    # The comparison (VI-B, Fig. 7), in the paper's order of updates.
    presets={name: dict(precision=name, lagged_critic=False) for name in PRECISIONS},
)

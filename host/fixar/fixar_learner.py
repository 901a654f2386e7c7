"""The learner on the card with kernel ``fixar``, whose precision is switched while it learns."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from host.algorithms.config import Clock
from host.algorithms.policy import InferredPolicy, Policy
from host.fixar.fixar_ddpg import FixarDDPGConfig
from host.fixar.fixar_replay import FixarReplay, SentFixarReplay
from host.fixar.precision_schedule import PrecisionSchedule
from host.learner.card_learner import CardLearner
from host.replay.nstep import Collected
from host.summaries import CAPTURED
from hw.fixar.precision import Precision, activation_slot, error_slot, slots

__all__ = ["FixarLearner", "NoisyPolicy", "PrecisionSwitch"]


class FixarLearner(CardLearner):
    """A CardLearner for the kernel ``fixar``, whose precision changes during training. Before each
    launch with gradient steps, the kernel is set to the precision that the agent's ``precision``
    and ``quantization_delay`` give for the environment steps so far.

    Parameters
    ----------
    As ``CardLearner``; ``buffer`` is a ``FixarReplay`` or a ``SentFixarReplay``, and the agent's
    schedules have lengths (``AgentConfig.in_run``).
    """

    BUFFER, SENT = FixarReplay, SentFixarReplay
    TRAINS = (
        {"max_gradient_norm": (None,)}
        | CardLearner.TRAINS
        | {"precision": ("fixed32", *CAPTURED), "lagged_critic": (False,)}
    )

    def __init__(
        self,
        policy: Policy,
        clock: Clock,
        buffer: FixarReplay | SentFixarReplay,
        **options: object,
    ) -> None:
        super().__init__(policy, clock, buffer, **options)
        self._switch = PrecisionSwitch(buffer, self.agent)

    def on_card(self, policy: Policy) -> InferredPolicy:
        if self.agent.noise == "gaussian":
            return NoisyPolicy(policy, self.infer)
        return super().on_card(policy)

    def plan(self, fill: int, learning: bool) -> tuple[object, ...] | None:
        planned = super().plan(fill, learning)
        return planned and (*planned, replace(self.clock))

    def launch(
        self, experience: Collected | None, plan: tuple[object, ...] | None
    ) -> dict[str, object] | None:
        if plan is not None:
            *plan, clock = plan
            self._switch(clock)
        return super().launch(experience, plan)

    def state_dict(self) -> dict[str, object]:
        return super().state_dict() | {"precision": self._switch.state_dict()}

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        super().load_state_dict(state)
        self._switch.load_state_dict(state["precision"])


class PrecisionSwitch:
    """Sets the kernel ``fixar`` to the precision that an agent's ``precision`` and
    ``quantization_delay`` give (FIXAR, Algorithm 1).

    Parameters
    ----------
    replay : FixarReplay or SentFixarReplay
        Has the kernel.
    agent : FixarDDPGConfig
        Its schedule has a length (``AgentConfig.in_run``).
    """

    def __init__(self, replay: FixarReplay | SentFixarReplay, agent: FixarDDPGConfig) -> None:
        self._replay, self._schedule = replay, PrecisionSchedule(agent)
        self._bits = agent.activation_bits
        self._networks = {name: _Network(replay, name) for name in replay.learner.networks}

    def __call__(self, clock: Clock) -> None:
        """Sets the kernel to the precision after ``clock``; it must be called before each launch
        that learns. When the capture of ranges begins, earlier ranges are cleared."""
        captured = self._captures
        self._schedule.begin(self._networks, clock)
        precision, clear = self._precision(), self._captures and not captured
        if clear or precision != self._replay.precision:
            self._replay.set_precision(precision, clear=clear)

    @property
    def _captures(self):
        return any(each.capture for each in self._networks.values())

    def _precision(self):
        if self._schedule.shifts is None:
            return Precision()
        config = self._replay.learner
        activations, errors = ([0] * count for count in slots(config))
        full = any(each.error_shifts is None for each in self._networks.values())
        for name, each in self._networks.items():
            for k, shift in enumerate(each.activation_shifts):
                activations[activation_slot(config, name, k)] = shift
            for k, shift in enumerate(each.error_shifts or ()):
                errors[error_slot(config, name, k)] = shift
        return Precision(
            activations=True,
            errors=not full,
            activation_bits=self._bits,
            activation_shifts=tuple(activations),
            error_shifts=tuple(errors),
        )

    def state_dict(self) -> dict[str, object]:
        """All on which the next precision depends, besides the kernel's own."""
        state: dict[str, object] = self._schedule.state_dict(self._networks)
        return state

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Continues a saved state."""
        self._schedule.load_state_dict(state, self._networks)


class NoisyPolicy(InferredPolicy):
    """As InferredPolicy, but explores by the card's own Gaussian noise (FIXAR III); the policy
    draws the seed. ``infer`` takes ``noise`` and ``seed`` too, as ``FixarReplay.act`` does."""

    def act(self, obs: ArrayLike, *, greedy: bool = False, steps: int = 0) -> NDArray[np.generic]:
        if greedy:
            return super().act(obs, greedy=True)
        policy = self.policy
        noise, seed = policy.config.noise_at(steps), int(policy.rng.integers(1 << 63))
        return self.infer(policy.flat(obs), noise=noise, seed=seed)


class _Network:
    """A network of the kernel, in the form that ``PrecisionSchedule`` needs.

    layers : int
    capture : whether ranges of the kernel count; they are cleared when the capture begins.
    activation_shifts, error_shifts : a number for each layer, or None.
    """

    def __init__(self, buffer, name):
        self._buffer, self._name = buffer, name
        self.layers = len(buffer.learner.networks[name])
        self.capture, self.activation_shifts, self.error_shifts = False, None, None
        # Actions are always in -1..1; they are inputs of the first layer, with the observations.
        one = 1 << buffer.learner.arithmetic.activation.fraction
        nothing = [(0, 0)] * self.layers
        self.ranges = {"activation": [(-one, one), *nothing[1:]], "error": nothing}

    @property
    def ranges(self):
        """``{"activation", "error"}`` -> a pair (low, high) of integers for each layer: the ranges
        that were set, as from a checkpoint, joined with the kernel's ranges if ``capture``."""
        if not self.capture:
            return self._before
        config, (activations, errors) = self._buffer.learner, self._buffer.ranges
        layers = range(self.layers)
        seen = {
            "activation": [activations[activation_slot(config, self._name, k)] for k in layers],
            "error": [errors[error_slot(config, self._name, k)] for k in layers],
        }
        # A range without numbers has its low above its high.
        return {
            kind: [
                (min(low, int(pair[0])), max(high, int(pair[1])))
                for (low, high), pair in zip(rows, seen[kind], strict=True)
            ]
            for kind, rows in self._before.items()
        }

    @ranges.setter
    def ranges(self, pairs):
        self._before = {kind: [tuple(pair) for pair in rows] for kind, rows in pairs.items()}

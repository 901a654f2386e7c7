"""Advantages and rewards-to-go of a rollout on a card: kernel ``gae``.

``A_t = delta_t + gamma * lambda * A_{t+1}``, ``delta_t = r_t + gamma * V_{t+1} - V_t`` (Schulman et
al. 2016; HEPPO, equations 2 to 5); ``V_{t+1}`` is 0 after a terminated step. If an episode was
truncated or is not finished, it is the value of the state that followed.
"""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from host.advantages.slots import check_fit, flags, floats, follows, numbers, pack, place, records
from host.advantages.standardization import (
    Codes,
    Running,
    Standardization,
    codes_of,
    exponent_of,
    words,
)
from host.cards.buffer import OnCard
from host.cards.kernel import Kernel
from host.programs.launcher import Launcher
from host.values import array_of, check_finite
from hw.errors import Failure, UsageError
from hw.gae.commands import Opcode
from hw.gae.records import MOMENTS

__all__ = ["AdvantageEstimator", "Estimates", "TrajectoryEstimates"]

_PEAK_MARGIN = 1.5  # over the largest result so far, for results that are codes


class Estimates(NamedTuple):
    """``advantages`` and ``returns``, the rewards-to-go: float32, with the shape of the rewards.

    ``statistics`` has ``reward_mean``, ``reward_deviation``, ``value_mean`` and ``value_deviation``
    of the numbers, None where the standardization needs none; and counts over the whole estimate:
    ``clipped`` codes, slots in which a result was ``saturated``, and ``overflows``, which is 0.
    """

    advantages: NDArray[np.float32]
    returns: NDArray[np.float32]
    statistics: dict[str, float | None]


class TrajectoryEstimates(NamedTuple):
    """``Estimates`` of trajectories: ``advantages`` and ``returns`` are lists with an array for
    each trajectory, [its steps]."""

    advantages: list[NDArray[np.float32]]
    returns: list[NDArray[np.float32]]
    statistics: dict[str, float | None]


class AdvantageEstimator(OnCard):
    """Estimates advantages on a card. Several estimators may use a kernel, as it keeps no state.

    Parameters
    ----------
    kernel : host.cards.Kernel
        A loaded kernel ``gae``.
    standardization : Standardization, optional
        How rewards and values become codes (None: both are raw), of bits that the kernel has.
    timeout_s : float
        Seconds after which a launch that has not ended raises CardTimeout.
    by_programs : bool
        Whether card ``model`` runs programs, as the other cards do; else it computes ``estimate``
        from the arrays, with the same results, in a small part of the time.

    Attributes
    ----------
    config : GaeKernelConfig
    launcher : Launcher
        Runs programs of one's own on the card.
    running : Running
        Sums of all rewards so far, which change only with rewards "dynamic".
    device_cycles : int or None
        Clocks of all launches so far; None on a card that does not count.
    """

    def __init__(
        self,
        kernel: Kernel,
        standardization: Standardization | None = None,
        *,
        timeout_s: float = 600.0,
        by_programs: bool = False,
    ) -> None:
        self.launcher, self.by_programs = Launcher(kernel, timeout_s=timeout_s), by_programs
        self.config = self.launcher.config
        self.standardization = standardization or Standardization()
        self.standardization.check(self.config.gae.code_width)
        self.running, self.peak = Running(), None

    @property
    def device_cycles(self) -> int | None:
        return self.launcher.cycles if self._rollouts is None else None

    @property
    def _rollouts(self):
        """The part of the kernel's twin that estimates without programs; None if programs run."""
        twin = None if self.by_programs else self.launcher.kernel.twin
        return twin and twin.core.rollouts

    def estimate(
        self,
        rewards: ArrayLike,
        values: ArrayLike,
        terminated: ArrayLike,
        truncated: ArrayLike,
        bootstraps: ArrayLike,
        *,
        gamma: float = 0.99,
        gae_lambda: float = 0.95,
    ) -> Estimates:
        """Advantages and rewards-to-go of vectorised environments; all arrays are [steps,
        environments]. Environments beyond the kernel's rows are estimated in further launches.

        rewards, values : float, the reward of each step; the value of the state before the step
        terminated, truncated : bool, whether the episode ended with this step, and how; if both
            are True, it terminated
        bootstraps : float, the value of the state after the step; used only if the step was
            truncated, and in the last step if this did not terminate the episode

        Returns ``Estimates``.

        ValueError for another shape or dtype, a number that is not finite, a rollout that does not
        fit the stack, and gamma or gae_lambda outside of [0, 1]. In these cases ``running`` stays
        as it was.
        """
        rewards = array_of("rewards", rewards)
        if rewards.ndim != 2 or not rewards.size:
            raise UsageError(
                f"rewards must be of shape [steps, environments], not {list(rewards.shape)}"
            )
        named = dict(rewards=rewards, values=values, bootstraps=bootstraps)
        ends = dict(terminated=terminated, truncated=truncated)
        rollout = _Rollout(
            *(floats(name, x, rewards.shape) for name, x in named.items()),
            *(flags(name, x, rewards.shape) for name, x in ends.items()),
        )
        _check_discounts(gamma, gae_lambda)
        rollouts, found = self._rollouts, None
        if rollouts is not None:
            found = self._in_process(rollouts, rollout, gamma, gae_lambda)
        if found is None:
            for (name, given), array in zip(named.items(), rollout[:3], strict=True):
                check_finite(name, array, array_of(name, given))
            found = self._divided(rollout, gamma, gae_lambda)
        return found

    def estimate_trajectories(
        self,
        trajectories: Sequence[tuple[ArrayLike, ArrayLike, float | None]],
        *,
        gamma: float = 0.99,
        gae_lambda: float = 0.95,
    ) -> TrajectoryEstimates:
        """Advantages and rewards-to-go of trajectories of unequal length, in one launch.

        trajectories : list of (rewards [n], values [n], bootstrap), as for ``estimate``; bootstrap
            is the value of the state after the last step, or None if it terminated the episode

        Returns ``TrajectoryEstimates``. ValueError as for ``estimate``, and without a step."""
        if not trajectories:
            raise UsageError("trajectories must be at least one, not none")
        rewards, values = (
            [array_of(name, t[k]) for t in trajectories]
            for k, name in enumerate(("rewards", "values"))
        )
        lengths = [len(each) for each in rewards]
        for each, length in zip(values, lengths, strict=True):
            numbers("values", each, (length,))
        rewards, values = (
            numbers(name, np.concatenate(parts))
            for name, parts in (("rewards", rewards), ("values", values))
        )
        ends = [bootstrap is None for *_, bootstrap in trajectories]
        bootstraps = numbers("bootstraps", [b for *_, b in trajectories if b is not None])
        if min(lengths) == 0:
            raise UsageError("trajectories must have at least one step each, not 0")
        placement = pack(lengths, ends, self.config.gae.rows)
        _check_discounts(gamma, gae_lambda)
        results, statistics = self._by_programs(
            [(placement, rewards, values, bootstraps)], gamma, gae_lambda
        )
        cuts = np.cumsum(lengths)[:-1]
        advantages, returns = (np.split(part[0], cuts) for part in results)
        return TrajectoryEstimates(advantages, returns, statistics)

    def state_dict(self) -> dict[str, object]:
        """What the results for the next rollout depend on, JSON values: standardization, sums."""
        running = self.running
        return {
            "standardization": self.standardization.to_json(),
            # Sums are longer than any number of a file.
            "running": [str(running.count), str(running.sum), str(running.squares)],
            "exponent": running.exponent,
            "peak": self.peak,
        }

    def load_state_dict(self, state: Mapping[str, object]) -> None:
        """Takes a saved state; ValueError if it is of another standardization."""
        own, saved = self.standardization, Standardization.from_json(state["standardization"])
        if saved != own:
            raise UsageError(
                f"standardization must be the checkpoint's ({saved.to_json()}), not {own.to_json()}"
            )
        self.running = Running(*(int(x) for x in state["running"]), state["exponent"])
        self.peak = state["peak"]

    def close(self) -> None:
        """Does nothing, because no state outlives a launch."""

    def _plan(self, largest, slots, statistics, gamma, gae_lambda):
        """The _Plan for numbers whose magnitudes are at most ``largest``, of rewards and of values,
        and for launches of at most ``slots`` slots. ``statistics(running, exponents)`` gives two
        _Moments, and is called if they are needed."""
        ways, config = self.standardization, self.config.gae
        running, dynamic = Running(), ways.rewards == "dynamic"
        exponents = [exponent_of(each) for each in largest]
        if dynamic:
            running = self.running.fitting(largest[0])
            exponents[0] = running.exponent
        # Words hold numbers as they are: to standardize and restore them is nothing.
        restored = config.code_width < 32
        wanted = (
            dynamic or ways.rewards == "block" or (ways.rewards == "restored" and restored),
            ways.values == "restored" and restored,
        )
        moments = [None, None]
        if any(wanted):
            found = statistics(running, exponents)
            running = Running(*found[0][:3], running.exponent)
            moments = [own.mean_deviation(e) for own, e in zip(found, exponents, strict=True)]
            moments = [own if want else None for own, want in zip(moments, wanted, strict=True)]
        kept = dynamic or ways.rewards == "block", False
        codes = [
            codes_of(config, ways, size, exponent, moments=own, kept=keep)
            for size, exponent, own, keep in zip(largest, exponents, moments, kept, strict=True)
        ]
        unit, *codes, fields = words(
            config, *codes, gamma=gamma, gae_lambda=gae_lambda, steps=slots, peak=self.peak
        )
        scale = 2.0 ** (config.result_shift - unit)
        offset = math.ldexp(fields.get("result_mean", 0), -unit)
        return _Plan(moments, running, *codes, fields, scale, offset)

    def _keep(self, plan, peak):
        """Keeps the state for the next rollout, after a rollout without a failure. ``peak`` is, or
        may be, its largest result."""
        if self.standardization.rewards == "dynamic":
            self.running = plan.running
        if self.config.gae.result_width < 32:
            self.peak = _PEAK_MARGIN * peak

    # -- rollouts on the twin

    def _in_process(self, rollouts, rollout, gamma, gae_lambda):
        """The Estimates; None if a number is not finite, and where only programs tell what is
        wrong, or in how many slots: a rollout that does not fit, and results that are clipped."""
        with self.launcher.kernel.flight:
            found = rollouts.survey(rollout)
            if not (found.finite and found.fits):
                return None

            def statistics(running, exponents):
                prior = running.count, running.sum, running.squares
                used = rollout.bootstraps[follows(rollout.terminated, rollout.truncated)]
                values = np.concatenate((rollout.values.ravel(), used))
                numbers, priors = (rollout.rewards, values), (prior, (0, 0, 0))
                moments = map(rollouts.mean_deviation, numbers, exponents, priors)
                return [_Moments(*sums, *own) for sums, *own in moments]

            largest = found.reward, found.value
            plan = self._plan(largest, found.slots, statistics, gamma, gae_lambda)
            limit = self.config.gae.limit_of(self.standardization.code_bits or 0)
            fields = plan.fields
            lines = [
                (*codes.fields(), limit, fields.get(scale, -1), fields.get(mean, 0))
                for codes, scale, mean in (
                    (plan.rewards, "reward_scale", "reward_mean"),
                    (plan.values, "value_scale", "value_mean"),
                )
            ]
            coefficients = fields["gamma"], fields["decay"], fields["decay_power"]
            mean, line = fields.get("result_mean", 0), (plan.scale, plan.offset)
            results = rollouts.estimate(rollout, *lines, coefficients, mean, line)
        if results is None:
            return None
        advantages, returns, largest, clipped = results
        self._keep(plan, largest * plan.scale)
        return Estimates(advantages, returns, _statistics(plan.moments, (clipped, 0, 0)))

    # -- rollouts to programs

    def _divided(self, rollout, gamma, gae_lambda):
        """The Estimates; a launch has as many environments as the kernel has rows."""
        rows, parts = self.config.gae.rows, []
        for begin in range(0, rollout.rewards.shape[1], rows):
            rewards, values, bootstraps, *ends = (x[:, begin : begin + rows] for x in rollout)
            placement = place(*ends)
            parts.append((placement, rewards, values, bootstraps[follows(*ends)]))
        results, statistics = self._by_programs(parts, gamma, gae_lambda)
        return Estimates(*(np.concatenate(part, axis=1) for part in results), statistics)

    def _by_programs(self, parts, gamma, gae_lambda):
        """``([advantages of each part], [returns]), statistics`` of [(placement, rewards, values,
        bootstraps)]: a launch each, and one for statistics where they are needed."""
        for placement, *_ in parts:
            check_fit(placement.kinds, self.config.gae.depth)
        raw = [
            records(self.config, placement, placement.cells(r, 0), placement.cells(v, b))
            for placement, r, v, b in parts
        ]
        largest = [
            max(float(np.abs(x).max(initial=0)) for part in parts for x in part[own])
            for own in (slice(1, 2), slice(2, 4))
        ]
        slots = max(map(len, raw))
        plan = self._plan(
            largest, slots, lambda *known: self._launched(raw, *known), gamma, gae_lambda
        )
        push = plan.rewards.push("reward") | plan.values.push("value")
        push |= {"code_bits": self.standardization.code_bits or 0}
        results, counts = [], np.zeros(3, np.int64)
        for (placement, *_), array in zip(parts, raw, strict=True):
            results.append(self._launch(placement, array, push, plan.fields))
            status = self.launcher.status
            counts += [int(status[name]) for name in ("clipped", "saturated", "overflows")]
        if counts[2]:
            raise Failure(f"words must hold every sum, not overflow in {counts[2]} slots")
        advantages, returns = (
            [(part[k] * plan.scale + shift).astype(np.float32) for part in results]
            for k, shift in enumerate((0.0, plan.offset))
        )

        seen = max(float(np.abs(part).max(initial=0)) for part in results) * plan.scale
        self._keep(plan, 2 * seen if counts[1] else seen)
        return (advantages, returns), _statistics(plan.moments, counts.tolist())

    def _launched(self, raw, running, exponents):
        """``_Moments`` of rewards and of values, by a launch of STATISTICS."""
        operands = np.concatenate(raw)
        command = {
            "count": len(operands),
            "prior_count": running.count,
            "prior_sum": running.sum,
            "prior_squares": [running.squares & (1 << 64) - 1, running.squares >> 64],
            "reward_exponent": exponents[0],
            "value_exponent": exponents[1],
        }
        program = [(Opcode.STATISTICS, command)]
        results = self.launcher.run(program, [(0, operands)], 2 * MOMENTS.size)
        return [
            _Moments(
                int(own["count"]),
                int(own["sum"]),
                int(own["squares"][0]) + (int(own["squares"][1]) << 64),
                float(own["mean"]),
                float(own["deviation"]),
            )
            for own in results.view(MOMENTS.dtype)
        ]

    def _launch(self, placement, raw, push, fields):
        """``(advantages, rewards-to-go)`` of a part, as the card counts them, at its steps."""
        slots, rows = placement.kinds.shape
        planes, beat = self.config.slot_beats["results"], self.config.engine.beat_bytes
        program = [
            (Opcode.CLEAR, {}),
            (Opcode.PUSH, {"count": slots, **push}),
            (Opcode.ESTIMATE, fields),
            (Opcode.PULL, {"count": slots}),
        ]
        results = self.launcher.run(program, [(0, raw)], slots * sum(planes) * beat)
        results = results.reshape(slots, -1)
        kind = np.dtype(f"<i{self.config.gae.result_width // 8}")
        begins = np.cumsum((0, *planes))[:-1] * beat
        return [
            results[:, begin : begin + rows * kind.itemsize].copy().view(kind)[placement.steps]
            for begin in begins
        ]


class _Rollout(NamedTuple):
    """The arguments of ``estimate`` as arrays [steps, environments] in C order."""

    rewards: NDArray[np.float32]
    values: NDArray[np.float32]
    bootstraps: NDArray[np.float32]
    terminated: NDArray[np.bool_]
    truncated: NDArray[np.bool_]


class _Plan(NamedTuple):
    """How a rollout is estimated: ``moments``, two pairs of mean and deviation, each or None; the
    Running sums with it; the Codes of its rewards and values; the fields of ESTIMATE. A result is
    ``scale`` times the card's, and a reward-to-go ``offset`` more."""

    moments: list
    running: Running
    rewards: Codes
    values: Codes
    fields: dict
    scale: float
    offset: float


class _Moments(NamedTuple):
    """What STATISTICS gives of rewards or of values."""

    count: int
    sum: int
    squares: int
    mean: float
    deviation: float

    def mean_deviation(self, exponent):
        """``(mean, deviation)``; the mean is exact if all numbers are equal."""
        if self.deviation:
            return self.mean, self.deviation
        return math.ldexp(self.sum // self.count, -exponent), self.deviation


def _check_discounts(gamma, gae_lambda):
    for name, value in (("gamma", gamma), ("gae_lambda", gae_lambda)):
        if not 0 <= value <= 1:
            raise UsageError(f"{name} must be in [0, 1], not {value!r}")


def _statistics(moments, counts):
    names = ("reward", "value")
    result = {}
    for name, own in zip(names, moments, strict=True):
        mean, deviation = own or (None, None)
        result |= {f"{name}_mean": mean, f"{name}_deviation": deviation}
    return result | dict(zip(("clipped", "saturated", "overflows"), counts, strict=True))

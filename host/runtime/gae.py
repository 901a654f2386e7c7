"""Advantages and rewards-to-go of a rollout on a card: kernel ``gae``.

``A_t = delta_t + gamma * lambda * A_{t+1}``, ``delta_t = r_t + gamma * V_{t+1} - V_t`` (Schulman et
al. 2016; HEPPO, equations 2 to 5); ``V_{t+1}`` is 0 after a terminated step. If an episode was
truncated or is not finished, it is the value of the state that followed.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from host.card.buffer import OnCard
from host.card.kernel import Kernel
from host.runtime.estimates import Estimates, TrajectoryEstimates
from host.runtime.program import Launcher
from host.runtime.slots import check_fit, flags, numbers, pack, place, records
from host.runtime.standardize import Running, Standardization, codes_of, exponent_of, words
from host.runtime.values import array_of
from hw.errors import Failure, UsageError
from hw.gae.commands import Opcode
from hw.gae.records import MOMENTS

__all__ = ["AdvantageEstimator", "Estimates"]

_PEAK_MARGIN = 1.5  # over the largest result so far, for results that are codes


class AdvantageEstimator(OnCard):
    """Estimates advantages on a card. Several estimators may use a kernel, as it keeps no state.

    Parameters
    ----------
    kernel : host.card.Kernel
        A loaded kernel ``gae``.
    standardization : Standardization, optional
        How rewards and values become codes (None: both are raw), of bits that the kernel has.
    timeout_s : float
        Seconds after which a launch that has not ended raises CardTimeout.

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
    ) -> None:
        self.launcher = Launcher(kernel, timeout_s=timeout_s)
        self.config = self.launcher.config
        self.standardization = standardization or Standardization()
        self.standardization.check(self.config.gae.code_width)
        self.running, self.peak = Running(), None

    @property
    def device_cycles(self) -> int | None:
        return self.launcher.cycles

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
        rewards, values, bootstraps = (
            numbers(name, x, rewards.shape)
            for name, x in (("rewards", rewards), ("values", values), ("bootstraps", bootstraps))
        )
        terminated, truncated = (
            flags(name, x, rewards.shape)
            for name, x in (("terminated", terminated), ("truncated", truncated))
        )
        rows, parts = self.config.gae.rows, []
        for begin in range(0, rewards.shape[1], rows):
            own = slice(begin, begin + rows)
            placement, follows = place(terminated[:, own], truncated[:, own])
            parts.append((placement, rewards[:, own], values[:, own], bootstraps[:, own][follows]))
        results, statistics = self._estimate(parts, gamma, gae_lambda)
        advantages, returns = (np.concatenate(part, axis=1) for part in results)
        return Estimates(advantages, returns, statistics)

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
        results, statistics = self._estimate(
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

    # -- rollouts to programs

    def _estimate(self, parts, gamma, gae_lambda):
        """``([advantages of each part], [returns]), statistics`` of [(placement, rewards, values,
        bootstraps)]: a launch each, and one for statistics where they are needed."""
        for name, value in (("gamma", gamma), ("gae_lambda", gae_lambda)):
            if not 0 <= value <= 1:
                raise UsageError(f"{name} must be in [0, 1], not {value!r}")
        for placement, *_ in parts:
            check_fit(placement.kinds, self.config.gae.depth)
        raw = [
            records(self.config, placement, placement.cells(r, 0), placement.cells(v, b))
            for placement, r, v, b in parts
        ]
        ways, config = self.standardization, self.config.gae
        largest = [
            max(float(np.abs(x).max(initial=0)) for part in parts for x in part[own])
            for own in (slice(1, 2), slice(2, 4))
        ]
        dynamic = ways.rewards == "dynamic"
        running = self.running.fitting(largest[0]) if dynamic else Running()
        exponents = [running.exponent if dynamic else exponent_of(largest[0])]
        exponents.append(exponent_of(largest[1]))
        moments, running = self._moments(raw, running, exponents)
        kept = (ways.rewards in ("dynamic", "block"), False)
        rewards, values = (
            codes_of(config, ways, size, exponent, moments=own, kept=keep)
            for size, exponent, own, keep in zip(largest, exponents, moments, kept, strict=True)
        )
        unit, rewards, values, fields = words(
            config,
            rewards,
            values,
            gamma=gamma,
            gae_lambda=gae_lambda,
            steps=max(map(len, raw)),
            peak=self.peak,
        )
        push = rewards.push("reward") | values.push("value") | {"code_bits": ways.code_bits or 0}
        results, counts = [], np.zeros(3, np.int64)
        for (placement, *_), array in zip(parts, raw, strict=True):
            results.append(self._launch(placement, array, push, fields))
            status = self.launcher.status
            counts += [int(status[name]) for name in ("clipped", "saturated", "overflows")]
        if counts[2]:
            raise Failure(f"words must hold every sum, not overflow in {counts[2]} slots")
        # Nothing failed: what the next rollout depends on may change.
        scale = 2.0 ** (config.result_shift - unit)
        offset = math.ldexp(fields.get("result_mean", 0), -unit)
        advantages, returns = (
            [(part[k] * scale + shift).astype(np.float32) for part in results]
            for k, shift in enumerate((0.0, offset))
        )
        if dynamic:
            self.running = running
        if config.result_width < 32:
            seen = max(float(np.abs(part).max(initial=0)) for part in results) * scale
            self.peak = _PEAK_MARGIN * (2 * seen if counts[1] else seen)
        return (advantages, returns), _statistics(moments, counts)

    def _moments(self, raw, running, exponents):
        """``[(mean, deviation) or None of rewards, of values]``, and the new running sums."""
        ways = self.standardization
        # Words hold numbers as they are: to standardize and restore them is nothing.
        restored = self.config.gae.code_width < 32
        wanted = (
            ways.rewards in ("dynamic", "block") or (ways.rewards == "restored" and restored),
            ways.values == "restored" and restored,
        )
        if not any(wanted):
            return (None, None), running
        operands = np.concatenate(raw)
        command = {
            "count": len(operands),
            "prior_count": running.count,
            "prior_sum": running.sum,
            "prior_squares": [running.squares & (1 << 64) - 1, running.squares >> 64],
            "reward_exponent": exponents[0],
            "value_exponent": exponents[1],
        }
        results = self.launcher.run(
            [(Opcode.STATISTICS, command)], [(0, operands)], 2 * MOMENTS.size
        )
        moments = results.view(MOMENTS.dtype)
        sums = moments[0]
        squares = int(sums["squares"][0]) + (int(sums["squares"][1]) << 64)
        total = int(sums["sum"])
        running = Running(int(sums["count"]), total, squares, running.exponent)
        return [
            _moments(record, exponent) if want else None
            for want, record, exponent in zip(wanted, moments, exponents, strict=True)
        ], running

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


def _moments(record, exponent):
    """``(mean, deviation)`` of a MOMENTS record; the mean is exact if all numbers are equal."""
    mean, deviation = float(record["mean"]), float(record["deviation"])
    if not deviation:
        mean = math.ldexp(int(record["sum"]) // int(record["count"]), -exponent)
    return mean, deviation


def _statistics(moments, counts):
    names = ("reward", "value")
    result = {}
    for name, own in zip(names, moments, strict=True):
        mean, deviation = own or (None, None)
        result |= {f"{name}_mean": mean, f"{name}_deviation": deviation}
    return result | dict(zip(("clipped", "saturated", "overflows"), counts.tolist(), strict=True))

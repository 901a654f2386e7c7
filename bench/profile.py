"""Shares of the time of training: HEPPO's Table I for PPO, CF'22's Figure 3 for DQN.

They are shares of the phases of ``host.phases``, without evaluations and records. Time that waits
for a simulated card is a simulator's, so the card's part is its own clocks at an assumed frequency.
With a replay memory the card works while the environments run, else after them.
"""

import io
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from rich.console import Console

from bench import row
from host.cards.kernel import Flight
from host.runs.loop import train
from host.runs.preset import preset
from host.runs.start_run import run
from host.settings import override

__all__ = ["NumpyEstimator", "rows", "shares"]

CLOCK = 250e6  # assumed, not measured: no card was at hand
_LEFT_OUT = ("evaluation", "records")
#: HEPPO, Table I, "CPU only", in percent; its GAE is memory fetch, computation and memory write.
_HEPPO = {
    "environments": 60.71,
    "policy": 10.46,
    "packing": 4.75,
    "card": 15.04,
    "learning": 9.05,
}
#: Few multipliers are simulated fast.
_LEARNER = {
    "learner.arithmetic.kind": "fixed",
    "learner.multipliers": 16,
    "learner.update_units": 1,
}


class NumpyEstimator:
    """Stands for ``host.advantages.estimator.AdvantageEstimator`` without a card: advantages as
    CleanRL computes them, by a vector operation over environments for each step."""

    device_cycles = None

    def __init__(self):
        self.flight = Flight()
        self.launcher = SimpleNamespace(kernel=SimpleNamespace(flight=self.flight))

    def estimate(self, rewards, values, terminated, truncated, bootstraps, *, gamma, gae_lambda):
        """Advantages and returns [steps, environments] of a rollout, in float32.

        Arguments and result are those of ``host.advantages.estimator.AdvantageEstimator.estimate``,
        but the statistics are empty.
        """
        with self.flight:
            ended = terminated | truncated
            ended[-1] = True
            following = np.where(ended, bootstraps, np.roll(values, -1, axis=0))
            deltas = rewards + gamma * np.where(terminated, 0, following) - values
            decays = np.where(ended, 0, np.float32(gamma * gae_lambda))
            advantages = np.zeros_like(values)
            last = np.zeros_like(values[0])
            for t in range(len(values) - 1, -1, -1):
                advantages[t] = last = deltas[t] + decays[t] * last
        return SimpleNamespace(
            advantages=advantages, returns=advantages + values, statistics=dict.fromkeys(())
        )

    def state_dict(self):
        return {}

    def load_state_dict(self, state):
        pass

    def close(self):
        pass


def rows(area=False):
    """The list of rows ``<phase>_share``, the percent of a run's time that each phase takes, for
    PPO and DQN. ``area`` adds nothing."""
    with tempfile.TemporaryDirectory() as folder:
        result = []
        for case, (summary, beside) in _summaries(Path(folder)).items():
            reference = _HEPPO if case == "PPO, advantages by NumPy" else {}
            for name, share in shares(summary, beside=beside).items():
                said = reference.get(name)
                result.append(
                    row("profile", case, f"{name}_share", round(share, 2), "%",
                        reference=said and "HEPPO, Table I, CPU only, Humanoid",
                        reference_value=said,
                        source="wall time of one run; the card's by clocks of the RTL at 250 MHz")
                )  # fmt: skip
        return result


def shares(summary, *, beside=False):
    """``{phase: percent}`` of the time of the run with this ``summary``; evaluations and records do
    not count.

    The phase "card" takes the card's clocks at CLOCK. ``beside`` is whether the card works while
    the host acts; then its percent is not part of the 100.
    """
    seconds = {name: value for name, value in summary["phases"].items() if name not in _LEFT_OUT}
    if summary["device_cycles"] is not None:
        seconds["card"] = summary["device_cycles"] / CLOCK
    total = sum(seconds.values()) - (seconds["card"] if beside else 0)
    return {name: 100 * value / total for name, value in seconds.items()}


def _summaries(out):
    """Case -> ``(summary, beside)`` of a short run."""
    silent = dict(console=Console(file=io.StringIO()))
    dqn = replace(preset("dqn", "card"), steps=8_000, evaluation_episodes=1)
    cpu = replace(preset("dqn", "cpu"), steps=8_000, evaluation_episodes=1)
    result = {
        "DQN, replay on the card, CPU learns": (
            run(cpu, card="sim", out=out / "cpu", **silent).summary,
            True,
        ),
        "DQN, all of it on the card": (
            run(override(dqn, {"hidden": "32,32"}), card="sim", out=out / "card",
                kernel=_LEARNER, **silent).summary,
            True,
        ),
    }  # fmt: skip
    try:
        import torch  # noqa: F401 -- PPO needs it, and a user may not have it
    except ImportError as error:
        print(f"ppo is left out: {error} (pip install 'rlfabric[torch]')", file=sys.stderr)
        return result
    ppo = replace(
        preset("ppo", "cpu", "heppo1", "Pendulum-v1"), steps=40_000, evaluation_episodes=1
    )
    return {
        "PPO, advantages by NumPy": (
            train(ppo, NumpyEstimator, out=out / "numpy", **silent).summary,
            False,
        ),
        "PPO, advantages by the card": (
            run(ppo, card="sim", out=out / "ppo", **silent).summary,
            False,
        ),
        **result,
    }

"""Whether profiles predict runs: both are measured in turn, plan by plan, round by round.

A run is that of ``rlfabric train``, from its first gradient step on, with rows and checkpoints but
without evaluations. Time is the processor's, of all threads, so that other programs of the machine
count little.
"""

import io
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from statistics import median

import numpy as np
from rich.console import Console

from bench import row
from host.algorithms.autodiff import check_device
from host.compose.iteration import iteration
from host.compose.plans import plan_of
from host.compose.profile import WARM, profiling
from host.compose.task import Task
from host.runs.preset import preset
from host.runs.start_run import run
from hw.errors import MissingTool, UsageError

__all__ = ["ON_CUDA", "PLANS", "measured", "rows"]

#: The plans of a task with a replay memory by PEARL's setting: RM, learner, uniform draws.
PLANS = {
    "1: tree on the CPU, CPU learns": ("cpu", "cpu", False),
    "2: ring on the CPU, CPU learns": ("cpu", "cpu", True),
    "3: tree on the card, CPU learns": ("card", "cpu", False),
    "4: tree on the card, card learns": ("card", "card", False),
    "5: tree on the CPU, card learns": ("cpu", "card", False),
    "6: ring on the CPU, card learns": ("cpu", "card", True),
}
#: Those that need a GPU; where torch sees none, they are left out.
ON_CUDA = {
    "7: tree on the card, a GPU learns": ("card", "cuda", False),
    "8: tree on the CPU, a GPU learns": ("cpu", "cuda", False),
}
ROUNDS, _PROFILED, _RUN = 5, 80, 200
_SOURCE = "card model, processor time, median of five rounds in turn"


def _plans():
    """PLANS, and those of ON_CUDA if they can run here."""
    try:
        check_device("cuda")
    except (UsageError, MissingTool) as error:
        print(f"plans with a GPU are left out: {error}", file=sys.stderr)
        return PLANS
    return PLANS | ON_CUDA


def measured(rounds=ROUNDS, profiled=_PROFILED, launches=_RUN):
    """``{plan: (predicted, run)}``: gradient steps a second of dqn on CartPole-v1, with ``rounds``
    rounds of ``profiled`` launches of a profile and ``launches`` launches of a run."""
    config = replace(preset("dqn", "card", env="CartPole-v1"), evaluation_episodes=1,
                     evaluation_interval_steps=1 << 40)  # fmt: skip
    plans = {name: plan_of(Task(config, uniform, {}), rm, learner).config
             for name, (rm, learner, uniform) in _plans().items()}  # fmt: skip
    runs = {name: [] for name in plans}
    with (
        tempfile.TemporaryDirectory() as folder,
        profiling({name: (each, {}) for name, each in plans.items()}) as profiler,
    ):
        for _ in range(rounds):
            profiler.round(profiled)
            for name, each in plans.items():
                runs[name].append(_run(each, launches, Path(folder) / "run"))
        profiles = profiler.profiles()
    return {
        name: (1e6 * each.updates / iteration(each.parts, run=each.run).whole, median(runs[name]))
        for name, each in profiles.items()
    }


def _run(config, launches, out):
    """Gradient steps a second of processor time of a run by ``rlfabric train``'s code: of
    ``launches`` launches, after the first gradient step and WARM further launches."""
    marks = []

    def ended(progress):
        if progress.updates:
            marks.append((time.process_time(), progress.updates))
        return len(marks) <= WARM + launches

    run(config, card="model", out=out, overwrite=True, callback=ended,
        console=Console(file=io.StringIO()))  # fmt: skip
    (begin, before), (end, after) = marks[WARM], marks[-1]
    return (after - before) / (end - begin)


def rows():
    """The list of rows gps_predicted and gps_run of each plan, error, and of all plans: how many
    are within a quarter, the run of the chosen plan over the best one, and Spearman's rank
    correlation."""
    found, result = measured(), []
    for name, (predicted, gps) in found.items():
        error = 100 * (predicted / gps - 1)
        result += [
            row("compose", name, "gps_predicted", round(predicted, 1), "1/s", source=_SOURCE,
                reference="the run", reference_value=round(gps, 1)),
            row("compose", name, "prediction_error", round(error, 1), "%", source=_SOURCE,
                reference="at most", reference_value=25),
        ]  # fmt: skip
    predicted, runs = np.array(list(found.values())).T
    within = int((abs(predicted / runs - 1) <= 0.25).sum())
    chosen = runs[predicted.argmax()] / runs.max()
    result += [
        row("compose", "all plans", "within_a_quarter", within, "plans", source=_SOURCE,
            reference=f"of {len(found)}, at least", reference_value=len(found) - 1),
        row("compose", "all plans", "chosen_over_best", round(float(chosen), 3), "", source=_SOURCE,
            reference="at least", reference_value=0.9),
        row("compose", "all plans", "rank_correlation", round(_spearman(predicted, runs), 3), "",
            source=_SOURCE, reference="at least", reference_value=0.8),
    ]  # fmt: skip
    return result


def _spearman(a, b):
    """The correlation of the ranks of two arrays without equal numbers."""
    ranks = [np.argsort(np.argsort(each)) for each in (a, b)]
    return float(np.corrcoef(*ranks)[0, 1])

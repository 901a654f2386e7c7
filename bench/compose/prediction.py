"""Whether profiles predict runs: both are measured in turn, plan by plan, round by round.

A profile is of launches that run one after the other, of which each part is timed. A run is that of
``rlfabric train``: launches run in a thread beside the collections. Time is the processor's, of all
threads, so that other programs of the machine count little.
"""

import sys
from contextlib import ExitStack
from statistics import median

import numpy as np

from bench import row
from host.algorithms.autodiff import check_device
from host.compose.iteration import iteration
from host.compose.plans import plan_of
from host.compose.profile import WARM, summed
from host.compose.task import Task
from host.compose.trial import trial
from host.train.preset import preset
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


def measured(rounds=ROUNDS, profiled=_PROFILED, run=_RUN):
    """``{plan: (predicted, run)}``: gradient steps a second of dqn on CartPole-v1, with ``rounds``
    rounds of ``profiled`` launches of a profile and ``run`` launches of a run."""
    config, found = preset("dqn", "card", env="CartPole-v1"), {}
    with ExitStack() as stack:
        pairs = {}
        for name, (rm, learner, uniform) in _plans().items():
            plan = plan_of(Task(config, uniform, {}), rm, learner)
            pair = [stack.enter_context(trial(plan.config, inline=each)) for each in (True, False)]
            for each in pair:
                each.warm(WARM)
            pairs[name] = pair
        taken = {name: ([], []) for name in pairs}
        for _ in range(rounds):
            for name, (apart, whole) in pairs.items():
                taken[name][0].append(apart.run(profiled))
                taken[name][1].append(whole.elapsed(run))
    for name, (parts, runs) in taken.items():
        profile = summed(parts)
        predicted = 1e6 * profile.updates / iteration(profile.parts).whole
        found[name] = predicted, median(1e6 * updates / us for us, updates in runs)
    return found


def rows():
    """The list of rows gps_predicted and gps_run of each plan, error, and of all plans: how many
    are within a quarter, the run of the chosen plan over the best one, and Spearman's rank
    correlation."""
    found, result = measured(), []
    for name, (predicted, run) in found.items():
        error = 100 * (predicted / run - 1)
        result += [
            row("compose", name, "gps_predicted", round(predicted, 1), "1/s", source=_SOURCE,
                reference="the run", reference_value=round(run, 1)),
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

"""Clocks of TD3's gradient steps on the simulated card: with the actor's sweep, and without.

Every second step trains the actor (``policy_delay`` 2), so a run takes the mean of two steps.
"""

from functools import cache

import numpy as np

from bench import row
from bench.learner.cases import name_of
from bench.learner.cycles import CAPACITY, buffer_of
from host.cards import open_card
from host.explore.learner_clocks import adam_steps, random_experiences
from hw.arith.arithmetic import Arithmetic
from hw.learner.config import LearnerConfig
from hw.learner.step_clocks import step_clocks

__all__ = ["CHEETAH", "MOST", "SWEEPS", "by_formula", "measure", "rows"]

#: Sizes of HalfCheetah-v5.
CHEETAH = LearnerConfig(
    algorithm="td3", observation=17, action=6, hidden=(64, 64), multipliers=32, batch=256,
    lanes=2, arithmetic=Arithmetic(kind="fixed"),
)  # fmt: skip
#: The mean of two steps, at most.
MOST = 28_000
#: Bits of the sweeps of a step -> what the step trains.
SWEEPS = {3: "the actor too", 1: "critics alone"}
#: Of a launch; the first has no other iteration that hides its draw.
_ITERATIONS = 5


@cache
def measure(learner, batch):
    """``{sweeps: (clocks of a gradient step, of an iteration of LEARN)}`` of the kernel with
    ``learner`` on the simulated card, for each of SWEEPS: means over a launch but its first
    iteration."""
    rng = np.random.default_rng(0)
    with open_card("sim") as card:
        buffer = buffer_of(card, learner, rng)
        buffer.add(**random_experiences(learner, rng, CAPACITY))
        steps = adam_steps(_ITERATIONS, batch, learner.step_record)
        steps["sweeps"] = np.resize([*SWEEPS], _ITERATIONS)
        clocks = buffer.learn(steps, batch_size=batch).reports["cycles"]
    return {
        sweeps: tuple(clocks[1:][steps["sweeps"][1:] == sweeps].mean(axis=0)[2:].tolist())
        for sweeps in SWEEPS
    }


def by_formula(learner, batch):
    """``{sweeps: clocks of a gradient step}``, for each of SWEEPS."""
    return {
        sweeps: step_clocks(learner, batch, [k for k in range(2) if sweeps >> k & 1]).step
        for sweeps in SWEEPS
    }


def rows():
    """The list of rows of CHEETAH: gradient_step_cycles of each kind of step with the
    formula's, and their mean with MOST; the mean of iteration_cycles."""
    batch = CHEETAH.batch
    found, formula = measure(CHEETAH, batch), by_formula(CHEETAH, batch)
    case, step = name_of(CHEETAH, batch), "gradient_step_cycles"
    source = f"RTL on the simulated card, default memory, a launch of {_ITERATIONS} but the first"
    both, iterations = (sum(part) / len(found) for part in zip(*found.values(), strict=True))
    result = [
        row("learner", f"{case}, {SWEEPS[sweeps]}", step, clocks, "cycles",
            reference="by formula", reference_value=formula[sweeps], source=source)
        for sweeps, (clocks, _) in found.items()
    ]  # fmt: skip
    mean = f"{source}; the mean of both kinds of step"
    return [
        *result,
        row("learner", case, step, both, "cycles", reference="at most", reference_value=MOST,
            source=mean),
        row("learner", case, "iteration_cycles", iterations, "cycles", source=mean),
    ]  # fmt: skip

"""Clocks of gradient steps and iterations on the simulated card, beside CF'22's formula."""

from dataclasses import dataclass, fields
from functools import cache
from hashlib import sha256

import numpy as np

from bench import row
from bench.learner.cases import cases, name_of
from bench.learner.cf22 import (
    REFERENCES,
    cf22_cycles,
    mac_utilization,
    multipliers_of,
    nominal_pes,
)
from host.cards import open_card
from host.explore.launch_clocks import LIMIT_S, launch_clocks
from host.explore.learner_clocks import adam_steps, random_experiences, with_random_weights
from host.kernels import generate
from host.programs.launcher import aligned
from hw.learner.commands import LearnOpcode
from hw.learner.records import action_granules, observation_granules
from hw.replay.records import GRANULE_BYTES
from system.tools import BUILD_DIRECTORY

__all__ = ["acting_cycles", "buffer_of", "kernel", "measure", "rows", "rows_of"]

CAPACITY = 4096

#: Numbers of observations for an ACT.
OBSERVATIONS = (1, 16, 64)


@dataclass(frozen=True)
class CycleMeasurement:
    """Clocks of an iteration: means over all iterations of a launch but the first.

    ``step``: from the first experience to the last weight of a gradient step. ``iteration``: of a
    whole iteration of LEARN. ``sent``: of a whole iteration of TRAIN, whose batch the host sends.
    """

    step: float
    iteration: float
    sent: float


def kernel(learner, capacity=CAPACITY):
    """Generates the kernel of the learner's algorithm for the U200, and returns its folder.

    ``learner`` is its ``LearnerConfig``; its replay memory has ``capacity`` experiences.
    """
    values = {field.name: getattr(learner, field.name) for field in fields(learner)}
    del values["arithmetic"]
    name = sha256(learner.to_json().encode()).hexdigest()[:12]
    return generate(
        learner.algorithm,
        "u200",
        BUILD_DIRECTORY / "bench" / name,
        **values,
        kind=learner.arithmetic.kind,
        capacity=capacity,
    )


def buffer_of(card, learner, rng, capacity=CAPACITY):
    """A ``LearningReplay`` of the kernel with ``learner`` on ``card``: its memory is empty, and its
    weights are random numbers from ``rng``."""
    path = kernel(learner, capacity) / "kernel.json"
    return with_random_weights(card.load(path), rng, capacity=capacity, timeout_s=LIMIT_S)


def acting_cycles(buffer, counts, rng):
    """``{observations: (launch, command)}`` for each of ``counts``, numbers of observations.

    ``launch`` is the clocks of a launch with one ACT, from its start to its end, and ``command``
    the clocks that a second ACT adds to it. ``buffer`` is a ``LearningReplay``; the observations
    are random numbers from ``rng``.
    """
    learner, result = buffer.learner, {}

    def clocks(program, seen, size):
        return launch_clocks(buffer, lambda: buffer.launcher.run(program, [(0, seen)], size))

    for count in counts:
        words = 4 * observation_granules(learner)
        seen = np.zeros((count, words), np.float32)
        seen[:, : learner.observation] = rng.normal(size=(count, learner.observation))
        size = aligned(count * action_granules(learner) * GRANULE_BYTES)
        acts = [(LearnOpcode.ACT, {"count": count, "destination": k * size}) for k in range(2)]
        launch, both = clocks(acts[:1], seen, size), clocks(acts, seen, 2 * size)
        result[count] = launch, both - launch
    return result


@cache
def measure_acting(learner, counts=OBSERVATIONS):
    """``{observations: (launch, command)}`` of ``acting_cycles`` for each of ``counts``, on the
    simulated card."""
    rng = np.random.default_rng(0)
    with open_card("sim") as card:
        return acting_cycles(buffer_of(card, learner, rng), counts, rng)


@cache
def measure(learner, batches, iterations):
    """``{batch size: CycleMeasurement}`` of the kernel with ``learner``, for each of ``batches``,
    on the simulated card. A launch has ``iterations`` iterations. The first does not count, since
    no other iteration hides its draw."""
    rng, result = np.random.default_rng(0), {}
    with open_card("sim") as card:
        buffer = buffer_of(card, learner, rng)
        buffer.add(**random_experiences(learner, rng, CAPACITY))
        for batch in batches:
            steps = adam_steps(iterations, batch, learner.step_record)
            drawn = buffer.learn(steps, batch_size=batch).reports["cycles"][1:].mean(axis=0)
            sent = buffer.sample(batch)
            sent = {name: np.repeat(sent[name], iterations, 0) for name in buffer.dtype.names}
            sent = buffer.train(steps, sent, batch_size=batch).reports["cycles"][1:].mean(axis=0)
            result[batch] = CycleMeasurement(float(drawn[2]), float(drawn[3]), float(sent[3]))
    return result


def rows():
    """The list of all rows of ``rows_of``, of each of the ``cases``."""
    return [each for case in cases() for each in rows_of(case)]


def rows_of(case):
    """The list of rows of a Case: multipliers, gradient_step_cycles, iteration_cycles (of LEARN),
    train_cycles (of TRAIN) and mac_utilization; if it ``acts``, act_latency_cycles and act_cycles.
    """
    result, learner, iterations = [], case.learner, case.iterations
    for batch, measured in measure(learner, case.batches, iterations).items():
        result += _step_rows(case, batch, measured)
    return result + (_acting_rows(learner) if case.acts else [])


def _step_rows(case, batch, measured):
    learner, step = case.learner, round(measured.step, 1)
    have, paper = multipliers_of(learner), nominal_pes(learner)
    (these, its), bar, share = REFERENCES, case.bars.get(batch), case.shares.get(batch)
    clocks = "gradient_step_cycles"
    whole = [", ".join(str(learner.lanes * each) for each in layers) for layers in have.values()]
    values = [
        ("multipliers", " and ".join(whole), "a layer, all lanes", None, None),
        (clocks, step, "cycles", these, round(cf22_cycles(learner, batch, have))),
        (clocks, step, "cycles", its.format(learner.lanes, learner.multipliers),
         round(cf22_cycles(learner, batch, paper))),
        *([(clocks, step, "cycles", "at most", bar)] if bar else []),
        ("mac_utilization", round(mac_utilization(learner, batch, measured.step), 3), "", None,
         None),
        ("iteration_cycles", round(measured.iteration, 1), "cycles",
         share and f"at most {share} x gradient_step_cycles",
         share and round(share * measured.step)),
        ("train_cycles", round(measured.sent, 1), "cycles",
         "at most gradient_step_cycles + 20", round(measured.step + 20)),
    ]  # fmt: skip
    source = f"RTL on the simulated card, default memory, a launch of {case.iterations} but the "
    return [
        row("learner", case.name(batch), metric, value, unit, reference=reference,
            reference_value=beside,
            source="the kernel's config" if metric == "multipliers" else f"{source}first")
        for metric, value, unit, reference, beside in values
    ]  # fmt: skip


def _acting_rows(learner):
    result, source = [], "RTL on the simulated card, default memory"
    for count, (launch, command) in measure_acting(learner).items():
        if count == 1:
            latency = "a launch, from its start to its end"
            result.append(
                row("learner", name_of(learner, 1), "act_latency_cycles", launch, "cycles",
                    source=f"{source}: {latency}")
            )  # fmt: skip
        result.append(
            row("learner", name_of(learner, count), "act_cycles", command, "cycles",
                source=f"{source}: one command more in a launch")
        )  # fmt: skip
    return result

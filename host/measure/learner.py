"""Clocks of an iteration of LEARN, of the kernels that learn on their own batches."""

import numpy as np

from host.measure.inputs import adam_steps, random_experiences, random_weights
from host.measure.launches import LIMIT_S
from host.runtime.fixar import FixarReplay
from host.runtime.learner import LearningReplay

__all__ = [
    "ITERATIONS",
    "fixar_clocks",
    "learn_clocks",
    "report_clocks",
    "second_iteration",
    "with_random_weights",
]

#: Iterations of a launch, and those that count: nothing hides the batch of the first, and the last
#: draws none.
ITERATIONS, _COUNTED = 6, slice(2, -1)
#: Experiences that are stored, if a batch needs no more and the memory has so many places.
_EXPERIENCES = 1024
#: Place of a whole iteration's clocks in ``cycles`` of REPORT.
_ITERATION = 3


def with_random_weights(kernel, rng, buffer=LearningReplay, **options):
    """A ``buffer``, the class LearningReplay or FixarReplay, of ``kernel``: its memory is empty,
    and its weights are random numbers from ``rng``. ``options`` are those of the class."""
    made = buffer(kernel, **options)
    made.initialize(random_weights(made.learner, rng))
    return made


def report_clocks(reports, *places):
    """The list of clocks at ``places`` of ``cycles`` in the REPORTs of a launch of ITERATIONS
    iterations: medians over those iterations that are in the steady state."""
    return [int(np.median(reports["cycles"][_COUNTED, place])) for place in places]


def second_iteration(buffer, batch):
    """Clocks of the second of two iterations of LEARN with ``batch`` samples on ``buffer``, a
    FixarReplay, in its present precision. All further iterations take as many."""
    reports = buffer.learn(adam_steps(2, batch), batch_size=batch).reports
    return int(reports["cycles"][1, _ITERATION])


def learn_clocks(kernel, config, batch):
    """Clocks of an iteration of LEARN with ``batch`` samples, in the steady state."""
    buffer = _filled(kernel, config, batch, LearningReplay)
    reports = buffer.learn(adam_steps(ITERATIONS, batch), batch_size=batch).reports
    return report_clocks(reports, _ITERATION)[0]


def fixar_clocks(kernel, config, batch):
    """As ``learn_clocks``, for the kernel ``fixar`` in full precision."""
    return second_iteration(_filled(kernel, config, batch, FixarReplay), batch)


def _filled(kernel, config, batch, kind):
    """A buffer that has random experiences and random weights."""
    capacity, rng = min(config.replay.capacity, max(_EXPERIENCES, batch)), np.random.default_rng(0)
    buffer = with_random_weights(kernel, rng, kind, capacity=capacity, timeout_s=LIMIT_S)
    buffer.add(**random_experiences(config.learner, rng, capacity))
    return buffer

"""Clocks of an iteration of LEARN, of the kernels that learn on their own batches."""

import numpy as np

from host.explore.launch_clocks import LIMIT_S
from host.fixar.fixar_replay import FixarReplay
from host.learner.hyperparameters import hyperparameter_records
from host.learner.learning_replay import LearningReplay
from hw.learner.records import HYPERPARAMETERS

__all__ = [
    "ITERATIONS",
    "adam_steps",
    "fixar_clocks",
    "learn_clocks",
    "random_experiences",
    "random_weights",
    "report_clocks",
    "second_iteration",
    "with_random_weights",
]


def random_weights(learner, rng):
    """``{network: [(weight [outputs, inputs], bias [outputs])]}``, as ``LearningReplay.initialize``
    takes it: weights are random numbers from ``rng``, biases 0."""
    return {
        name: [
            (rng.normal(size=(x.outputs, x.inputs)) / np.sqrt(x.inputs), np.zeros(x.outputs))
            for x in layers
        ]
        for name, layers in learner.networks.items()
    }


def random_experiences(learner, rng, count):
    """``{field: array [count, ...]}`` of random experiences, as ``LearningReplay.add`` takes them.

    Actions are integers if the learner's are discrete, else numbers between -1 and 1.
    """
    size = (count, learner.observation)
    obs, next_obs = rng.normal(size=size), rng.normal(size=size)
    if learner.discrete:
        action = rng.integers(learner.action, size=count)
    else:
        action = np.tanh(rng.normal(size=(count, learner.action)))
    return dict(
        obs=obs,
        next_obs=next_obs,
        action=action,
        reward=rng.normal(size=count),
        discount=np.full(count, 0.99),
    )


def adam_steps(count, batch, record=HYPERPARAMETERS):
    """An array of ``count`` records, the ``step_record`` of a learner, one for each gradient step
    of ``batch`` samples: Adam with a learning rate of 1e-3, in all sweeps."""
    return hyperparameter_records(
        count,
        record,
        scale=1 / batch,
        rate=1e-3,
        floor=1e-8,
        first_decay=0.9,
        first_gain=0.1,
        second_decay=0.999,
        second_gain=0.001,
    )


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
    steps = adam_steps(ITERATIONS, batch, config.learner.step_record)
    reports = buffer.learn(steps, batch_size=batch).reports
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

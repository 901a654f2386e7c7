"""Inputs of a learner whose clocks are measured: random numbers, and Adam's steps."""

import numpy as np

from host.runtime.hyperparameters import hyperparameter_records

__all__ = ["adam_steps", "random_experiences", "random_weights"]


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


def adam_steps(count, batch):
    """An array of ``count`` HYPERPARAMETERS records, one for each gradient step of ``batch``
    samples: Adam with a learning rate of 1e-3."""
    return hyperparameter_records(
        count,
        scale=1 / batch,
        rate=1e-3,
        floor=1e-8,
        first_decay=0.9,
        first_gain=0.1,
        second_decay=0.999,
        second_gain=0.001,
    )

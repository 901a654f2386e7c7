"""Learner kernels on card ``model``, and what their tests train on."""

import tempfile
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np

from host.cards import open_card
from host.learner.hyperparameters import hyperparameter_records
from host.learner.learning_replay import LearningReplay
from hw.arith.arithmetic import Arithmetic
from hw.arith.fixed import SQ
from hw.designs import DESIGNS
from hw.learner.config import LearnerConfig, LearnerKernelConfig
from hw.learner.records import HYPERPARAMETERS
from hw.replay.config import ReplayConfig
from hw.shell.axi import EngineConfig

__all__ = [
    "DDPG",
    "DQN",
    "FIXED",
    "adam",
    "equal",
    "experiences",
    "filled",
    "kernel_config",
    "learner",
    "opened",
    "weights",
]

FIXED = Arithmetic(kind="fixed", weight=SQ(4, 20), activation=SQ(7, 10), gradient=SQ(3, 14))


def kernel_config(algorithm, *, capacity=50, **learner):
    sizes = dict(observation=3, action=2, hidden=(8, 6), batch=16, lanes=2, multipliers=4)
    return LearnerKernelConfig(
        replay=ReplayConfig(capacity=capacity, ultra_ram=False),
        engine=EngineConfig(data_width=128, depth=128, burst_beats=32),
        learner=LearnerConfig(algorithm=algorithm, **{**sizes, **learner}),
    )


def learner(config, **changes):
    """``config`` with fields of its learner replaced."""
    return replace(config, learner=replace(config.learner, **changes))


def learner_values(config, spec=None):
    """Fields of the learner in the kernel of a run with ``config``."""
    values = config.kernel_values(spec)
    return {
        name.removeprefix("learner."): value
        for name, value in values.items()
        if name.startswith("learner.")
    }


DQN, DDPG = kernel_config("dqn"), kernel_config("ddpg")


@contextmanager
def opened(config, name=None):
    """``with opened(DQN) as kernel``: a loaded ``host.cards.Kernel``."""
    description = DESIGNS[name or config.learner.algorithm].describe(config)
    with tempfile.TemporaryDirectory() as directory, open_card("model") as card:
        path = Path(directory) / "kernel.json"
        path.write_text(description.to_json())
        yield card.load(path)


def experiences(config, count, seed=0):
    """Random experiences that a learner of ``config`` takes."""
    rng, result = np.random.default_rng(seed), {}
    for name, (dtype, shape) in config.fields.items():
        if np.dtype(dtype).kind == "u":
            result[name] = rng.integers(0, config.learner.action, count)
        else:
            result[name] = rng.standard_normal((count, *shape)).astype(np.float32)
    if config.learner.bounded:
        result["action"] = np.tanh(result["action"])
    result["discount"] = np.float32(0.9) * (rng.random(count) < 0.8).astype(np.float32)
    return result


def weights(config, seed=0):
    """``{network: [(weights, biases), ...]}`` of a fresh agent."""
    rng = np.random.default_rng(seed)
    return {
        name: [
            tuple(
                (rng.uniform(-1, 1, shape) / np.sqrt(layer.inputs)).astype(np.float32)
                for shape in ((layer.outputs, layer.inputs), (layer.outputs,))
            )
            for layer in layers
        ]
        for name, layers in config.learner.networks.items()
    }


def adam(count, rate, *, first=1, batch=16, record=HYPERPARAMETERS, **values):
    """Adam's steps ``first`` .. ``first + count - 1`` (Kingma, Ba 2015, end of section 2)."""
    t = np.arange(first, first + count)
    root = np.sqrt(1 - 0.999**t)
    values = {"clip": 1.0, "beta": 0.4, "blend": 0.01, **values}
    return hyperparameter_records(
        count,
        record,
        scale=1 / batch,
        first_decay=0.9,
        second_decay=0.999,
        rate=np.stack([rate * root / (1 - 0.9**t)] * 2, axis=1),
        floor=np.stack([1e-8 * root] * 2, axis=1),
        **values,
    )


def filled(kernel, config, count=30, **options):
    """A buffer of ``count`` experiences and a fresh agent."""
    buffer = LearningReplay(kernel, **{"capacity": 40, "seed": 5, **options})
    buffer.initialize(weights(config))
    if count:
        buffer.add(**experiences(config, count))
    return buffer


def equal(a, b):
    """Two nests of dicts, sequences and arrays hold the same."""
    if isinstance(a, dict):
        assert a.keys() == b.keys()
        for name in a:
            equal(a[name], b[name])
    elif isinstance(a, (list, tuple)):
        assert len(a) == len(b)
        for one, other in zip(a, b, strict=True):
            equal(one, other)
    else:
        np.testing.assert_array_equal(a, b)

"""Runs of a learner's kernel for tests: the same on any card, everything observable returned."""

import numpy as np
from replay.kernels import opened

from host.learner.learning_replay import LearningReplay, hyperparameter_records
from hw.arith.arithmetic import Arithmetic
from hw.learner.config import PARAMETER_SETS, LearnerConfig, LearnerKernelConfig
from hw.learner.records import HYPERPARAMETERS, REPORT, STEP
from hw.replay.config import ReplayConfig
from hw.shell.axi import EngineConfig
from sim.model.learner.network.trainer import Trainer

__all__ = ["SMALL", "experiences", "fill", "kernel_config", "parameters", "random_learner", "run"]
__all__ += ["steps", "without_cycles"]

#: A learner that is quick to build and to simulate.
SMALL = dict(
    observation=3,
    action=2,
    hidden=(8,),
    multipliers=4,
    batch=16,
    arithmetic=Arithmetic(kind="fixed"),
)


def kernel_config(data_width=512, capacity=300, **learner):
    """A small replay memory around ``LearnerConfig(**learner)``."""
    return LearnerKernelConfig(
        replay=ReplayConfig(capacity=capacity),
        engine=EngineConfig(data_width=data_width, depth=128, burst_beats=32),
        learner=LearnerConfig(**learner),
    )


def experiences(learner, rng, count):
    """Random experiences."""
    size = (count, learner.observation)
    if learner.discrete:
        action = rng.integers(learner.action, size=count)
    else:
        action = np.tanh(rng.normal(size=(count, learner.action)))
    return {
        "obs": rng.normal(size=size),
        "next_obs": rng.normal(size=size),
        "action": action,
        "reward": rng.normal(size=count),
        "discount": rng.choice([0, 0.9, 0.97], size=count),
    }


def parameters(learner, rng):
    """Random weights and biases of all networks."""
    return {
        name: [
            (
                rng.normal(size=(layer.outputs, layer.inputs)) / np.sqrt(layer.inputs),
                0.1 * rng.normal(size=layer.outputs),
            )
            for layer in layers
        ]
        for name, layers in learner.networks.items()
    }


def fill(learner, values, kind):
    """Sets the parameters ``kind``, "online" or "target", of a twin to ``values``, as those of
    ``parameters``; in fixed point rounded and clipped to their format."""
    weight = learner.config.arithmetic.weight
    for name, layers in values.items():
        for own, pair in zip(learner.parameters[name], layers, strict=True):
            for array, numbers in zip(own[kind], pair, strict=True):
                if learner.config.arithmetic.saturates:
                    numbers = np.round(numbers / weight.resolution).clip(weight.low, weight.high)
                array[...] = numbers


def random_learner(config, seed):
    """``(learner, rng)``: a twin of a LearnerConfig with random parameters, and the generator that
    gave them."""
    learner, rng = Trainer(config), np.random.default_rng(seed)
    for kind in ("online", "target"):
        fill(learner, parameters(config, rng), kind)
    return learner, rng


def steps(count, batch, learner=None, **values):
    """Steps with all coefficients in play: soft target, momentum, Huber loss. If those of
    ``learner``, a LearnerConfig, say which sweeps run, every second one leaves some out, there is
    noise that is clipped, and each network's errors are shifted in another way."""
    record = HYPERPARAMETERS if learner is None else learner.step_record
    if record is STEP:
        seeds = np.arange(count, dtype=np.uint64) + np.uint64(0xFEDC_BA98_7654_3210)
        wanted = np.resize([3, 1, 0xFFFF_FFFF, 0xFFFF_FFFD], count)
        shift = np.arange(count)[:, None] + np.array([1, -1, 2, 0, -2, 3, 1])
        values = dict(seed=seeds, sweeps=wanted, noise=0.3, noise_clip=0.4) | values
        values = dict(shift=(shift + 8) % 17 - 8) | values
    options = dict(
        scale=1 / batch,
        rate=(0.01, 0.002),
        beta=0.5,
        clip=1.0,
        first_decay=0.9,
        first_gain=0.1,
        second_decay=0.99,
        second_gain=0.01,
        floor=1e-5,
        blend=(0.05, 0.125),
    )
    return hyperparameter_records(count, record, **(options | values))


def without_cycles(reports):
    """REPORTs, their clocks at 0; what is in no field is 0, which a copy by NumPy leaves open."""
    found = np.zeros(reports.shape, REPORT.dtype)
    for name in REPORT.dtype.names:
        if name != "cycles":
            found[name] = reports[name]
    return found


def run(card, config, *, batch, iterations=3, seed=0, options=None, **values):
    """``iterations`` on ``card`` from a random start; what the host can see of it."""
    learner, rng = config.learner, np.random.default_rng(seed)
    with opened(card, config, **(options or {})) as kernel:
        buffer = LearningReplay(kernel, capacity=config.replay.capacity, seed=seed)
        buffer.initialize(parameters(learner, rng))
        # Targets of their own, so that it counts which weights a pass takes.
        targets = parameters(learner, rng)
        buffer.load({name: [{"target": pair} for pair in targets[name]] for name in targets})
        buffer.add(**experiences(learner, rng, config.replay.capacity // 2))
        learned = buffer.learn(
            steps(iterations, batch, learner, **values),
            batch_size=batch,
            experiences=experiences(learner, rng, 2 * iterations + 1),
            store=PARAMETER_SETS,
        )
        return {
            "reports": without_cycles(learned.reports),
            "cycles": learned.reports["cycles"],
            "parameters": learned.parameters,
            "priorities": buffer.priorities(),
            "random": buffer.status["state"].copy(),
            "batch": buffer.sample(batch),
        }

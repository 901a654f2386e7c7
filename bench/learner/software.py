"""The time of software for the same gradient steps: torch, a jitted JAX step, the twin; one thread.

All are measured in one run, in turn; the kernel's time is ``gradient_step_cycles`` at an assumed
clock.
"""

import os
import time
from contextlib import contextmanager

import numpy as np

from bench import left_out, medians, row
from bench.learner.cases import CARTPOLE, name_of
from bench.learner.cf22 import REFERENCES
from host.learner.hyperparameters import hyperparameter_records
from host.runs.blas_threads import single_threaded
from hw.learner.config import LearnerConfig
from sim.model.learner.network.trainer import Trainer

__all__ = ["CLOCK", "one_core", "rows", "torch_step", "twin_step"]

CLOCK = 250e6  # assumed, not measured: no card was at hand
_SIZES = (4, 64, 64, 2)
_SOURCE = "processor time in this run, one core, median of 15, taken in turn"


def _batch(batch):
    rng = np.random.default_rng(0)
    return {
        "obs": rng.normal(size=(batch, 4)).astype(np.float32),
        "next_obs": rng.normal(size=(batch, 4)).astype(np.float32),
        "action": rng.integers(2, size=batch),
        "reward": rng.normal(size=batch).astype(np.float32),
        "discount": np.full(batch, 0.99, np.float32),
    }


def torch_step(batch):
    """A function without arguments that makes one DQN step on ``batch`` samples in eager torch.

    The step has the Huber loss and Adam; it never copies the weights to the target network.
    """
    import torch
    from torch import nn

    torch.set_num_threads(1)
    torch.manual_seed(0)

    def net():
        layers = []
        for i, o in zip(_SIZES, _SIZES[1:], strict=False):
            layers += [nn.Linear(i, o), nn.ReLU()]
        return nn.Sequential(*layers[:-1])

    online, target = net(), net()
    optimizer = torch.optim.Adam(online.parameters(), lr=1e-3)
    data = {name: torch.from_numpy(np.asarray(x)) for name, x in _batch(batch).items()}

    def step():
        q = online(data["obs"]).gather(1, data["action"][:, None])[:, 0]
        with torch.no_grad():
            y = data["reward"] + data["discount"] * target(data["next_obs"]).max(1).values
        optimizer.zero_grad()
        nn.functional.huber_loss(q, y).backward()
        optimizer.step()

    return step


def jax_step(batch):
    """A function without arguments that makes the step of ``torch_step`` in JAX, as one jitted
    function."""
    import jax
    import jax.numpy as jnp

    rng = np.random.default_rng(0)
    data = {name: jnp.asarray(x) for name, x in _batch(batch).items()}
    weights = [
        (jnp.asarray(rng.normal(size=(i, o)) / np.sqrt(i), jnp.float32), jnp.zeros(o))
        for i, o in zip(_SIZES, _SIZES[1:], strict=False)
    ]

    def forward(weights, x):
        for k, (w, b) in enumerate(weights):
            x = x @ w + b
            x = x if k == len(weights) - 1 else jax.nn.relu(x)
        return x

    def loss(weights, target):
        q = jnp.take_along_axis(forward(weights, data["obs"]), data["action"][:, None], 1)[:, 0]
        y = data["reward"] + data["discount"] * forward(target, data["next_obs"]).max(1)
        td = jnp.clip(jnp.abs(q - y), 0, 1)
        return (td * (jnp.abs(q - y) - 0.5 * td)).mean()

    @jax.jit
    def update(state):
        weights, first, second, t, target = state
        g = jax.grad(loss)(weights, target)
        t = t + 1
        first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, g)
        second = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, second, g)
        rate = 1e-3 * jnp.sqrt(1 - 0.999**t) / (1 - 0.9**t)
        weights = jax.tree.map(
            lambda w, m, v: w - rate * m / (jnp.sqrt(v) + 1e-8), weights, first, second
        )
        return weights, first, second, t, target

    zeros = jax.tree.map(jnp.zeros_like, weights)
    state = [(weights, zeros, zeros, jnp.float32(0), weights)]

    def step():
        state[0] = jax.block_until_ready(update(state[0]))

    return step


def twin_step(batch):
    """A function without arguments that makes the step of ``torch_step`` by the kernel's bit-exact
    twin."""
    learner = Trainer(LearnerConfig(batch=batch, double=False))
    rng = np.random.default_rng(0)
    for layer in learner.parameters["q"]:
        for kind in ("online", "target"):
            layer[kind][0][...] = rng.normal(size=layer[kind][0].shape) / 8
    step = hyperparameter_records(
        1, scale=1 / batch, rate=1e-3, floor=1e-8, clip=1.0, first_decay=0.9,
                        first_gain=0.1, second_decay=0.999, second_gain=0.001)[0]  # fmt: skip
    records, index, weight = _batch(batch), np.arange(batch), np.ones(batch, np.float32)
    return lambda: learner.train(records, index, weight, step)


def rows(cycles):
    """The list of rows of a gradient step of the network 4-64-64-2, in microseconds.

    modelled_step_us is the kernel's, from the clocks in ``cycles``, the rows of
    ``bench.learner.cycles``, at CLOCK. software_step_us is that of a program, and
    software_over_card is the program's time over the kernel's (2 lanes, binary32).
    """
    result, ours = [], {}
    for measured in cycles:
        if (
            measured["metric"] == "gradient_step_cycles"
            and "DP=2" in measured["case"]
            and measured["reference"] == REFERENCES[0]
        ):
            ours[measured["case"]] = round(measured["value"] / CLOCK * 1e6, 2)
            result.append(
                row("learner", measured["case"], "modelled_step_us", ours[measured["case"]], "us",
                    source=f"gradient_step_cycles at {CLOCK / 1e6:.0f} MHz (assumed)")
            )  # fmt: skip
    learner = LearnerConfig(**CARTPOLE, lanes=2)
    with one_core(), single_threaded():
        for batch in (32, 64, 512):
            result += _software(batch, ours[name_of(learner, batch)])
    return result


@contextmanager
def one_core():
    """This process has one core: JAX has as many threads as it finds cores when it is imported,
    and they spin."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _software(batch, ours):
    """Two rows for each program: microseconds of a step, and these over ``ours``."""
    functions = {"twin (card model), float32": twin_step(batch)}
    for name, make in (("torch, eager", torch_step), ("JAX, jitted", jax_step)):
        try:
            functions[name] = make(batch)
        except ImportError as error:
            left_out(name, error, "peers")
    # Processor time of all threads, since other work of the machine is not ours.
    for name, seconds in medians(functions, clock=time.process_time).items():
        case = f"4-64-64-2, B={batch}, {name}"
        yield row("learner", case, "software_step_us", round(seconds * 1e6, 1), "us",
                  source=_SOURCE)  # fmt: skip
        yield row("learner", case, "software_over_card", round(seconds * 1e6 / ours, 1), "x",
                  source="software_step_us over modelled_step_us")  # fmt: skip

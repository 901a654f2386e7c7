"""Clocks of gradient steps and iterations on the simulated card, beside CF'22's formula."""

from dataclasses import dataclass, fields
from functools import cache
from hashlib import sha256

import numpy as np

from bench import row
from host.card import open_card
from host.generate import generate
from host.runtime.learner import LearningReplay, hyperparameter_records
from hw.arith.arithmetic import Arithmetic
from hw.learner.config import LearnerConfig
from sim.tools import BUILD_DIRECTORY

__all__ = ["CARTPOLE", "cf22_cycles", "kernel", "mac_utilization", "rows"]

CAPACITY = 4096
BATCHES = (32, 64, 128, 256, 512)

#: CF'22's network for CartPole, at most 32 PEs a tensor unit.
CARTPOLE = dict(observation=4, action=2, hidden=(64, 64), multipliers=32, batch=512, double=False)
#: The actor of FIXAR, as the network of a DQN.
CHEETAH = dict(
    observation=17, action=6, hidden=(400, 300), multipliers=100, update_units=5, batch=512,
    double=False,
)  # fmt: skip


def cf22_cycles(learner, batch):
    """CF'22 3.2.3: ``(PI + n - 1) * T_max + sum_j DP * size(W_j) / PEs``, with our PI, DP and PEs.

    n = 3 stages a weight matrix; T_max the slowest matrix, by its multiply-accumulates and PEs; the
    weight update has as many units as there are memories of weights, one a PE (its r_WU).
    """
    (layers,) = learner.networks.values()
    stages = 3 * len(layers)
    slowest = max(layer.weights / layer.multipliers for layer in layers)
    pes = sum(layer.multipliers for layer in layers)
    pipeline = (batch // learner.lanes + stages - 1) * slowest
    return pipeline + learner.lanes * sum(layer.weights for layer in layers) / pes


def mac_utilization(learner, batch, cycles):
    """Multiply-accumulates that a gradient step needs over those that its multipliers could do.

    Forward online and target (and online of the next state), backward but for the first layer,
    weight gradients; every tensor unit's multipliers count in every clock of the step.
    """
    (layers,) = learner.networks.values()
    forwards = 2 + learner.double
    needed = busy = 0
    for position, layer in enumerate(layers):
        passes = forwards + (position > 0) + 1
        needed += passes * layer.weights * batch
        busy += passes * layer.multipliers * learner.lanes
    return needed / (busy * cycles)


@dataclass(frozen=True)
class Measured:
    """Clocks: ``step`` from the first experience to the last weight, ``iteration`` of all."""

    step: int
    iteration: int


def kernel(learner):
    """Folder of the U200's kernel with ``learner`` and a replay memory of CAPACITY."""
    values = {field.name: getattr(learner, field.name) for field in fields(learner)}
    del values["arithmetic"]
    name = sha256(learner.to_json().encode()).hexdigest()[:12]
    return generate(
        learner.algorithm,
        "u200",
        BUILD_DIRECTORY / "bench" / name,
        **values,
        kind=learner.arithmetic.kind,
        capacity=CAPACITY,
    )


@cache
def measure(learner, batches):
    """``Measured`` by batch size, of the second of two iterations on the simulated card."""
    rng, result = np.random.default_rng(0), {}
    with open_card("sim") as card:
        buffer = LearningReplay(card.load(kernel(learner) / "kernel.json"), capacity=CAPACITY)
        buffer.initialize(
            {
                name: [
                    (
                        rng.normal(size=(layer.outputs, layer.inputs)) / np.sqrt(layer.inputs),
                        np.zeros(layer.outputs),
                    )
                    for layer in layers
                ]
                for name, layers in learner.networks.items()
            }
        )
        size = (CAPACITY, learner.observation)
        buffer.add(
            obs=rng.normal(size=size),
            next_obs=rng.normal(size=size),
            action=rng.integers(learner.action, size=CAPACITY),
            reward=rng.normal(size=CAPACITY),
            discount=np.full(CAPACITY, 0.99),
        )
        for batch in batches:
            steps = hyperparameter_records(
                2,
                scale=1 / batch,
                rate=1e-3,
                floor=1e-8,
                first_decay=0.9,
                first_gain=0.1,
                second_decay=0.999,
                second_gain=0.001,
            )
            cycles = buffer.learn(steps, batch_size=batch).reports["cycles"][1]
            result[batch] = Measured(int(cycles[2]), int(cycles[3]))
    return result


def rows():
    """gradient_step_cycles, iteration_cycles and mac_utilization."""
    result = []
    for kind in ("float32", "fixed"):
        arithmetic = Arithmetic(kind=kind)
        for lanes in (2, 1):
            learner = LearnerConfig(**CARTPOLE, lanes=lanes, arithmetic=arithmetic)
            result += _rows("4-64-64-2, 32 PEs", learner, BATCHES)
    # In fixed point alone: a hundred binary32 PEs take longer to compile than all of the above.
    learner = LearnerConfig(**CHEETAH, arithmetic=Arithmetic(kind="fixed"))
    return result + _rows("17-400-300-6, 100 PEs", learner, (64, 512))


def _rows(net, learner, batches):
    result, source = [], "RTL on the simulated card, default memory"
    for batch, measured in measure(learner, batches).items():
        case = f"{net}, DP={learner.lanes}, {learner.arithmetic.kind}, B={batch}"
        bar = {64: 0.80, 512: 0.90}.get(batch)
        result += [
            row("learner", case, "gradient_step_cycles", measured.step, "cycles",
                reference="CF'22's formula, same PI, DP and PEs",
                reference_value=round(cf22_cycles(learner, batch)), source=source),
            row("learner", case, "mac_utilization",
                round(mac_utilization(learner, batch, measured.step), 3), "",
                reference="at least" if bar else None, reference_value=bar,
                source="from gradient_step_cycles"),
            row("learner", case, "iteration_cycles", measured.iteration, "cycles",
                reference="1.15 x gradient_step_cycles" if batch == 64 else None,
                reference_value=round(1.15 * measured.step) if batch == 64 else None,
                source=source),
        ]  # fmt: skip
    return result

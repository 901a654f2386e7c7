"""Clocks of gradient steps and iterations on the simulated card, beside CF'22's formula."""

from dataclasses import dataclass, fields, replace
from functools import cache
from hashlib import sha256
from math import ceil

import numpy as np

from bench import row
from host.card import open_card
from host.generate import generate
from host.measure.inputs import adam_steps, random_experiences
from host.measure.launches import launch_clocks
from host.measure.learner import with_random_weights
from host.runtime.program import aligned
from hw.arith.arithmetic import Arithmetic
from hw.learner.commands import LearnOpcode
from hw.learner.config import LearnerConfig
from hw.learner.records import action_granules, observation_granules
from hw.replay.records import GRANULE_BYTES
from sim.tools import BUILD_DIRECTORY

__all__ = [
    "CARTPOLE",
    "REFERENCES",
    "acting_cycles",
    "buffer_of",
    "cf22_cycles",
    "kernel",
    "mac_utilization",
    "multipliers_of",
    "nominal",
    "nominal_pes",
    "rows",
]

CAPACITY = 4096
BATCHES = (32, 64, 128, 256, 512)

#: Numbers of observations for an ACT.
OBSERVATIONS = (1, 16, 64)

#: Iterations of a launch; the first is left out, since no other iteration hides its draw.
ITERATIONS = 16

#: CF'22's formula with the multipliers that a kernel has, and with the lanes and PEs that CF'22
#: gives the network.
REFERENCES = (
    "CF'22's formula, these multipliers",
    "CF'22's formula, DP={} and {} PEs in the largest layer",
)

#: A network for CartPole, at most 32 PEs a tensor unit.
CARTPOLE = dict(observation=4, action=2, hidden=(64, 64), multipliers=32, batch=512, double=False)
#: CF'22's: one hidden layer.
ONE_LAYER = CARTPOLE | dict(hidden=(64,))
#: The actor of FIXAR, as the network of a DQN.
CHEETAH = dict(
    observation=17, action=6, hidden=(400, 300), multipliers=100, update_units=5, batch=512,
    double=False,
)  # fmt: skip


def multipliers_of(learner):
    """The list of multipliers that one lane of the kernel has in each layer of its network.

    They may be fewer than the config's ``multipliers``, because a layer that computes an output in
    every clock cannot use more.
    """
    (layers,) = learner.networks.values()
    return [layer.multipliers for layer in layers]


def nominal_pes(learner):
    """The list of PEs that CF'22 would give one lane in each layer: the config's ``multipliers`` in
    the largest layer, and in the others as many as take the same time."""
    (layers,) = learner.networks.values()
    pace = max(layer.weights for layer in layers) / learner.multipliers
    return [ceil(layer.weights / pace) for layer in layers]


def nominal(learner):
    """``learner`` with as many lanes as CF'22 would give it: two if it has one hidden layer, as
    CF'22's own network; else it is returned as it is."""
    return replace(learner, lanes=2) if len(learner.hidden) == 1 else learner


def cf22_cycles(learner, batch, pes):
    """Clocks of a gradient step by CF'22 3.2.3:
    ``(PI + n - 1) * T_max + sum_j DP * size(W_j) / PEs``.

    DP is the learner's lanes, and PI the samples of each, ``batch / DP``. There are n = 3 stages
    for each weight matrix W_j. T_max is the time of the slowest matrix: its multiply-accumulates
    over its PEs. In the weight update each PE has a unit of its own (CF'22's r_WU), so PEs is the
    sum over all layers. ``pes`` has the PEs of one lane in each layer, from ``multipliers_of`` or
    ``nominal_pes``.
    """
    (layers,) = learner.networks.values()
    stages = 3 * len(layers)
    slowest = max(layer.weights / own for layer, own in zip(layers, pes, strict=True))
    pipeline = (batch // learner.lanes + stages - 1) * slowest
    return pipeline + learner.lanes * sum(layer.weights for layer in layers) / sum(pes)


def mac_utilization(learner, batch, cycles):
    """The share, 0 to 1, of the multiply-accumulates that a gradient step needs in those that its
    multipliers could do in ``cycles`` clocks.

    The step needs the forward passes of online and target network (with ``double`` also of the
    online network at the next state), the backward pass except of the first layer, and the weight
    gradients. The multipliers of every tensor unit count in every clock of the step.
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
    return with_random_weights(card.load(path), rng, capacity=capacity)


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
def measure(learner, batches, iterations=ITERATIONS):
    """``{batch size: Measured}`` of the kernel with ``learner``, for each of ``batches``, on the
    simulated card. A launch has ``iterations`` iterations, of which the first does not count."""
    rng, result = np.random.default_rng(0), {}
    with open_card("sim") as card:
        buffer = buffer_of(card, learner, rng)
        buffer.add(**random_experiences(learner, rng, CAPACITY))
        for batch in batches:
            steps = adam_steps(iterations, batch)
            drawn = buffer.learn(steps, batch_size=batch).reports["cycles"][1:].mean(axis=0)
            sent = buffer.sample(batch)
            sent = {name: np.repeat(sent[name], iterations, 0) for name in buffer.dtype.names}
            sent = buffer.train(steps, sent, batch_size=batch).reports["cycles"][1:].mean(axis=0)
            result[batch] = Measured(float(drawn[2]), float(drawn[3]), float(sent[3]))
    return result


def rows():
    """The list of rows multipliers, gradient_step_cycles, iteration_cycles (of LEARN), train_cycles
    (of TRAIN) and mac_utilization; and for ACT act_latency_cycles and act_cycles."""
    result = []
    # CF'22's own network first: with as many multipliers as CF'22 has in its two lanes of 32, with
    # half of them, and with its lanes.
    for kind, lanes, batches in (
        ("fixed", 16, (64, 512)),
        ("fixed", 8, (64, 512)),
        ("fixed", 2, BATCHES),
        ("float32", 2, BATCHES),
    ):
        learner = LearnerConfig(**ONE_LAYER, lanes=lanes, arithmetic=Arithmetic(kind=kind))
        result += _rows("4-64-2, 32 PEs", learner, batches)
    for kind in ("fixed", "float32"):
        for lanes in (2, 1):
            learner = LearnerConfig(**CARTPOLE, lanes=lanes, arithmetic=Arithmetic(kind=kind))
            result += _rows("4-64-64-2, 32 PEs", learner, BATCHES)
            if lanes == 2:
                result += _acting_rows("4-64-64-2, 32 PEs", learner)
    # In fixed point alone: a hundred binary32 PEs take longer to compile than all kernels above.
    learner = LearnerConfig(**CHEETAH, arithmetic=Arithmetic(kind="fixed"))
    return result + _rows("17-400-300-6, 100 PEs", learner, (64, 512), iterations=3)


def _acting_rows(net, learner):
    result, source = [], "RTL on the simulated card, default memory"
    case = f"{net}, DP={learner.lanes}, {learner.arithmetic.kind}"
    for count, (launch, command) in measure_acting(learner).items():
        if count == 1:
            latency = "a launch, from its start to its end"
            result.append(
                row("learner", f"{case}, B=1", "act_latency_cycles", launch, "cycles",
                    source=f"{source}: {latency}")
            )  # fmt: skip
        result.append(
            row("learner", f"{case}, B={count}", "act_cycles", command, "cycles",
                source=f"{source}: one command more in a launch")
        )  # fmt: skip
    return result


def _rows(net, learner, batches, iterations=ITERATIONS):
    result = []
    source = f"RTL on the simulated card, default memory, a launch of {iterations} but the first"
    for batch, measured in measure(learner, batches, iterations).items():
        case = f"{net}, DP={learner.lanes}, {learner.arithmetic.kind}, B={batch}"
        use = round(mac_utilization(learner, batch, measured.step), 3)
        one_layer = len(learner.hidden) == 1
        bar = {64: 0.80, 512: 0.90}.get(batch) if not one_layer else None
        share = 1.05 if one_layer else 1.03
        # The draw of so large a batch is no longer hidden behind so short a step.
        if batch < 64 or (one_layer and (batch < 512 or learner.lanes > 2)):
            share = None
        (these, paper), beside = REFERENCES, nominal(learner)
        own, step = multipliers_of(learner), round(measured.step, 1)
        whole = ", ".join(str(learner.lanes * each) for each in own)
        result.append(
            row("learner", case, "multipliers", whole, "a layer, all lanes",
                source="the kernel's config")
        )  # fmt: skip
        values = [
            ("gradient_step_cycles", step, "cycles", these,
             round(cf22_cycles(learner, batch, own))),
            ("gradient_step_cycles", step, "cycles",
             paper.format(beside.lanes, learner.multipliers),
             round(cf22_cycles(beside, batch, nominal_pes(beside)))),
            ("mac_utilization", use, "", bar and "at least", bar),
            ("iteration_cycles", round(measured.iteration, 1), "cycles",
             share and f"at most {share} x gradient_step_cycles",
             share and round(share * measured.step)),
            ("train_cycles", round(measured.sent, 1), "cycles",
             "at most gradient_step_cycles + 20", round(measured.step + 20)),
        ]  # fmt: skip
        result += [
            row("learner", case, name, value, unit, reference=reference,
                reference_value=reference_value, source=source)
            for name, value, unit, reference, reference_value in values
        ]  # fmt: skip
    return result

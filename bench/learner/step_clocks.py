"""Clocks by the formulas of ``hw.learner`` beside those of the simulated card.

The kernels are small and of every kind. No number of a formula was made from the clocks of a
gradient step.
"""

from functools import cache

import numpy as np

from bench import row
from bench.learner.cases import net_of
from bench.learner.cycles import acting_cycles, buffer_of
from host.cards import open_card
from host.explore.learner_clocks import ITERATIONS, adam_steps, random_experiences, report_clocks
from hw.arith.arithmetic import Arithmetic
from hw.learner.algorithms.registry import algorithm_of
from hw.learner.config import LearnerConfig
from hw.learner.iteration_clocks import act_clocks, learn_clocks, train_clocks
from hw.learner.step_clocks import step_clocks

__all__ = ["LEARNERS", "case_of", "measure", "rows"]

_CAPACITY, _BATCH = 512, 64
#: What ACT is given.
_OBSERVATIONS = (1, 5)


def _learner(observation, hidden, action, kind, lanes, **options):
    return LearnerConfig(
        observation=observation, hidden=hidden, action=action, lanes=lanes, batch=_BATCH,
        arithmetic=Arithmetic(kind=kind), **options,
    )  # fmt: skip


_DDPG, _PLAIN = dict(algorithm="ddpg"), dict(double=False)
_SGD, _RMSPROP = dict(optimizer="sgd"), dict(optimizer="rmsprop", update_units=2)
_TANH = dict(hidden_activation="tanh")
#: Both algorithms and arithmetics, all optimizers, one to eight lanes, one to four hidden layers;
#: words that do not divide their layers, and words that are sought.
LEARNERS = (
    _learner(6, (24,), 3, "fixed", 1, words=(4, 5, 2), **_SGD),
    _learner(9, (24, 20), 5, "fixed", 2, words=(2, 7, 3, 4), **_PLAIN),
    _learner(4, (24,), 2, "fixed", 8, words=(1, 3, 1), **_PLAIN),
    _learner(5, (17, 11, 13), 2, "fixed", 2, words=(1, 5, 3, 7, 2), **_RMSPROP),
    _learner(7, (12, 10, 9, 8), 1, "fixed", 1, multipliers=5, **_SGD, **_PLAIN),
    _learner(3, (16,), 4, "float32", 1, words=(2, 3, 1), **_RMSPROP),
    _learner(4, (24,), 2, "float32", 4, multipliers=4, **_PLAIN),
    _learner(10, (24, 24), 4, "float32", 2, words=(1, 5, 3, 2), **_TANH),
    _learner(8, (24,), 2, "fixed", 2, words=((2, 7, 1), (4, 3, 2)), **_DDPG),
    _learner(7, (13, 9), 3, "fixed", 4, multipliers=9, **_RMSPROP, **_TANH, **_DDPG),
    _learner(3, (16,), 1, "float32", 1, words=((1, 5, 1), (2, 3, 1)), **_SGD, **_DDPG),
    _learner(5, (20, 12), 2, "float32", 2, multipliers=6, **_DDPG),
)


def case_of(learner):
    double = ", double" if "double" in algorithm_of(learner).options and learner.double else ""
    return (
        f"{net_of(learner)}, {learner.hidden_activation}, {learner.optimizer}{double}, "
        f"DP={learner.lanes}, {learner.arithmetic.kind}"
    )


@cache
def measure(learner):
    """``{(case, metric): (measured clocks, clocks by formula)}`` of the kernel with ``learner``.

    The cases are gradient steps and iterations of TRAIN with a few samples and with a whole batch,
    iterations of LEARN without and with an insertion, and ACTs.
    """
    rng, result = np.random.default_rng(0), {}
    with open_card("sim") as card:
        buffer = buffer_of(card, learner, rng, _CAPACITY)
        config = buffer.config
        buffer.add(**random_experiences(learner, rng, _CAPACITY))
        for batch in (4 * learner.lanes, _BATCH):
            steps, name = adam_steps(ITERATIONS, batch, learner.step_record), f"B={batch}"
            sent = buffer.sample(batch)
            sent = {field: np.repeat(sent[field], ITERATIONS, 0) for field in buffer.dtype.names}
            trained = buffer.train(steps, sent, batch_size=batch)
            step, train = report_clocks(trained.reports, 2, 3)
            result[name, "gradient_step_cycles"] = step, step_clocks(learner, batch).step
            result[name, "train_cycles"] = train, train_clocks(config, batch)
        for inserts, name in ((0, "B=64"), (1, "B=64, an insertion")):
            new = random_experiences(learner, rng, inserts * ITERATIONS) if inserts else None
            learned = buffer.learn(steps, batch_size=_BATCH, experiences=new)
            (learn,) = report_clocks(learned.reports, 3)
            result[name, "iteration_cycles"] = learn, learn_clocks(config, _BATCH, inserts)
        for count, (_, command) in acting_cycles(buffer, _OBSERVATIONS, rng).items():
            name = "an observation" if count == 1 else f"{count} observations"
            result[name, "act_cycles"] = command, act_clocks(config, count)
    return result


def rows():
    """The list of rows gradient_step_cycles, train_cycles, iteration_cycles and act_cycles of all
    LEARNERS, as measured on the simulated card, with the formula's clocks as reference."""
    source = "RTL on the simulated card, default memory, the median of a launch"
    return [
        row("learner", f"{case_of(learner)}, {part}", metric, measured, "cycles",
            reference="by formula", reference_value=formula, source=source)
        for learner in LEARNERS
        for (part, metric), (measured, formula) in measure(learner).items()
    ]  # fmt: skip

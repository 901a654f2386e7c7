"""Clocks that a plan takes on a card that is not here, by the formulas of its kernel."""

from typing import NamedTuple

import boards
from host.compose.assignment import WORD_BYTES
from host.kernels import configure, find_design
from host.settings import resolve
from hw.errors import UsageError
from hw.fixar.config import FixarKernelConfig
from hw.fixar.pass_clocks import iteration_cycles
from hw.fixar.precision import Precision
from hw.learner.config import LearnerKernelConfig
from hw.learner.iteration_clocks import learn_clocks, store_clocks, train_clocks
from hw.learner.parameters.parameter_image import set_bytes
from hw.replay.command_clocks import insert_clocks, sample_clocks, update_clocks
from hw.replay.records import GRANULE_BYTES
from hw.shell.memory_clocks import latencies, launch_clocks

__all__ = [
    "TWIN_BOARD",
    "PrimitiveClocks",
    "kernel_config",
    "own_settings",
    "plan_clocks",
    "primitive_clocks",
]

#: The board of a card that has none: the twin.
TWIN_BOARD = "u200"


class PrimitiveClocks(NamedTuple):
    """Clocks of PEARL's primitives on a card, each for one batch; None without the primitive."""

    sample: int
    insert: int
    update: int
    learn: int | None


def own_settings(task, plan):
    """Those fields of the task's ``kernel`` that the kernel of ``plan`` has: plans have different
    kernels, and a field of the learner means nothing to a kernel without one."""
    if plan.design == "none":
        return {}
    default, found = find_design(plan.design).config_type(), {}
    for name, value in task.kernel.items():
        try:
            resolve(default, name)
        except UsageError:
            continue
        found[name] = value
    return found


def kernel_config(task, plan, board):
    """The config of the kernel that ``plan`` needs on the board called ``board``, None for the
    twin's; None if it needs none. ``boards.DoesNotFit`` if it does not fit."""
    if plan.design == "none":
        return None
    values = plan.config.kernel_values(task.spec)
    found = boards.get(board or TWIN_BOARD)
    return configure(
        find_design(plan.design), found, values | own_settings(task, plan), library=True
    )


def plan_clocks(task, plan, kernel, updates, inserts):
    """Clocks of a launch of ``plan`` on a kernel with the config ``kernel``.

    updates, inserts : gradient steps, and new experiences, of a launch, means over many.

    With the replay memory on the card a launch inserts, and updates priorities and draws for each
    gradient step; if the card learns too, these are in the iterations of LEARN. Without it the card
    does iterations of TRAIN. Weights come back by a STORE, if the card does not act. A launch of
    ``a3c`` is the part of a period of rounds in which that many agents are trained; one of ``gae``
    estimates a full stack for each environment.
    """
    if task.family != "replay":
        agents = plan.config.env_count
        whole = find_design(plan.design).space.clocks(kernel, agents)
        return whole if task.family == "rollouts" else whole * updates / agents
    found, memory = primitive_clocks(task, plan, kernel, inserts), latencies(kernel.engine)
    if plan.learner != "card":
        commands = [updates * (found.sample + found.update), found.insert]
    else:
        one = _learn(task, kernel, inserts / updates) if plan.rm == "card" else found.learn
        # Nothing hides the first batch of a launch, nor the hyperparameters.
        commands = [found.sample + memory["read"] + updates * one, *_stored(plan.config, kernel)]
    return launch_clocks(kernel.engine, commands, read=memory["read"])


def _stored(config, kernel):
    """Clocks of the STORE of the weights that act, as a list without or with one number: a share of
    one where not every launch has it."""
    if config.act == "card":
        return []
    if isinstance(kernel, FixarKernelConfig):
        clocks = set_bytes(kernel.learner) / kernel.engine.beat_bytes  # a beat a clock
    else:
        clocks = store_clocks(kernel)
    return [clocks / config.weights_interval]


def primitive_clocks(task, plan, kernel, inserts):
    """The PrimitiveClocks of a kernel with the config ``kernel`` that has a replay memory; a launch
    around them is not counted. ``inserts``: experiences of an INSERT."""
    memory, batch = latencies(kernel.engine), task.batch
    granules = -(-task.words * WORD_BYTES // GRANULE_BYTES)
    inserts = max(1, round(inserts))
    return PrimitiveClocks(
        sample=sample_clocks(kernel, batch, granules, **memory),
        insert=insert_clocks(kernel, inserts, granules, **memory),
        update=update_clocks(kernel, batch, read=memory["read"]),
        learn=_train(kernel, batch),
    )


def _train(kernel, batch):
    """Clocks of a gradient step on a batch that is there."""
    if isinstance(kernel, FixarKernelConfig):
        return iteration_cycles(kernel.learner, batch, Precision())
    if isinstance(kernel, LearnerKernelConfig):
        return train_clocks(kernel, batch)
    return None


def _learn(task, kernel, inserts):
    """Clocks of an iteration of LEARN; fixar's insertions are hidden by its passes."""
    if isinstance(kernel, FixarKernelConfig):
        return _train(kernel, task.batch)
    return learn_clocks(kernel, task.batch, max(1, round(inserts)))

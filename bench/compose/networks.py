"""Clocks of gradient steps of DDPG on the networks of PEARL's Table III, by formula.

The kernel is the default one of a U200, the board of ``eps_at_250_mhz``: PEARL's own board, a
DE10-Agilex, is not among ours. Table III prints 8 numbers of a state and 4 of an action for
MountainCar; MountainCarContinuous-v0 has 2 and 1. Both networks have rows.
"""

import boards
from bench import row
from bench.compose.eps import BATCHES, DDPG, task_of
from bench.compose.fpga_equations import learner_clocks
from bench.learner.cases import name_of
from bench.learner.cf22 import multipliers_of
from host.compose.plans import plan_of
from host.kernels import configure, find_design
from hw.learner.step_clocks import step_clocks

__all__ = ["BOARD", "SIZES", "equation_6", "learner", "rows"]

BOARD = "u200"
#: Numbers of an observation and of an action: the environment's, and the printed ones.
SIZES = ((2, 1), (8, 4))
_SOURCE = f"formula, held to the simulation by tests; default kernel of a {BOARD.upper()}"


def learner(observation, action, batch):
    """The LearnerConfig of the kernel that trains ``DDPG``'s task with these sizes.
    ``boards.DoesNotFit`` if the board has no room for it."""
    task = task_of(DDPG, batch)
    plan = plan_of(task, "card", "card")
    sizes = {"learner.observation": observation, "learner.action": action}
    values = plan.config.kernel_values(task.spec) | sizes
    return configure(find_design(plan.design), boards.get(BOARD), values, library=True).learner


def equation_6(config, batch):
    """Clocks of a gradient step by PEARL's equation 6 with the multipliers of ``config``, a
    LearnerConfig: of its slower network, whose T_stage is the time of its slowest matrix. BS is the
    samples of one lane; ``layers`` are of neurons, one more than matrices."""
    found = []
    for name, layers in config.networks.items():
        own = multipliers_of(config)[name]
        slowest = max(layer.weights / count for layer, count in zip(layers, own, strict=True))
        found.append(learner_clocks(slowest, batch // config.lanes, len(layers) + 1))
    return max(found)


def rows():
    """The list of rows step_clocks of all SIZES and BATCHES, with PEARL's equation 6."""
    result = []
    for observation, action in SIZES:
        for batch in BATCHES:
            config = learner(observation, action, batch)
            result.append(
                row("compose", name_of(config, batch), "step_clocks",
                    step_clocks(config, batch).step, "cycles", source=_SOURCE,
                    reference="PEARL's equation 6, these multipliers",
                    reference_value=round(equation_6(config, batch)))
            )  # fmt: skip
    return result

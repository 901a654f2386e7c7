"""Clocks of a period of rounds: asynchronous agents on the kernel ``a3c``."""

from itertools import islice

import numpy as np

from host.a3c.card_network import ActorCritic, Infer, Sync, Train
from host.a3c.parameter_image import parameter_shapes
from host.explore.launch_clocks import LIMIT_S, launch_clocks
from hw.fa3c.schedule import Schedule

__all__ = ["period_clocks", "periods", "random_parameters", "screens_of", "tasks_of"]


def random_parameters(config, rng):
    """``{name: float32 array}``: random initial parameters of the network, as torch makes them.

    They are uniform in +-1 / sqrt(inputs of a unit of the layer), drawn from the Generator ``rng``.
    """
    shapes = parameter_shapes(config)
    fans = {name: np.prod(shapes[name.split(".")[0] + ".weight"][1:]) for name in shapes}
    return {
        name: (rng.uniform(-1, 1, shape) / np.sqrt(fans[name])).astype(np.float32)
        for name, shape in shapes.items()
    }


def screens_of(config, count, rng):
    """Random observations [count, height, width, channels] from the Generator ``rng``: bytes, or
    binary32 numbers if the network takes those."""
    shape = count, config.height, config.width, config.channels
    if config.binary32:
        return rng.standard_normal(shape).astype(np.float32)
    return rng.integers(0, 256, shape, np.uint8)


def tasks_of(config, plan, rng):
    """The list of tasks (Sync, Train, Infer) of the round ``plan``, as ``ActorCritic.run`` takes
    them, with random observations and errors from ``rng``."""
    tasks = [Sync(snapshot=snapshot) for snapshot in plan.syncs]
    for task in plan.trainings:
        errors = rng.normal(size=(task.samples, config.outputs)).astype(np.float32) / 100
        tasks.append(
            Train(
                unit=task.unit,
                snapshot=plan.snapshots[task.group],
                agent=task.rollout,
                errors=errors,
                rate=7e-4,
            )
        )
    for task in plan.inferences:
        tasks.append(
            Infer(
                unit=task.unit,
                snapshot=plan.snapshots[task.group],
                agents=task.rollouts,
                observations=screens_of(config, len(task.agents), rng),
                step=task.sample,
            )
        )
    return tasks + [Sync(snapshot=snapshot) for snapshot in plan.renewed]


def periods(network, schedule):
    """Runs periods of rounds of ``schedule``, a RoundSchedule, on ``network``, an ActorCritic, with
    random parameters, observations and errors; in the first all groups of agents begin.

    A generator without an end: each ``next`` runs a period, and gives a list with the design's
    status block after each of its rounds. A round without a task is left out.
    """
    rng = np.random.default_rng(0)
    network.load(random_parameters(network.config, rng))
    plans = schedule.plans()
    while True:
        statuses = []
        for plan in islice(plans, schedule.period):
            if tasks := tasks_of(network.config, plan, rng):
                network.run(tasks)
                statuses.append(network.status.copy())
        yield statuses


def period_clocks(kernel, config, batch):
    """Clocks of rounds in which each of ``batch`` agents takes the steps of a training and is
    trained once; on average, where some of them rest."""
    network = ActorCritic(kernel, timeout_s=LIMIT_S)
    schedule = Schedule(network.config, batch)
    turns = periods(network, schedule)
    next(turns)
    return schedule.clocks_of_all(launch_clocks(network, lambda: next(turns)))

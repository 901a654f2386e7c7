"""Inferences a second of whole rounds on the simulated card: clocks of a period of the schedule."""

from functools import cache
from hashlib import sha256
from itertools import islice
from typing import NamedTuple

import numpy as np

from host.card import open_card
from host.generate import generate
from host.runtime.a3c import ActorCritic, Infer, Sync, Train
from host.runtime.a3c_image import parameter_shapes
from host.runtime.a3c_schedule import Schedule
from sim.tools import BUILD_DIRECTORY

__all__ = ["CLOCK", "Measured", "kernel", "measure", "rows", "tasks_of"]

#: The paper's clock, FA3C 5.1.
CLOCK = 180e6
#: Two pairs of 64 PEs as in the paper, and one unit of 256 (its SingleCU).
PAIRS = dict(agents=32, snapshots=8)
SINGLE = dict(agents=32, snapshots=8, units=("any",), lanes=16)

_SOURCE = "clocks of a period of rounds, Verilog on the simulated card, at 180 MHz"


class Measured(NamedTuple):
    """Of a period: clocks of its launches, bytes read and written, the status of each launch."""

    clocks: int
    loads: int
    stores: int
    statuses: list


@cache
def kernel(**settings):
    """Folder of the U200's kernel with these settings beside the defaults."""
    name = sha256(repr(sorted(settings.items())).encode()).hexdigest()[:12]
    return generate("a3c", "u200", BUILD_DIRECTORY / "bench" / f"a3c-{name}", **settings)


def random_parameters(config, rng):
    """As torch makes them: uniform, by the inputs of each layer."""
    shapes = parameter_shapes(config)
    fans = {name: np.prod(shapes[name.split(".")[0] + ".weight"][1:]) for name in shapes}
    return {
        name: (rng.uniform(-1, 1, shape) / np.sqrt(fans[name])).astype(np.float32)
        for name, shape in shapes.items()
    }


def tasks_of(config, schedule, plan, rng):
    """A round's tasks, on random observations and errors."""
    tasks = [Sync(snapshot=group) for group in plan.syncs]
    for task in plan.trainings:
        errors = rng.normal(size=(config.steps, config.outputs)).astype(np.float32) / 100
        tasks.append(
            Train(unit=task.unit, snapshot=task.group, agent=task.agent, errors=errors, rate=7e-4)
        )
    shape = config.height, config.width, config.channels
    for task in plan.inferences:
        screens = rng.integers(0, 256, (len(task.agents), *shape), np.uint8)
        tasks.append(
            Infer(
                unit=task.unit,
                snapshot=task.group,
                agents=task.agents,
                observations=screens,
                step=task.step,
            )
        )
    return tasks


def _bytes(card):
    """Read and written so far, by all masters."""
    traffic = card.device.traffic()
    return tuple(
        sum(size for (_, channel), size in traffic.items() if channel == wanted)
        for wanted in ("R", "W")
    )


def measure(folder, agents, memory=None):
    """``Measured`` of one period, after one in which all groups have begun."""
    rng = np.random.default_rng(0)
    with open_card("sim", **({} if memory is None else {"memory": memory})) as card:
        network = ActorCritic(card.load(folder / "kernel.json"))
        config = network.config
        network.load(random_parameters(config, rng))
        schedule = Schedule(config, agents)
        statuses, before = [], None
        for number, plan in enumerate(islice(schedule.plans(), 2 * schedule.period)):
            if number == schedule.period:
                before = network.device_cycles, *_bytes(card)
            network.run(tasks_of(config, schedule, plan, rng))
            if number >= schedule.period:
                statuses.append(network.status.copy())
        after = network.device_cycles, *_bytes(card)
        clocks, loads, stores = (b - a for a, b in zip(before, after, strict=True))
    return Measured(clocks, loads, stores, statuses)

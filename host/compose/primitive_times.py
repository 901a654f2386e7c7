"""PEARL's primitives: timed on synthetic data (section VI-A), and its matrix for a task on a
machine, measured on cpu and GPU, by formulas on a card; for equation 7."""

import time

import numpy as np

from host.algorithms.config import Clock
from host.compose.assignment import assign
from host.compose.card_clocks import kernel_config, primitive_clocks
from host.compose.times import APART, BOTH, Times, Timing
from host.replay.ring_memory import RingMemory
from host.replay.tree_memory import TreeMemory
from host.runs.blas_threads import single_threaded
from host.runs.session import Seeds
from hw.errors import UsageError

__all__ = ["ITERATIONS", "equation7", "learner_us", "matrix", "memory_us"]

#: As PEARL has them.
ITERATIONS = 1000


def memory_us(task, inserts, *, iterations=None, clock=time.process_time):
    """``{"sample_us", "insert_us", "update_us"}`` of a replay memory on the cpu for a Task: median
    processor time of a draw of a batch, of an insertion of ``inserts`` experiences, and of an
    update of a batch's priorities. The memory is full of random experiences. ``iterations`` None:
    ITERATIONS."""
    config, rng = task.config, np.random.default_rng(0)
    kind = RingMemory if task.uniform else TreeMemory
    memory = kind(task.spec.fields, capacity=config.capacity, seed=0)
    new = synthetic(task, rng, inserts)
    while len(memory) < memory.capacity:
        memory.step(synthetic(task, rng, min(1 << 12, memory.capacity - len(memory))))
    draw = task.batch, 0.5
    indexes = memory.step(sample=draw)["indexes"]
    errors = rng.normal(size=task.batch).astype(np.float32)
    calls = {
        "sample_us": lambda: memory.step(sample=draw),
        "insert_us": lambda: memory.step(new),
        "update_us": lambda: memory.step(update=(indexes, errors)),
    }
    return {name: _median_us(call, iterations, clock) for name, call in calls.items()}


def learner_us(task, device="cpu", *, iterations=None, clock=time.process_time):
    """Median processor time, in microseconds, of a gradient step of a Task on ``device``, cpu or
    torch's name of another; other arguments as for ``memory_us``. MissingTool without torch."""
    config, rng = task.config, np.random.default_rng(0)
    weights, exploration, steps = Seeds(0).agent
    made = dict(weights=weights, exploration=exploration)
    policy = config.algorithm.policy(config.in_run().agent, task.spec, **made)
    updater = config.algorithm.updater(policy, seed=steps, device=device)
    batch = synthetic(task, rng, task.batch) | {"weights": np.ones(task.batch, np.float32)}
    with single_threaded(with_torch=True):
        return _median_us(lambda: updater.update(batch, Clock()), iterations, clock)


def synthetic(task, rng, count):
    """``count`` random experiences, as a dict of arrays."""
    made = {}
    for name, (dtype, shape) in task.spec.fields.items():
        if np.dtype(dtype).kind == "f":
            made[name] = rng.uniform(-1, 1, (count, *shape)).astype(dtype)
        else:
            high = task.spec.action_count if name == "action" else 256
            made[name] = rng.integers(0, high, (count, *shape)).astype(dtype)
    made["discount"] = np.full(count, 0.99, np.float32)
    return made


def _median_us(call, iterations, clock):
    iterations = iterations or ITERATIONS
    for _ in range(max(1, iterations // 50)):
        call()
    taken = []
    for _ in range(iterations):
        begin = clock()
        call()
        taken.append(clock() - begin)
    return round(1e6 * float(np.median(taken)), 3)


_OPERATIONS = ("sample_us", "insert_us", "update_us")


def equation7(task, plans, machine, primitives, sizes):
    """``{(rm, learner): microseconds}``: equation 7 with transfers, for all pairs of devices whose
    times are known. Arguments as of ``matrix``; ``sizes`` is a Sizes."""
    times = matrix(task, plans, machine, primitives, sizes.inserts)
    try:
        found = assign(times, sizes, transfers="added")
    except UsageError:  # of no pair all times are known
        return {}
    return {(each.rm, each.learner): each.iteration_us for each in found.alternatives}


def matrix(task, plans, machine, primitives, inserts):
    """The Times of a Task with a replay memory.

    Parameters
    ----------
    task, plans : Task, sequence of Plan
    machine : Machine
    primitives : dict
        Kind of device -> ``{"sample_us", "insert_us", "update_us", "learn_us"}``, as far as they
        were measured here.
    inserts : float
        Experiences that an iteration inserts.

    A card has a row if its clock is known. Alone on it, each primitive is a launch; together they
    are one launch, which begins with the draw.
    """
    rows = []
    for device in machine.devices:
        if device.kind == "card":
            rows += _card_rows(task, plans, device, inserts)
        elif found := primitives.get(device.kind):
            rows += [
                Timing(device=device.name, placed=placed, source="measured alone", **found)
                for placed in (APART, BOTH)
            ]
    return Times(machine=machine, rows=tuple(rows))


def _card_rows(task, plans, device, inserts):
    if device.clock_mhz is None:
        return
    launch, source = device.launch_us or 0.0, f"clocks at {device.clock_mhz:g} MHz"
    row = dict(device=device.name, source=source)
    manager, learner, both = (
        _clocks(task, plans, device, inserts, *kinds)
        for kinds in (("card", "cpu"), ("cpu", "card"), ("card", "card"))
    )
    times = {}
    if manager:
        times = dict(zip(_OPERATIONS, (launch + each for each in manager[:3]), strict=True))
    if learner:
        times["learn_us"] = launch + learner[3]
    if times:
        yield Timing(placed=APART, **times, **row)
    if both:
        sample, insert, update, learn = both
        yield Timing(placed=BOTH, sample_us=launch + sample, insert_us=insert, update_us=update,
                     learn_us=learn, **row)  # fmt: skip


def _clocks(task, plans, device, inserts, rm, learner):
    """Microseconds of the four primitives on the kernel of the first plan with these parts that
    fits the card; None without one."""
    for plan in plans:
        if (plan.rm, plan.learner, plan.refused) == (rm, learner, ""):
            try:
                kernel = kernel_config(task, plan, device.board)
            except UsageError:
                continue
            clocks = primitive_clocks(task, plan, kernel, inserts)
            return [each and each / device.clock_mhz for each in clocks]
    return None

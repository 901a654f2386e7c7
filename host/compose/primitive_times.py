"""PEARL's primitives, timed alone on synthetic data (section VI-A), for its equation 7."""

import time

import numpy as np

from host.algorithms.config import Clock
from host.replay.ring_memory import RingMemory
from host.replay.tree_memory import TreeMemory
from host.runs.blas_threads import single_threaded
from host.runs.session import Seeds

__all__ = ["ITERATIONS", "learner_us", "memory_us"]

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

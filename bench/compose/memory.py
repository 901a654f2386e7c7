"""INSERT, UPDATE and SAMPLE of replay memories on the CPU, beside libraries and the card's clocks.

All memories hold the same experiences of CartPole-v1 with the same TD errors, and get the same new
ones. They take turns in one run. ``bench.compose.replay_peers`` has the libraries.
"""

import itertools
import sys
import time

import numpy as np

import boards
from bench import medians, row
from bench.compose.replay_peers import PEERS, Calls, Inputs
from host.compose.primitive_times import synthetic
from host.compose.task import Task
from host.kernels import configure, find_design
from host.replay.ring_memory import RingMemory
from host.replay.tree_memory import TreeMemory
from host.runs.blas_threads import single_threaded
from host.runs.preset import preset
from hw.replay.command_clocks import (
    CARTPOLE_GRANULES,
    insert_clocks,
    sample_clocks,
    update_clocks,
)
from hw.shell.memory_clocks import latencies

__all__ = ["rows"]

CAPACITY, FANOUT = 1 << 17, 16
_FULL = "N=2^17"
#: Experiences of an INSERT, and of an UPDATE or a SAMPLE.
_INSERTS, _BATCHES = 32, (64, 512)
_OPTIONS, _BETA = dict(alpha=0.6, epsilon=0.01), 0.4
#: Different batches of an UPDATE, so that one alone does not stay in the cache.
_TURNS = 64
_ROUNDS, _CALLS, _PART = 15, 20, 1 << 12
_SOURCE = f"processor time of one thread in this run, median of {_ROUNDS}, taken in turn"
_TREE, _RING = f"TreeMemory, K={FANOUT}", "RingMemory"


def _inputs():
    task = Task(preset("dqn", "cpu", env="CartPole-v1"), False, {})
    rng, part = np.random.default_rng(0), min(_PART, CAPACITY)

    def errors(count):
        return np.abs(rng.normal(size=count)).astype(np.float32)

    return Inputs(
        capacity=CAPACITY,
        **_OPTIONS,
        beta=_BETA,
        parts=[(synthetic(task, rng, part), errors(part)) for _ in range(CAPACITY // part)],
        new=synthetic(task, rng, _INSERTS),
        updates={
            count: [(rng.integers(CAPACITY, size=count), errors(count)) for _ in range(_TURNS)]
            for count in _BATCHES
        },
        fields=task.spec.fields,
    )


def _tree(inputs):
    memory = TreeMemory(inputs.fields, CAPACITY, fanout=FANOUT, **_OPTIONS)
    for experiences, errors in inputs.parts:
        memory.step(experiences, td_errors=errors)
    return Calls(
        insert=lambda: memory.step(inputs.new),
        sample=lambda count: memory.sample(count, _BETA),
        update=memory.update_priorities,
    )


def _ring(inputs):
    memory = RingMemory(inputs.fields, CAPACITY)
    for experiences, _ in inputs.parts:
        memory.step(experiences)
    return Calls(insert=lambda: memory.step(inputs.new), sample=memory.sample)


def _made(inputs):
    """``{memory: Calls}``, of our memories and of the peers that are installed."""
    found = {_TREE: _tree(inputs), _RING: _ring(inputs)}
    for name, make in PEERS.items():
        try:
            found[name] = make(inputs)
        except (ImportError, RuntimeError) as error:
            package = name.replace(",", "").split()[0]
            print(f"{name} is left out: {error} (pip install {package})", file=sys.stderr)
    return found


def _functions(calls, inputs):
    """``{operation: function without arguments}`` of a memory."""
    found = {} if calls.insert is None else {f"INSERT of {_INSERTS}": calls.insert}
    for count in _BATCHES:
        if calls.update is not None:
            turns = itertools.cycle(inputs.updates[count])
            found[f"UPDATE of {count}"] = lambda turns=turns: calls.update(*next(turns))
        found[f"SAMPLE of {count}"] = lambda count=count: calls.sample(count)
    return found


def rows():
    """The list of rows of each operation, of a full memory of 2^17 experiences.

    memory_us is the time of a call, of ours (TreeMemory, RingMemory) and of the peers that are
    installed; peer_over_ours is a peer's time over that of our memory that draws alike: TreeMemory
    with priorities, RingMemory without them, which has no UPDATE. torchrl's sampler alone
    draws indexes and weights, and no experiences. card_clocks is the time of the command on the
    card, in clocks of its formula (``hw.replay.command_clocks``), without a launch.
    """
    inputs, result = _inputs(), []
    made = _made(inputs)
    functions = {
        (name, operation): function
        for name, calls in made.items()
        for operation, function in _functions(calls, inputs).items()
    }
    with single_threaded(with_torch="torchrl" in made):
        took = medians(functions, rounds=_ROUNDS, calls=_CALLS, clock=time.process_time)
    for (name, operation), seconds in took.items():
        case = f"{_FULL}, {operation}, {name}"
        result.append(
            row("compose", case, "memory_us", round(seconds * 1e6, 2), "us", source=_SOURCE)
        )
        if name in PEERS:
            beside = _RING if "uniform" in name else _TREE
            ours = took[beside, operation]
            result.append(
                row("compose", case, "peer_over_ours", round(seconds / ours, 2), "x",
                    source=f"memory_us over that of {beside}")
            )  # fmt: skip
    return result + list(_card())


def _card():
    """The rows of the card's clocks, for a U200."""
    values = {"capacity": CAPACITY, "fanout": FANOUT}
    kernel = configure(find_design("replay"), boards.get("u200"), values)
    memory, granules = latencies(kernel.engine), CARTPOLE_GRANULES
    clocks = {f"INSERT of {_INSERTS}": insert_clocks(kernel, _INSERTS, granules, **memory)}
    for count in _BATCHES:
        clocks[f"UPDATE of {count}"] = update_clocks(kernel, count, read=memory["read"])
        clocks[f"SAMPLE of {count}"] = sample_clocks(kernel, count, granules, **memory)
    for operation, count in clocks.items():
        yield row("compose", f"{_FULL}, {operation}, card, K={FANOUT}", "card_clocks", count,
                  "cycles", source="formula, held to the simulation by tests")  # fmt: skip

"""INSERT, UPDATE and SAMPLE of replay memories on the CPU, beside libraries and the card's clocks.

All memories hold the same experiences of CartPole-v1 with the same TD errors, and get the same new
ones. They take turns in one run. cpprb and torchrl have a sum tree in C++, with two children a
node. No wheel of torchrl, from 0.12 to 0.14.1, can be loaded with torch 2.13, so the extra
``peers`` does not have it: torchrl has rows where both come from one build.
"""

import itertools
import sys
import time
from typing import NamedTuple

import numpy as np

import boards
from bench import medians, row
from host.compose.primitives import synthetic
from host.compose.task import Task
from host.generate import configure, find_design
from host.memory.ring import RingMemory
from host.memory.tree import TreeMemory
from host.train.preset import preset
from host.train.threads import single_threaded
from hw.replay.command_clocks import (
    CARTPOLE_GRANULES,
    insert_clocks,
    latencies,
    sample_clocks,
    update_clocks,
)

__all__ = ["rows"]

CAPACITY, FANOUT = 1 << 17, 16
_FULL = "N=2^17"
#: Experiences of an INSERT, and of an UPDATE or a SAMPLE.
_INSERTS, _BATCHES = 32, (64, 512)
_OPTIONS = dict(alpha=0.6, epsilon=0.01)
_BETA = 0.4
#: Different batches of an UPDATE, so that one alone does not stay in the cache.
_TURNS = 64
_ROUNDS, _CALLS, _PART = 15, 20, 1 << 12
_SOURCE = f"processor time of one thread in this run, median of {_ROUNDS}, taken in turn"
_TREE, _RING = f"TreeMemory, K={FANOUT}", "RingMemory"


class _Inputs(NamedTuple):
    """What all memories get.

    parts : ``[(experiences, TD errors)]``, of which all together fill a memory.
    new : the experiences of an INSERT, a dict of arrays.
    updates : ``{count: [(indexes, TD errors)]}``.
    fields : ``{name: (dtype, shape)}`` of an experience.
    """

    parts: list
    new: dict
    updates: dict
    fields: dict


class _Calls(NamedTuple):
    """A memory, as functions: ``insert()``, ``sample(count)``, and ``update(indexes, TD errors)``,
    None if it has no priorities."""

    insert: object
    sample: object
    update: object = None


def _inputs():
    task = Task(preset("dqn", "cpu", env="CartPole-v1"), False, {})
    rng, part = np.random.default_rng(0), min(_PART, CAPACITY)

    def errors(count):
        return np.abs(rng.normal(size=count)).astype(np.float32)

    return _Inputs(
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
    return _Calls(
        insert=lambda: memory.step(inputs.new),
        sample=lambda count: memory.sample(count, _BETA),
        update=memory.update_priorities,
    )


def _ring(inputs):
    memory = RingMemory(inputs.fields, CAPACITY)
    for experiences, _ in inputs.parts:
        memory.step(experiences)
    return _Calls(insert=lambda: memory.step(inputs.new), sample=memory.sample)


def _columns(experiences):
    """Experiences whose scalars have a second axis, as cpprb stores them."""
    return {name: each.reshape(len(each), -1) for name, each in experiences.items()}


def _cpprb(inputs):
    import cpprb

    buffer = cpprb.PrioritizedReplayBuffer(
        CAPACITY, _described(inputs), alpha=_OPTIONS["alpha"], eps=_OPTIONS["epsilon"]
    )
    for experiences, errors in inputs.parts:
        buffer.add(**_columns(experiences), priorities=errors)
    new = _columns(inputs.new)
    return _Calls(
        insert=lambda: buffer.add(**new),
        sample=lambda count: buffer.sample(count, beta=_BETA),
        update=buffer.update_priorities,
    )


def _cpprb_uniform(inputs):
    import cpprb

    buffer = cpprb.ReplayBuffer(CAPACITY, _described(inputs))
    for experiences, _ in inputs.parts:
        buffer.add(**_columns(experiences))
    new = _columns(inputs.new)
    return _Calls(insert=lambda: buffer.add(**new), sample=buffer.sample)


def _described(inputs):
    """The fields of an experience, as cpprb wants them."""
    return {
        name: {"shape": shape or 1, "dtype": dtype}
        for name, (dtype, shape) in inputs.fields.items()
    }


def _torchrl(inputs):
    from tensordict import TensorDict
    from torch import from_numpy
    from torchrl.data import LazyTensorStorage, PrioritizedSampler, ReplayBuffer

    def batch(experiences):
        """As a TensorDict, whose tensors cannot be of uint32."""
        signed = {
            name: each.astype(np.int32) if each.dtype == np.uint32 else each
            for name, each in experiences.items()
        }
        tensors = {name: from_numpy(each) for name, each in signed.items()}
        return TensorDict(tensors, [len(signed["reward"])])

    # RuntimeError if torchrl's C++ cannot be loaded.
    sampler = PrioritizedSampler(CAPACITY, _OPTIONS["alpha"], _BETA, eps=_OPTIONS["epsilon"])
    buffer = ReplayBuffer(storage=LazyTensorStorage(CAPACITY), sampler=sampler)
    for experiences, errors in inputs.parts:
        indexes = buffer.extend(batch(experiences))
        buffer.update_priority(indexes, from_numpy(errors))
    new = batch(inputs.new)
    return _Calls(
        insert=lambda: buffer.extend(new),
        sample=buffer.sample,
        update=lambda indexes, errors: buffer.update_priority(
            from_numpy(indexes), from_numpy(errors)
        ),
    )


#: Peer -> (function that makes it, the one of our memories with which it is compared).
_PEERS = {
    "cpprb 11": (_cpprb, _TREE),
    "torchrl": (_torchrl, _TREE),
    "cpprb 11, uniform": (_cpprb_uniform, _RING),
}


def _made(inputs):
    """``{memory: _Calls}``, of our memories and of the peers that are installed."""
    found = {_TREE: _tree(inputs), _RING: _ring(inputs)}
    for name, (make, _) in _PEERS.items():
        try:
            found[name] = make(inputs)
        except (ImportError, RuntimeError) as error:
            print(f"{name} is left out: {error} (pip install {name.split()[0]})", file=sys.stderr)
    return found


def _functions(calls, inputs):
    """``{operation: function without arguments}`` of a memory."""
    found = {f"INSERT of {_INSERTS}": calls.insert}
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
    with priorities, RingMemory without them, which has no UPDATE. card_clocks is the time of the
    command on the card, in clocks of its formula (``hw.replay.command_clocks``), without a launch.
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
        if name in _PEERS:
            ours = took[_PEERS[name][1], operation]
            result.append(
                row("compose", case, "peer_over_ours", round(seconds / ours, 2), "x",
                    source=f"memory_us over that of {_PEERS[name][1]}")
            )  # fmt: skip
    return result + list(_card())


def _card():
    """The rows of the card's clocks, for a U200."""
    values = {"capacity": CAPACITY, "fanout": FANOUT}
    kernel = configure(find_design("replay"), boards.get("u200"), values)
    memory, granules = latencies(kernel), CARTPOLE_GRANULES
    clocks = {f"INSERT of {_INSERTS}": insert_clocks(kernel, _INSERTS, granules, **memory)}
    for count in _BATCHES:
        clocks[f"UPDATE of {count}"] = update_clocks(kernel, count, read=memory["read"])
        clocks[f"SAMPLE of {count}"] = sample_clocks(kernel, count, granules, **memory)
    for operation, count in clocks.items():
        yield row("compose", f"{_FULL}, {operation}, card, K={FANOUT}", "card_clocks", count,
                  "cycles", source="formula, held to the simulation by tests")  # fmt: skip

"""Calls of full replay memories next to cpprb in the same run: ``TreeMemory`` and the buffer of
card ``model``, one memory with two names."""

import itertools
import sys
import time

import numpy as np

from bench import medians, row
from host.cards import open_card
from host.kernels import describe
from host.replay.prioritized_buffer import PrioritizedReplayBuffer
from host.replay.tree_memory import TreeMemory
from system.tools import BUILD_DIRECTORY

__all__ = ["cpprb_buffer", "rows"]

CAPACITY = 1_000_000
_FIELDS = {
    "obs": (np.float32, (4,)),
    "next_obs": (np.float32, (4,)),
    "action": (np.int32, ()),
    "reward": (np.float32, ()),
    "done": (np.bool_, ()),
}
_PEER = "cpprb 11"
_UPDATES, _ADDS, _SAMPLES, _STEP, _BETA = (32, 64, 512), (1, 32), (32, 64, 256, 512), 64, 0.4
#: Different batches of an update, and experiences that are stored at a time to fill a memory.
_TURNS, _PART = 64, 50_000
_ROUNDS, _CALLS = 9, 100
_SOURCE = f"process time of one thread in this run, median of {_ROUNDS}, taken in turn"


def cpprb_buffer(fields, capacity):
    """A buffer of cpprb, whose scalars have an axis; None, with a line, if it is not installed."""
    try:
        import cpprb
    except ImportError as error:
        print(f"cpprb is left out: {error} (pip install 'rlfabric[peers]')", file=sys.stderr)
        return None
    described = {
        name: {"dtype": kind, "shape": shape or 1} for name, (kind, shape) in fields.items()
    }
    return cpprb.PrioritizedReplayBuffer(capacity, described, alpha=0.6)


def rows():
    """The list of rows call_us, of card ``model`` and of TreeMemory, next to cpprb: a call of a
    full memory of 10^6 whole experiences, and a step of an own loop."""
    folder = describe("replay", "u200", BUILD_DIRECTORY / "bench" / "buffers", capacity=1 << 20)
    with open_card("model") as card:
        kernel = card.load(folder / "kernel.json")
        made = {"card model": PrioritizedReplayBuffer(kernel, _FIELDS, capacity=CAPACITY)}
        made["TreeMemory"] = TreeMemory(_FIELDS, CAPACITY)
        if peer := cpprb_buffer(_FIELDS, CAPACITY):
            made[_PEER] = peer
        _fill(made)
        functions = {
            (name, case): function
            for name, memory in made.items()
            for case, function in _calls(name, memory).items()
        }
        took = medians(functions, rounds=_ROUNDS, calls=_CALLS, clock=time.process_time)
    return [
        row("host", f"N=10^6, {case}, {name}", "call_us", round(seconds * 1e6, 1), "us",
            reference=_PEER if peer else None,
            reference_value=round(took[_PEER, case] * 1e6, 1) if peer else None, source=_SOURCE)
        for (name, case), seconds in took.items() if name != _PEER
    ]  # fmt: skip


def _fill(memories):
    """Equal experiences for all, with different priorities."""
    rng = np.random.default_rng(0)
    for _ in range(CAPACITY // _PART):
        new = _experiences(rng, _PART)
        for name, memory in memories.items():
            memory.add(**_taken(name, new))
    for indexes in np.split(rng.permutation(CAPACITY), CAPACITY // _PART):
        errors = np.abs(rng.normal(size=_PART)).astype(np.float32)  # cpprb wants magnitudes
        for memory in memories.values():
            memory.update_priorities(indexes, errors)


def _experiences(rng, count):
    return {
        name: rng.integers(0, 2, (count, *shape)).astype(kind)
        for name, (kind, shape) in _FIELDS.items()
    }


def _taken(name, experiences):
    """``experiences`` as the memory takes them: scalars have an axis in cpprb."""
    if name != _PEER:
        return experiences
    return {field: values.reshape(len(values), -1) for field, values in experiences.items()}


def _calls(name, memory):
    """``{case: function}`` of a memory, of equal arguments for all."""
    rng, found = np.random.default_rng(1), {}
    for count in _UPDATES:
        turns = itertools.cycle([
            (rng.integers(0, CAPACITY, count), np.abs(rng.normal(size=count)).astype(np.float32))
            for _ in range(_TURNS)
        ])  # fmt: skip
        found[f"update of {count}"] = lambda turns=turns: memory.update_priorities(*next(turns))
    for count in _ADDS:
        new = _taken(name, _experiences(rng, count))
        found[f"add of {count}"] = lambda new=new: memory.add(**new)
    for count in _SAMPLES:
        found[f"sample of {count}"] = lambda count=count: memory.sample(count, beta=_BETA)
    one, errors = _taken(name, _experiences(rng, 1)), np.ones(_STEP, np.float32)
    drawn = {"indexes": np.arange(_STEP)}

    def step():
        memory.update_priorities(drawn["indexes"], errors)
        memory.add(**one)
        drawn.update(memory.sample(_STEP, beta=_BETA))

    return found | {f"step: update of {_STEP}, add of 1, sample of {_STEP}": step}

"""bench.compose.memory, with small memories: its rows, and that all memories get the same."""

import sys
import time
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest

from bench.compose import memory
from host.replay.tree_memory import TreeMemory

OPERATIONS = {"INSERT of 32", "UPDATE of 64", "UPDATE of 512", "SAMPLE of 64", "SAMPLE of 512"}
DRAWN = {name for name in OPERATIONS if "UPDATE" not in name}


@pytest.fixture(autouse=True)
def small(monkeypatch):
    for name, value in (("CAPACITY", 1 << 10), ("_PART", 1 << 8), ("_ROUNDS", 1), ("_CALLS", 1)):
        monkeypatch.setattr(memory, name, value)


@pytest.fixture
def absent(monkeypatch):
    for module in ("cpprb", "tensordict", "torchrl.data"):
        monkeypatch.setitem(sys.modules, module, None)


class Buffer:
    """Calls of cpprb's and torchrl's buffers, which count what they get."""

    made = []

    def __init__(self, *arguments, **options):
        self.arguments, self.options = arguments, options
        self.stored, self.errors, self.updates, self.draws = [], [], [], []
        Buffer.made.append(self)

    def add(self, priorities=None, **experiences):
        self.stored.append(experiences)
        self.errors.append(priorities)

    def sample(self, count, beta=None):
        self.draws.append(count)

    def update_priorities(self, indexes, errors):
        self.updates.append((indexes, errors))

    def extend(self, experiences):
        assert all(each.dtype != np.uint32 for each in experiences.values())
        self.stored.append(experiences)
        return np.arange(len(experiences["reward"]))

    update_priority = update_priorities


class Sampler:
    """torchrl's sampler, with the calls that it got."""

    made = []

    def __init__(self, *arguments, eps):
        self.arguments, self.calls = (*arguments, eps), []
        Sampler.made.append(self)

    def sample(self, storage, count):
        assert storage == memory.CAPACITY
        self.calls.append(count)

    def update_priority(self, indexes, errors):
        self.calls.append((indexes, errors))


@pytest.fixture
def peers(monkeypatch):
    Buffer.made, Sampler.made = [], []
    modules = {
        "cpprb": dict(PrioritizedReplayBuffer=Buffer, ReplayBuffer=Buffer),
        "tensordict": dict(TensorDict=lambda tensors, shape: tensors),
        "torch": dict(from_numpy=np.asarray),
        "torchrl.data": dict(
            LazyTensorStorage=lambda capacity: capacity,
            PrioritizedSampler=Sampler,
            ReplayBuffer=Buffer,
        ),
    }
    for name, members in modules.items():
        monkeypatch.setitem(sys.modules, name, SimpleNamespace(**members))


def split(rows):
    """``{(memory, metric): {operation: value}}``."""
    found = {}
    for row in rows:
        _, operation, name = row["case"].split(", ", 2)
        found.setdefault((name, row["metric"]), {})[operation] = row["value"]
    return found


def test_rows_without_a_peer(absent, capsys):
    rows = memory.rows()
    found = split(rows)
    times = {(name, "memory_us") for name in ("TreeMemory, K=16", "RingMemory")}
    assert found.keys() == times | {("card, K=16", "card_clocks")}
    assert found["TreeMemory, K=16", "memory_us"].keys() == OPERATIONS
    assert found["RingMemory", "memory_us"].keys() == DRAWN
    assert found["card, K=16", "card_clocks"].keys() == OPERATIONS
    assert all(row["value"] > 0 and row["source"] and row["bench"] == "compose" for row in rows)
    error = capsys.readouterr().err
    assert all(f"{name} is left out" in error for name in memory.PEERS)


def test_rows_beside_peers(peers, monkeypatch):
    """A peer's time stands over that of our memory that draws alike."""
    seconds = {"TreeMemory, K=16": 2e-6, "RingMemory": 5e-6}

    threads = []

    def medians(functions, **options):
        assert options["clock"] is time.process_time
        return {key: seconds.get(key[0], 20e-6) for key in functions}

    monkeypatch.setattr(memory, "medians", medians)
    monkeypatch.setattr(
        memory, "single_threaded", lambda with_torch: threads.append(with_torch) or nullcontext()
    )
    found = split(memory.rows())
    assert threads == [True]
    for name, operations, ratio in (
        ("cpprb 11", OPERATIONS, 10), ("torchrl", OPERATIONS, 10), ("cpprb 11, uniform", DRAWN, 4),
        ("torchrl, sampler alone", OPERATIONS - {"INSERT of 32"}, 10),
    ):  # fmt: skip
        assert found[name, "memory_us"] == dict.fromkeys(operations, 20)
        assert found[name, "peer_over_ours"] == dict.fromkeys(operations, ratio)


def test_all_memories_get_the_same(peers):
    inputs = memory._inputs()
    for calls in memory._made(inputs).values():
        for function in memory._functions(calls, inputs).values():
            function()
    cpprb, torchrl, other, uniform = Buffer.made
    assert cpprb.arguments[0] == uniform.arguments[0] == memory.CAPACITY
    assert torchrl.options["storage"] == memory.CAPACITY
    for each in Sampler.made:
        assert each.arguments == (memory.CAPACITY, 0.6, 0.4, 0.01)
    assert torchrl.options["sampler"] is Sampler.made[0] and not Sampler.made[0].calls
    assert [len(errors) for _, errors in Sampler.made[1].calls[::2]] == [64, 512]
    assert Sampler.made[1].calls[1::2] == [64, 512] and not other.draws
    assert all((errors > 0).all() for errors in cpprb.errors[:-1])
    assert (cpprb.options["alpha"], cpprb.options["eps"]) == (0.6, 0.01)
    for name, (dtype, _) in inputs.fields.items():
        described = cpprb.arguments[1][name]
        stored = np.zeros((len(inputs.new[name]), *np.atleast_1d(described["shape"])), dtype)
        assert cpprb.stored[-1][name].shape == stored.shape and described["dtype"] == dtype
    assert uniform.arguments[1] == cpprb.arguments[1]
    *filled, new = (len(each["reward"]) for each in cpprb.stored)
    assert (sum(filled), new) == (memory.CAPACITY, 32)
    for each in (torchrl, uniform):
        for ours, theirs in zip(cpprb.stored, each.stored, strict=True):
            for name, values in ours.items():
                assert (values.ravel() == theirs[name].ravel()).all()
    # torchrl gets the TD errors of what it stores by calls of their own.
    first, updates = torchrl.updates[:4], torchrl.updates[4:]
    assert all((a == b[1]).all() for a, b in zip(cpprb.errors[:4], first, strict=True))
    for ours, theirs in zip(cpprb.updates, updates, strict=True):
        assert all((a == b).all() for a, b in zip(ours, theirs, strict=True))
    assert [len(errors) for _, errors in updates] == [64, 512]
    assert cpprb.draws == torchrl.draws == uniform.draws == [64, 512]
    assert not uniform.updates and {errors is None for errors in uniform.errors} == {True}


def test_our_memories_are_full_of_what_the_others_have(monkeypatch):
    inputs, options = memory._inputs(), {}

    def tree(*arguments, **given):
        options.update(given)
        return TreeMemory(*arguments, **given)

    monkeypatch.setattr(memory, "TreeMemory", tree)
    stored = np.concatenate([experiences["reward"] for experiences, _ in inputs.parts])
    for make in (memory._tree, memory._ring):
        calls = make(inputs)
        batch = calls.sample(64)
        assert len(batch["indexes"]) == 64 and (batch["reward"] == stored[batch["indexes"]]).all()
        assert (batch["weights"].min() < 1) == (make is memory._tree)
        calls.insert()
    assert options == dict(fanout=16, alpha=0.6, epsilon=0.01)


def test_a_peer_whose_library_cannot_be_loaded(peers, monkeypatch, capsys):
    def fails(*arguments, **options):
        raise RuntimeError("SumSegmentTreeFp32 is not available")

    monkeypatch.setattr(sys.modules["torchrl.data"], "PrioritizedSampler", fails)
    assert "torchrl" not in memory._made(memory._inputs())
    error = capsys.readouterr().err
    assert "torchrl is left out: SumSegmentTreeFp32 is not available (pip install torchrl)" in error
    assert "torchrl, sampler alone is left out: " in error and "install torchrl,)" not in error


def test_clocks_of_the_card(monkeypatch):
    """Of 32, 64 or 512 experiences, each a clock, and latencies."""
    monkeypatch.setattr(memory, "CAPACITY", 1 << 17)
    found = split(memory._card())["card, K=16", "card_clocks"]
    assert found == {
        "INSERT of 32": 223,
        "UPDATE of 64": 187,
        "SAMPLE of 64": 225,
        "UPDATE of 512": 635,
        "SAMPLE of 512": 673,
    }

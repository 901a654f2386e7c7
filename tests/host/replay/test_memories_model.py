"""Replay memories against a reference in plain Python, whatever is called in whatever order."""

import copy
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)
from replay.kernels import WIDE, opened

from host.replay.prioritized_buffer import PrioritizedReplayBuffer
from host.replay.ring_memory import RingMemory
from host.replay.tree_memory import TreeMemory
from tests.host.replay_buffers import equal

FIELDS = {"x": (np.uint8, (2,)), "y": (np.float32, ())}
CAPACITY, ALPHA, EPSILON = 7, 0.5, Fraction(7, 1 << 16)
ONE = 1 << 16
_EXACT = st.integers(0, 200 * 4).map(lambda k: k / 4)


def near(raw, wanted):
    """Whether a priority is ``wanted``, whose power the format rounds to some units."""
    return abs(raw - wanted) <= max(4, wanted * 2**-13)


class Machine(RuleBasedStateMachine):
    """The memory and a model: ``rows`` by index, their priorities (None: 1.0 always) and the
    largest so far. What was handed over is kept, and looked at after each call."""

    prioritized, kept_apart, make = True, True, None

    @initialize(seed=st.integers(0, 9))
    def begin(self, seed):
        self.memory = self.make(seed)
        self.rows, self.raw, self.position, self.largest = [], [], 0, 0
        self.handed, self.states, self.count = [], [], 0

    def hand(self, found):
        self.handed.append((found, copy.deepcopy(found)))

    @rule(count=st.integers(0, 17), kind=st.sampled_from(["none", "priorities", "errors"]),
          values=st.lists(_EXACT, min_size=17, max_size=17))  # fmt: skip
    def add(self, count, kind, values):
        """Many, more than there is room for, none; from arrays that are written afterwards."""
        k = np.arange(self.count, self.count + count)
        given = {"x": np.stack([k, k // 2], 1).astype(np.uint8), "y": np.float32(k)}
        options = np.array(values[:count])
        named = {} if kind == "none" else {
            {"priorities": "priorities", "errors": "td_errors"}[kind]: options}  # fmt: skip
        self.memory.add(**given, **named)
        fresh = [self.entering(kind, value) for value in values[:count]]
        self.store([(int(j) % 256, int(j) // 2 % 256, float(j)) for j in k], fresh)
        self.count = (self.count + count) % 256
        for each in (*given.values(), options):
            each[...] = 9

    @rule(kind=st.sampled_from(["none", "priorities", "errors"]), value=_EXACT)
    def add_one(self, kind, value):
        named = {"none": {}, "priorities": {"priorities": value}, "errors": {"td_errors": value}}
        self.memory.add(x=[self.count, 3], y=0.5, **named[kind])
        self.store([(self.count, 3, 0.5)], [self.entering(kind, value)])

    def entering(self, kind, value):
        if kind == "none":
            return self.largest or ONE
        return value * ONE if kind == "priorities" else self.power(value)

    def power(self, error):
        return float((Fraction(error) + EPSILON) ** Fraction(1, 2)) * ONE

    def store(self, rows, fresh):
        for row, raw in [*zip(rows, fresh, strict=True)][-CAPACITY:]:
            if len(self.rows) < CAPACITY:
                self.rows.append(row), self.raw.append(raw)
            else:
                self.rows[self.position], self.raw[self.position] = row, raw
            self.position = (self.position + 1) % CAPACITY
            self.largest = max(self.largest, raw)

    @rule(data=st.data(), count=st.integers(0, 6), put=st.booleans())
    def change(self, data, count, put):
        """The last of equal indexes counts."""
        if not self.rows:
            return
        indexes = data.draw(st.lists(st.integers(0, len(self.rows) - 1), max_size=count))
        values = data.draw(st.lists(_EXACT, min_size=len(indexes), max_size=len(indexes)))
        signs = [-1, 1] * 3
        if put:
            self.memory.set_priorities(indexes, values)
        else:
            errors = [value * sign for value, sign in zip(values, signs, strict=False)]
            self.memory.update_priorities(np.array(indexes, np.int64), errors)
        for index, value in zip(indexes, values, strict=True):
            self.raw[index] = value * ONE if put else self.power(value)
            self.largest = max(self.largest, self.raw[index])

    @rule(count=st.integers(1, CAPACITY), beta=st.sampled_from([0.0, 0.5, 1.0]))
    def sample(self, count, beta):
        if count > len(self.rows) or (self.prioritized and not any(self.memory.priorities())):
            return
        batch = self.memory.sample(count, beta)
        assert batch["x"].shape == (count, 2) and batch["weights"].dtype == np.float32
        weights = []
        for k, index in enumerate(batch["indexes"].tolist()):
            row = self.rows[index]
            assert (*batch["x"][k].tolist(), float(batch["y"][k])) == row
            assert not self.prioritized or self.memory.priorities()[index]
            raw = self.memory.priorities().astype(float)
            weights.append((raw[index] * len(raw) / raw.sum()) ** -beta)
        np.testing.assert_allclose(batch["weights"], np.array(weights) / max(weights), rtol=1e-3)
        self.hand(batch)

    @rule()
    def keep(self):
        state = self.memory.state_dict()
        self.hand(state), self.hand(self.memory.get_all_transitions())
        self.hand({"priorities": self.memory.priorities()})
        model = [*self.rows], [*self.raw], self.position, self.largest
        self.states.append((state, model))

    @rule(which=st.integers(0, 5), copied=st.sampled_from(["used", "new", "twice", "deep", "file"]))
    def load(self, which, copied):
        """An earlier state into this memory or a new one, once or twice; or copies of this one."""
        if copied in ("deep", "file"):
            if self.kept_apart:
                other = self.memory
                deep = copied == "deep"
                copying = copy.deepcopy if deep else lambda x: pickle.loads(pickle.dumps(x))
                self.memory = copying(other)
                state = other.state_dict()
                self.hand(state)
                other.add(x=np.ones((9, 2)), y=np.zeros(9)), other.sample(1)
                equal(self.memory.state_dict(), state)
            return
        if not self.states:
            return
        state, (rows, raw, self.position, self.largest) = self.states[which % len(self.states)]
        self.rows, self.raw = [*rows], [*raw]
        if copied != "used":
            self.memory = self.make(77)
        for _ in range(1 + (copied == "twice")):
            self.memory.load_state_dict(state)
        equal(self.memory.state_dict(), state)
        if self.kept_apart and rows and (not self.prioritized or state["priorities"].any()):
            other = self.make(78)
            other.load_state_dict(state)
            equal(other.sample(3 % len(rows) or 1), self.memory.sample(3 % len(rows) or 1))

    @rule()
    def clear(self):
        self.memory.clear()
        self.rows, self.raw, self.position, self.largest = [], [], 0, 0

    @rule(bad=st.sampled_from(["x", "y", "priorities", "td_errors"]))
    def refuse(self, bad):
        """Changes nothing."""
        before = self.memory.state_dict()
        values = {"x": np.ones((2, 2)), "y": np.zeros(2)}
        values[bad] = np.array([[1, 2], [300, 4]]) if bad == "x" else np.array([1, np.nan])
        with pytest.raises(ValueError, match=f"^{bad} must be"):
            self.memory.add(**values)
        equal(self.memory.state_dict(), before)

    @invariant()
    def as_the_model(self):
        assert len(self.memory) == len(self.rows)
        assert self.memory.is_full() == (len(self.rows) == CAPACITY)
        found = self.memory.get_all_transitions()
        assert [tuple(each) for each in found["x"].tolist()] == [row[:2] for row in self.rows]
        assert found["y"].tolist() == [row[2] for row in self.rows]
        wanted = self.raw if self.prioritized else [ONE] * len(self.rows)
        raw = self.memory.priorities()
        assert len(raw) == len(wanted) and all(map(near, raw.tolist(), wanted))
        state = self.memory.state_dict()
        assert state["position"] == self.position
        assert not self.prioritized or near(int(state["maximum"]), self.largest)
        for one, before in self.handed:
            equal(one, before)


@pytest.mark.parametrize("kind", ["tree", "ring", "card"])
def test_a_memory_is_as_its_model(kind):
    options = dict(alpha=ALPHA, epsilon=float(EPSILON))
    with opened("model", WIDE) as kernel:
        makes = {
            "tree": lambda _, seed: TreeMemory(FIELDS, CAPACITY, seed=seed, **options),
            "ring": lambda _, seed: RingMemory(FIELDS, CAPACITY, seed=seed, **options),
            "card": lambda _, seed: PrioritizedReplayBuffer(
                kernel, FIELDS, capacity=CAPACITY, seed=seed, takeover=True, **options
            ),
        }
        names = dict(make=makes[kind], prioritized=kind != "ring", kept_apart=kind != "card")
        card = kind == "card"
        limits = settings(
            max_examples=10 if card else 20, stateful_step_count=20 if card else 30, deadline=None,
            derandomize=True, database=None, phases=[Phase.generate],
        )  # fmt: skip
        machine = type("Memory", (Machine,), names)
        run_state_machine_as_test(machine, settings=limits)

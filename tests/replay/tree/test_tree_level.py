"""tree_level: a level of the tree against nodes that are lists of their children's totals."""

import random

import pytest
from clocks import Clocks, run_together
from later import later

from hw.replay.config import ReplayConfig
from hw.replay.tree.tree_level import TreeLevel

#: name -> config, level, the kind of its memory, clocks from an operation to its result.
CASES = {
    "root of three children": (dict(capacity=37, fanout=16, priority_width=8), 0, "register", 2),
    "leaves, last node not full": (dict(capacity=37, fanout=4), 2, "distributed", 3),
    "block": (dict(capacity=4 * 70 * 4, fanout=4), 4, "block", 4),
    "widest, two nodes": (dict(capacity=128, fanout=64), 1, "distributed", 3),
    "ultra": (dict(capacity=4096, fanout=2), 11, "ultra", 5),
}
CASES = {
    name: (ReplayConfig(priority_fraction=0, **config), *rest)
    for name, (config, *rest) in CASES.items()
}
EACH_CASE = pytest.mark.parametrize("case", CASES)
#: The widest node is large to simulate: its boundaries are quick, and clocks are those of others.
WIDEST = "widest, two nodes"
FEW_CASES = pytest.mark.parametrize(
    "cases", [[name for name in CASES if name != WIDEST], later([WIDEST])], ids=["few", "widest"]
)


class Nodes:
    """Operations that enter a ``TreeLevel``, a clock each, and what they must come to."""

    def __init__(self, case, seed):
        self.config, level, _, self.latency = CASES[case]
        self.shape = shape = self.config.levels[level]
        self.parent = self.config.levels[max(0, level - 1)]
        self.unit = TreeLevel(self.config, level, clear_width=shape.nodes.bit_length() + 1)
        self.rng, self.clocks = random.Random(seed), Clocks()
        # A child's total is that of all leaves below it.
        self.limit = self.config.priority_limit << shape.shift
        self.clear()

    def clear(self):
        for _ in range(self.latency):
            self.clocks.add()
        for node in range(self.shape.nodes):
            self.clocks.add(clear=1, clear_address=node)
        self.children = [[0] * self.shape.fanout for _ in range(self.shape.nodes)]

    def _enter(self, *, out, **fields):
        clock = self.clocks.add(i=dict(valid=1, **fields))
        kept = {name: fields.get(name, 0) for name in ("set", "find")}
        self.clocks.expect(clock + self.latency, o=dict(valid=1, **kept, **out))

    def index(self, node, child):
        """An index of this child, anything in the digits of the levels below."""
        shape = self.shape
        low = self.rng.randrange(1 << shape.shift)
        high = node << self.config.digit_width if shape.nodes > 1 else 0
        return (high | child) << shape.shift | low

    def set(self, node, child, total):
        index, delta = self.index(node, child), total - self.children[node][child]
        # One leaf changes at a time.
        delta = max(-self.config.priority_limit, min(self.config.priority_limit, delta))
        self.children[node][child] += delta
        self._enter(set=1, index=index, delta=delta, out=dict(index=index, delta=delta))

    def find(self, node, target):
        """The child whose part of the node's running total holds ``target``."""
        children, total = self.children[node], sum(self.children[node])
        assert 0 <= target < total
        child = next(c for c in range(len(children)) if target < sum(children[: c + 1]))
        # Above a root there is no other node.
        room = (1 << self.parent.width) - 1 - total if self.shape.nodes > 1 else 0
        base = self.rng.choice([0, room, self.rng.randint(0, room)])
        path = self.index(node, 0) >> (self.shape.shift + self.shape.child_width)
        path <<= self.shape.shift + self.shape.child_width
        self._enter(
            find=1,
            index=path,
            base=base,
            target=base + target,
            upper=base + total,
            out=dict(
                index=path | child << self.shape.shift,
                base=sum(children[:child]),
                target=target,
                upper=sum(children[: child + 1]),
            ),
        )

    def bubble(self):
        """Nothing, with the rest of an operation beside it."""
        rng, shape = self.rng, self.shape
        index = self.index(rng.randrange(shape.nodes), rng.randrange(shape.fanout))
        delta = rng.randint(1, self.config.priority_limit)
        clock = self.clocks.add(
            i=dict(valid=0, set=1, find=rng.randrange(2), index=index, delta=delta)
        )
        self.clocks.expect(clock + self.latency, o=dict(valid=0))

    def find_boundaries(self, node):
        """Both sides of each prefix sum, both ends of the node."""
        sums = [sum(self.children[node][:c]) for c in range(self.shape.fanout + 1)]
        for target in sorted({s + d for s in sums for d in (-1, 0)}):
            if 0 <= target < sums[-1]:
                self.find(node, target)

    def find_any(self, node):
        total = sum(self.children[node])
        if total:
            self.find(node, self.rng.choice([0, total - 1, self.rng.randrange(total)]))
        else:
            self.bubble()


def run_each(simulate, directory, cases, seed, enter):
    """``enter(nodes)`` of each of ``cases``, in one simulation."""
    nodes = {case: Nodes(case, seed) for case in cases}
    for each in nodes.values():
        enter(each)
    run_together(simulate, directory, {k: (each.clocks, each.unit) for k, each in nodes.items()})


@EACH_CASE
def test_shape(case):
    """The cases are what they are called, and latencies worked by hand."""
    config, level, style, latency = CASES[case]
    shape = config.levels[level]
    assert (shape.nodes == 1) == (style == "register")
    assert style in ("register", shape.style)
    assert shape.latency == latency


def test_boundaries_and_zero_children(simulate, tmp_path):
    """One child alone, then a node full, then with holes: no draw finds a child of zero."""
    run_each(simulate, tmp_path, CASES, 1, boundaries)


def boundaries(nodes):
    fanout = nodes.shape.fanout
    for node in {0, nodes.shape.nodes - 1}:
        for child in sorted({0, 1, fanout // 2, fanout - 2, fanout - 1}):
            nodes.set(node, child, 1)
            nodes.find_boundaries(node)
            nodes.set(node, child, 0)
        for child in range(fanout):
            nodes.set(node, child, 1 + child % 3)
        nodes.find_boundaries(node)
        for holes in ({0}, {fanout - 1}, set(range(0, fanout, 2)), set(range(1, fanout))):
            for child in range(fanout):
                nodes.set(node, child, 0 if child in holes else nodes.rng.randint(1, 9))
            nodes.find_boundaries(node)


@FEW_CASES
def test_back_to_back(simulate, tmp_path, cases):
    """A set and a find of one node 1 to 7 clocks apart, with bubbles, or with the neighbour's
    operations between them."""
    run_each(simulate, tmp_path, cases, 2, back_to_back)


def back_to_back(nodes):
    rng, shape = nodes.rng, nodes.shape
    for distance in range(1, 8):
        for busy in (False, True):
            node = rng.randrange(shape.nodes)
            other = (node + 1) % shape.nodes
            child = rng.choice([0, shape.fanout - 1, rng.randrange(shape.fanout)])
            nodes.set(node, child, rng.randint(1, nodes.limit))
            for _ in range(distance - 1):
                if not busy:
                    nodes.bubble()
                elif rng.random() < 0.5:
                    nodes.set(other, child, rng.randint(0, nodes.limit))
                else:
                    nodes.find_any(other)
            nodes.find_boundaries(node)
            nodes.set(node, child, 0)
            nodes.find_any(node)


@FEW_CASES
def test_random_operations(simulate, tmp_path, cases):
    """Of one node, of few, of all; children up to their largest total; then a sweep to zero."""
    run_each(simulate, tmp_path, cases, 3, any_operations)


def any_operations(nodes):
    rng, shape = nodes.rng, nodes.shape
    last = shape.nodes - 1
    for few in ([last], [0, last], range(min(shape.nodes, 4)), range(shape.nodes)):
        for _ in range(250):
            node, child = rng.choice(few), rng.choice([0, shape.fanout - 1, None])
            action = rng.random()
            if action < 0.1:
                nodes.bubble()
            elif action < 0.5:
                nodes.find_any(node)
            else:
                child = rng.randrange(shape.fanout) if child is None else child
                nodes.set(node, child, rng.choice([0, 1, nodes.limit, rng.randint(0, nodes.limit)]))
    nodes.clear()
    for node in {0, last}:
        nodes.set(node, shape.fanout - 1, 1)
        nodes.find_boundaries(node)

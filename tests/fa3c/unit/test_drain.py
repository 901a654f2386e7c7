"""hw.fa3c.unit.drain: sums of groups against the order of additions that a layer states."""

import json

import numpy as np
import pytest
from arith.adder_tree_twin import adder_tree
from fa3c.numbers import as_int, numbers
from packed import packed
from pauses import SOLID

from hw.arith.arithmetic import Arithmetic
from hw.fa3c.config import SLOTS, Fa3cConfig
from hw.fa3c.rows import ROW
from hw.fa3c.unit.drain import GROUP, READ, Drain
from hw.fa3c.unit.output_rows import OutputRows
from hw.stream.ram import SHALLOW
from hw.verilog import to_verilog
from sim.model.arith import float32
from sim.model.nn.product import Order, product_float

_ZERO, _MINUS_ZERO = np.float32(0), np.float32(-0.0)

FORWARD, LINEAR = dict(relu=1), dict()
BACKWARD, GRADIENT = dict(mask=1), dict(gradient=1)

_LONG = pytest.mark.long
#: lanes, drain_words, gaps of operands and sums, of rows; all with all are long.
_SOON = [(2, 4, 0.4, 0.8), (4, 2, 0, SOLID)]
CASES = [
    pytest.param(*case, marks=() if case in _SOON else _LONG)
    for sizes in ((1, 16), (2, 4), (4, 2), (8, 8), (8, 1))
    for gaps in ((0, 0), (0.4, 0), (0, SOLID), (0.4, 0.8))
    if (case := (*sizes, *gaps))
]


def outputs(sums, count, partials, *, bias=_MINUS_ZERO, mask=None, relu=False):
    """Rows [count, 16] of ``sums`` [slots, lanes, 16]."""
    values = sums.reshape(partials, -1, *sums.shape[1:])[:, :count]
    values = values.transpose(0, 2, 1, 3).reshape(-1, count, ROW)
    total = float32.add(adder_tree(Arithmetic(), values), bias)
    if mask is not None:
        return np.where(float32.flush(mask) == 0, _ZERO, total)
    return np.where(np.signbit(total), _ZERO, total) if relu else total


class Groups:
    """Groups one after the other, with their sums, biases and masks."""

    def __init__(self, config, seed):
        self.config, self.rng = config, np.random.default_rng(seed)
        self.vectors = dict(groups=[], biases=[], masks=[], o=[], gradients=[])

    def add(self, count, *, zeros=False, **fields):
        """One more group; with ``zeros``, all of its sums and its bias are -0."""
        config, rng, vectors = self.config, self.rng, self.vectors
        half = len(vectors["groups"]) % 2
        partials = config.partials if fields.get("split") else 1
        sums = np.full((SLOTS, config.lanes, ROW), _MINUS_ZERO)
        sums = sums if zeros else numbers(sums.shape, rng)
        if fields.get("gradient"):
            used = range(count + fields.get("bias", 0))
            rows = list(sums[:count].reshape(-1, ROW))
            rows += [sums[count, 0]] if fields.get("bias") else []
        else:
            used = [n + p * SLOTS // partials for p in range(partials) for n in range(count)]
            operands = {}
            if fields.get("mask"):
                operands["mask"] = numbers((count, ROW), rng, corners=0.5)
                self._append("masks", operands["mask"])
            else:
                bias = np.full(ROW, _MINUS_ZERO)
                operands["bias"] = bias if zeros else numbers(ROW, rng)
                self._append("biases", [operands["bias"]])
            relu = bool(fields.get("relu"))
            rows = outputs(sums, count, partials, relu=relu, **operands)
        self._append("gradients" if fields.get("gradient") else "o", rows)
        # What is read last is written first: a half that is free too early shows it.
        writes = [(half * SLOTS + slot, f"{as_int(sums[slot]):x}") for slot in reversed(used)]
        payload, _ = packed(GROUP, dict(count=count, **fields))
        vectors["groups"].append(dict(payload=payload, rows=len(rows), writes=writes))

    def _append(self, name, rows):
        self.vectors[name] += [f"{as_int(row):x}" for row in rows]

    def run(self, simulate, directory, **case):
        path = directory / "vectors.json"
        path.write_text(json.dumps(self.vectors))
        simulate(Drain(self.config), "fa3c.unit.drain_bench", vectors=str(path), **case)


@pytest.mark.parametrize("lanes, drain_words, source_gap, sink_gap", CASES)
def test_groups(simulate, tmp_path, lanes, drain_words, source_gap, sink_gap):
    """The shortest and the longest of each kind, then any after any other."""
    groups = Groups(Fa3cConfig(lanes=lanes, drain_words=drain_words), lanes)
    longest = SLOTS // groups.config.partials
    groups.add(1, **FORWARD)
    groups.add(1, **BACKWARD)
    groups.add(1, **GRADIENT)
    groups.add(SLOTS, **GRADIENT)
    groups.add(SLOTS - 1, bias=1, **GRADIENT)
    groups.add(longest, split=1, **LINEAR)
    groups.add(1, bias=1, **GRADIENT)
    groups.add(1, split=1, relu=1, **BACKWARD)
    groups.add(20, **FORWARD)
    for kind in (LINEAR, FORWARD):
        groups.add(1, split=1, zeros=True, **kind)
    kinds = [FORWARD, LINEAR, BACKWARD, GRADIENT]
    for _ in range(12):
        kind = kinds[groups.rng.integers(4)]
        extra = "bias" if kind is GRADIENT else "split"
        groups.add(int(groups.rng.integers(1, 5)), **kind, **{extra: int(groups.rng.integers(2))})
    groups.run(simulate, tmp_path, seed=lanes, source_gap=source_gap, sink_gap=sink_gap)


@_LONG
@pytest.mark.parametrize("drain_words", [1, 16])
def test_longest_groups(simulate, tmp_path, drain_words):
    """Outputs of all slots, whether they leave sooner or later than they are asked for."""
    groups = Groups(Fa3cConfig(lanes=1, drain_words=drain_words), 7)
    for kind in (FORWARD, BACKWARD):
        groups.add(SLOTS, **kind)
    groups.run(simulate, tmp_path, seed=1, source_gap=0, sink_gap=0)


@pytest.mark.parametrize(
    "lanes, drain_words, split",
    [(4, 2, 0), (1, 16, 0), *(pytest.param(*case, marks=_LONG) for case in ((1, 1, 1), (4, 2, 1)))],
)
def test_pace_of_outputs(simulate, tmp_path, lanes, drain_words, split):
    """No clock is lost between rows, nor between groups, of more rows than there are places."""
    config = Fa3cConfig(lanes=lanes, drain_words=drain_words)
    groups, latency, steps = Groups(config, 1), Drain.latency_of(config), 16 // drain_words
    # A queue; the line and a register; tree, partial sums, bias; a queue; words of a row.
    tree = {1: 0, 2: 1, 4: 2}[lanes]
    assert latency == 1 + 2 + 6 * (tree + 1 + 1) + 1 + steps
    counts = 16, 15
    for count, kind in zip(counts, (FORWARD, BACKWARD), strict=True):
        groups.add(count, split=split, **kind)
    pace, first = steps * (1 + split), latency + split * steps
    groups.vectors["clocks"] = [first + pace * row for row in range(sum(counts))]
    assert sum(counts) > OutputRows(config, READ).places
    groups.run(simulate, tmp_path)


@pytest.mark.parametrize("lanes", [pytest.param(1, marks=_LONG), 4])
def test_pace_of_gradients(simulate, tmp_path, lanes):
    groups = Groups(Fa3cConfig(lanes=lanes), 1)
    groups.add(3, **GRADIENT)
    groups.add(5, bias=1, **GRADIENT)
    groups.vectors["clocks"] = [2 + row for row in range(8 * lanes + 1)]
    groups.run(simulate, tmp_path)


@pytest.mark.parametrize("lanes, partials", [(1, 1), (1, 2), (4, 2), (16, 1)])
def test_order_of_additions(lanes, partials):
    """That of ``product_float``, where each lane of each partial sum is a chain."""
    rng = np.random.default_rng(lanes)
    depth = 6 * partials * lanes
    scale = rng.standard_normal((1, depth)).astype(np.float32)
    rows = rng.standard_normal((depth, ROW)).astype(np.float32)
    sums = np.full((SLOTS, lanes, ROW), np.nan, np.float32)
    total = np.full((partials * lanes, ROW), _MINUS_ZERO)
    for products in float32.multiply(scale.T, rows).reshape(6, partials * lanes, ROW):
        total = float32.add(products, total)
    sums[:: SLOTS // partials] = total.reshape(partials, lanes, ROW)
    found = outputs(sums, 1, partials)
    expected = product_float(scale, rows, Order(depth, 1, partials * lanes))
    assert (found.view(np.uint32) == expected.view(np.uint32)).all()


@pytest.mark.parametrize("drain_words", [1, 2, 4, 8, 16])
@pytest.mark.parametrize("lanes", [1, 2, 4, 8, 16])
def test_places(lanes, drain_words):
    """What waits for the words of a row fits lookup tables, whose queue is counted with 1 clock."""
    config = Fa3cConfig(lanes=lanes, drain_words=drain_words)
    assert 2 <= (places := OutputRows(config, 2).places)
    assert (places - 1) * 16 // drain_words <= SHALLOW


@_LONG
@pytest.mark.parametrize("lanes, drain_words", [(8, 1), (16, 4)])
def test_elaborates(lanes, drain_words):
    config = Fa3cConfig(lanes=lanes, drain_words=drain_words)
    adders = drain_words * lanes  # of lanes, and for the bias
    assert to_verilog(Drain(config), name="drain").count("rlfabric_float32_add ") == adders

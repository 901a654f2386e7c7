"""manager against the twin manager, and the twin against plain arithmetic."""

import itertools
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from later import later
from replay.tree.operations import SEED, expected, random_operations, request_words, response

from hw.replay.config import ReplayConfig
from hw.replay.tree.manager import ReplayManager
from hw.verilog import to_verilog
from sim.model.replay.tree.loops import scale
from sim.model.replay.tree.manager import FIND, GET, SAMPLE, SET, UNIFORM
from sim.model.replay.tree.manager import ReplayManager as Twin
from sim.streams import StreamUnit

LARGE = 1 << 20
HUNDRED_THOUSAND = [
    dict(capacity=37, fanout=2),
    dict(capacity=1000, fanout=4),
    dict(capacity=70_001, fanout=16),
    dict(capacity=5000, fanout=64, ultra_ram=False),
    dict(capacity=LARGE, fanout=16),
    dict(capacity=LARGE, fanout=64),
]


@pytest.mark.parametrize(
    "bad, rule",
    [
        (dict(capacity=1), "capacity must be an integer in 2..16777216, not 1"),
        (dict(capacity=2.5), "capacity must be an integer"),
        (dict(fanout=3), "fanout must be a power of two, not 3"),
        (dict(fanout=128), "fanout must be an integer in 2..64, not 128"),
        (dict(priority_width=32, capacity=1 << 20), "priority_width must be at most 28"),
        (dict(priority_fraction=24), "priority_fraction must be an integer in 0..23, not 24"),
    ],
)
def test_config_rejects(bad, rule):
    with pytest.raises(ValueError, match=rule):
        ReplayConfig(**bad)


def test_config_round_trip():
    config = ReplayConfig(capacity=1000, fanout=4)
    assert ReplayConfig.from_json(config.to_json()) == config
    assert config.hash64 != ReplayConfig(capacity=1001, fanout=4).hash64


@pytest.mark.parametrize(
    "capacity, fanout",
    [(2, 2), (2, 64), (65, 64), (64, 64), (1000, 16), (LARGE, 16), (LARGE - 1, 2), (1 << 24, 64)],
)
def test_shapes_cover_the_leaves(capacity, fanout):
    config = ReplayConfig(capacity=capacity, fanout=fanout)
    root, *_, leaf = [config.levels[0], *config.levels]
    assert root.nodes == 1 and 2 <= root.fanout <= fanout
    assert leaf.nodes * fanout >= capacity > (leaf.nodes - 1) * fanout or config.depth == 1
    assert config.table_rows * config.table_lanes >= capacity


@pytest.mark.parametrize("fanout", [2, 4, 8, 16, 32, 64])
def test_answers_have_places(fanout):
    """For an operation a clock: one for each clock of the latency, and for the one in which an
    answer leaves. Of every depth of a tree."""
    for bits in range(1, 25):
        config = ReplayConfig(
            capacity=1 << bits, fanout=fanout, priority_width=16, priority_fraction=8
        )
        places = ReplayManager(config).queue_depth
        assert places > config.latency, config.to_json()


# -- the RTL against the twin, stalls on both sides


@pytest.mark.parametrize(
    "config, operations",
    [
        later(dict(capacity=2, fanout=2), 3000),
        later(dict(capacity=3, fanout=64), 3000),
        (dict(capacity=300, fanout=4), 1000),
        later(dict(capacity=300, fanout=4), 3000),
        later(dict(capacity=17, fanout=4, priority_width=4, priority_fraction=0), 3000),
    ],
    ids=str,
)
def test_any_interleaving_under_stalls(simulate, config, operations):
    simulate(
        ReplayManager(ReplayConfig(**config)),
        "replay.tree.manager_bench",
        config=config,
        operations=operations,
    )


@pytest.mark.parametrize(
    "config, count",
    [
        (dict(capacity=37, fanout=2), 36_000),
        *(later(config, 120_000) for config in HUNDRED_THOUSAND),
    ],
    ids=str,
)
def test_many_operations(config, count):
    config = ReplayConfig(**config)
    operations = random_operations(config, count, random.Random(2))
    step = UNIFORM // 37
    wanted, twin = expected(config, operations, step)
    unit = StreamUnit(ReplayManager(config), name="manager")
    unit.wait("idle", 1, 3 * config.capacity + 1000)
    unit.set("seed", sum(word << 64 * k for k, word in enumerate(SEED)))
    unit.set("load", 1)
    unit.step()
    unit.set("load", 0)
    unit.set("stratum_width", step)
    unit.step(2)
    words, got, part = request_words(config, operations), [], len(operations) // 12
    # Most of it back to back, where forwarding works hardest.
    gaps = itertools.cycle([(0, 0), (0, 0), (0.5, 0), (0, 0.5), (0.3, 0.3)])
    for begin, (source_gap, sink_gap) in zip(range(0, len(words), part), gaps, strict=False):
        answers, clocks = unit.run(
            words[begin : begin + part], source_gap=source_gap, sink_gap=sink_gap, seed=begin
        )
        got += [response(config, word) for word in answers]
        if source_gap == sink_gap == 0:
            assert clocks == part + config.latency
    for k, (answer, want) in enumerate(zip(got, wanted, strict=True)):
        assert answer == want, f"operation {k} {operations[k]}: {answer}, not {want}"
    assert unit.get("total") == twin.total and unit.get("maximum") == twin.maximum
    assert unit.get("state") == sum(int(w) << 64 * k for k, w in enumerate(twin.state))


# -- the twin against what others wrote


def loaded(capacity, fanout, priorities):
    twin = Twin(ReplayConfig(capacity=capacity, fanout=fanout))
    twin.set(np.arange(len(priorities)), priorities)
    return twin


@settings(deadline=None)  # the first call compiles it
@given(st.integers(0, UNIFORM - 1), st.integers(0, UNIFORM - 1))
def test_scale_is_exact(a, b):
    assert int(scale(np.uint64(a), np.uint64(b))) == (a * b) >> 48


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_twin_finds_what_searchsorted_finds(data):
    capacity = data.draw(st.integers(2, 400))
    fanout = data.draw(st.sampled_from([2, 4, 16, 64]))
    priorities = np.array(
        data.draw(
            st.lists(
                st.one_of(st.just(0), st.integers(0, (1 << 24) - 1)), min_size=1, max_size=capacity
            )
        ),
        np.uint64,
    )
    twin = loaded(capacity, fanout, priorities)
    cumulative = np.cumsum(priorities)
    assert twin.total == cumulative[-1]
    if twin.total:
        targets = np.array(
            data.draw(st.lists(st.integers(0, twin.total - 1), min_size=1)), np.uint64
        )
        indexes, found, errors = twin.find(targets)
        assert not errors.any()
        np.testing.assert_array_equal(indexes, np.searchsorted(cumulative, targets, side="right"))
        np.testing.assert_array_equal(found, priorities[indexes])
        assert (found > 0).all()


def test_twin_draws_numpys_numbers():
    generator = np.random.SFC64(7)
    twin = loaded(500, 16, np.arange(500))
    twin.seed(generator.state["state"]["state"])
    indexes, _, _ = twin.sample(300)
    fractions = [int(number) >> 16 for number in generator.random_raw(300)]
    targets = [fraction * twin.total >> 48 for fraction in fractions]
    np.testing.assert_array_equal(
        indexes, np.searchsorted(np.cumsum(np.arange(500)), targets, side="right")
    )
    np.testing.assert_array_equal(twin.state, generator.state["state"]["state"])


@pytest.mark.parametrize("batch", [1, 2, 3, 32, 1000])
def test_strata_hold_one_draw_each(batch):
    twin = loaded(4096, 16, np.full(4096, 1000))
    indexes, _, _ = twin.sample(batch, stratum_width=UNIFORM // batch)
    width = 4096 / batch
    stratum = np.arange(batch)
    assert (indexes >= np.floor(stratum * width) - 1).all()
    assert (indexes <= np.ceil((stratum + 1) * width)).all()


def test_errors_change_nothing():
    twin = Twin(ReplayConfig(capacity=10, fanout=4))
    assert twin.sample(3)[2].all() and twin.find([0])[2].all()
    assert twin.set([10, 3, 11], [5, 6, 7]).tolist() == [True, False, True]
    assert twin.total == twin.maximum == 6
    assert twin.get([3, 10])[0].tolist() == [6, 0] and twin.get([3, 10])[1].tolist() == [0, 1]


def test_operation_codes_are_the_hardwares():
    from hw.replay.tree.manager import Operation

    assert [o.name for o in Operation] == ["GET", "SET", "SAMPLE", "FIND"]
    assert (GET, SET, SAMPLE, FIND) == tuple(o.value for o in Operation)


def test_verilog_does_not_grow_with_the_capacity():
    """Sixteen times the leaves are one level more and wider sums: no word of memory is written."""
    configs = [ReplayConfig(capacity=capacity) for capacity in (1 << 12, 1 << 16)]
    sizes = [len(to_verilog(ReplayManager(config), name="manager")) for config in configs]
    for small, large, config in zip(sizes, sizes[1:], configs, strict=False):
        assert large < 1.15 * small * (config.depth + 1) / config.depth

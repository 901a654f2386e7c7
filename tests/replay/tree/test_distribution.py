"""Draws of the kernel against the priorities; and the float trees of others."""

import numpy as np
import pytest
from later import later
from replay.kernels import WIDE, opened
from replay.programs import Program, Rig, status_of
from replay.tree.chi_square import chi_square, p_value
from replay.tree.float_tree import FloatTree

from hw.replay.commands import Opcode
from hw.replay.config import FRACTION_WIDTH
from hw.replay.records import HEADER

LEAVES, BATCH = 1500, 512  # half of the places of the kernel: the rest must not be drawn
MILLION = 1_000_000
LIMIT = WIDE.replay.priority_limit


def skewed():
    """Raw priorities ``u**4``, half of them zero, the ends of the list among both kinds."""
    rng = np.random.default_rng(11)
    raw = np.floor(rng.random(LEAVES) ** 4 * LIMIT).astype(np.uint64)
    raw[rng.permutation(LEAVES)[: LEAVES // 2]] = 0
    raw[0], raw[-1], raw[1], raw[-2] = 0, 0, LIMIT, 1
    return raw


@pytest.fixture(scope="module")
def rig():
    """The kernel on card ``sim``, loaded with ``skewed`` priorities and no experiences."""
    program = Program()
    program.setup(WIDE.replay.capacity, 0, 1)
    program.raw(Opcode.SEED, state=np.random.SFC64(5).state["state"]["state"])
    program.insert(np.zeros((LEAVES, 0), np.uint8))
    program.listed(Opcode.SET, list(enumerate(skewed())))
    with opened("sim", WIDE) as kernel:
        rig = Rig(kernel, 4096)
        shell, replay = status_of(rig.run(program.launch())["status"])
        assert shell["error"] == 0 and replay["total"] == skewed().sum()
        yield rig


def batches(rig, program, count, size):
    """Headers [count, size] of the batches of a program."""
    launch = program.launch()
    outputs = rig.run(launch)
    assert status_of(outputs["status"])[0]["error"] == 0
    return outputs["results"][: launch.results_bytes].view(HEADER.dtype).reshape(count, size)


def batches_of(rig, draws, step):
    """Indexes [batches, BATCH] of at least so many draws."""
    drawn, left = [], -(-draws // BATCH)
    while left:
        program, count = Program(), min(left, 100)
        for _ in range(count):
            program.sample(BATCH, stratum_width=step)
        drawn.append(batches(rig, program, count, BATCH)["index"])
        left -= count
    drawn = np.concatenate(drawn).astype(np.int64)
    assert drawn.size >= draws and drawn.max() < LEAVES
    assert (skewed()[drawn] > 0).all(), "a leaf of zero priority was drawn"
    return drawn


def test_uniform_draws_follow_the_priorities(rig):
    drawn, raw = batches_of(rig, MILLION, 1 << FRACTION_WIDTH), skewed()
    counts = np.bincount(drawn.reshape(-1), minlength=LEAVES)
    statistic, freedom = chi_square(counts, drawn.size * raw / raw.sum())
    assert freedom > 400 and 0.001 < p_value(statistic, freedom) < 0.999
    # The position in the batch tells nothing.
    for part in (drawn[:, 0], drawn[:, -1], drawn[0::2], drawn[:, BATCH // 2 :]):
        counts = np.bincount(part.reshape(-1), minlength=LEAVES)
        assert p_value(*chi_square(counts, part.size * raw / raw.sum())) > 0.001


@pytest.mark.parametrize("draws", [MILLION // 4, later(MILLION)])
def test_stratified_draws_follow_the_priorities_in_each_stratum(rig, draws):
    step = (1 << FRACTION_WIDTH) // BATCH
    drawn, raw = batches_of(rig, draws, step), skewed()
    ends = np.cumsum(raw).astype(float)
    width = ends[-1] / BATCH
    low = np.arange(BATCH)[:, None] * width
    overlap = np.minimum(ends, low + width) - np.maximum(ends - raw, low)
    expected = len(drawn) * np.maximum(overlap, 0) / width
    counts = np.zeros((BATCH, LEAVES))
    np.add.at(counts, (np.broadcast_to(np.arange(BATCH), drawn.shape), drawn), 1)
    # A stratum is a fraction of less than one unit of priority off: two units decide.
    assert not counts[overlap < -2].any(), "a draw left its stratum"
    statistic, freedom = chi_square(counts, expected)
    assert freedom > 400 and 0.001 < p_value(statistic, freedom) < 0.999


def test_every_leaf_holds_exactly_its_share(rig):
    """FIND of the first and the last unit of every leaf: none lost, none shared."""
    raw = skewed()
    leaves, ends = np.flatnonzero(raw), np.cumsum(raw)
    for positions in ((ends - raw)[leaves], ends[leaves] - 1):
        program = Program()
        program.listed(Opcode.FIND, positions)
        headers = batches(rig, program, 1, len(leaves))[0]
        np.testing.assert_array_equal(headers["index"], leaves)
        np.testing.assert_array_equal(headers["priority"], raw[leaves])


# -- what sees it: the test itself, and the trees of others


@pytest.mark.parametrize("freedom, quantile", [(10, 29.588), (100, 149.449), (500, 603.446)])
def test_p_value_of_published_quantiles(freedom, quantile):
    """NIST handbook of statistics, table 1.3.6.7.4, and R: upper 0.001."""
    assert p_value(quantile, freedom) == pytest.approx(0.001, rel=0.1)


def test_chi_square_sees_a_small_bias():
    """One leaf in a hundred with half as much again is found in a million draws."""
    rng, raw = np.random.default_rng(2), skewed()
    biased = np.where(np.arange(LEAVES) % 100 == 1, 1.5, 1.0) * raw
    for priorities, fits in ((raw, True), (biased, False)):
        counts = rng.multinomial(1_000_000, priorities / priorities.sum())
        p = p_value(*chi_square(counts, 1_000_000 * raw / raw.sum()))
        assert (p > 0.001) == fits


def float_priorities(zeros):
    rng, leaves = np.random.default_rng(1), 1 << 20
    priorities = (rng.random(leaves) ** 4 + 1e-6).astype(np.float32)
    if zeros:
        priorities[rng.random(leaves) < 0.5] = 0
    return priorities


def test_float32_tree_cannot_draw_every_leaf():
    """2**20 leaves: over a quarter of those at the end are the answer to no float32 at all."""
    priorities = float_priorities(zeros=False)
    tree = FloatTree(priorities)
    masses = tree.last_masses(1 << 22)
    ends = np.cumsum(priorities, dtype=np.float64)
    inside = np.flatnonzero((ends - priorities >= masses[0]) & (ends <= masses[-1]))
    drawn = np.bincount(tree.find(masses), minlength=len(priorities))[inside]
    assert len(inside) > 300_000 and 0.25 < (drawn == 0).mean() < 0.35


def test_float32_tree_finds_leaves_of_zero_priority():
    priorities = float_priorities(zeros=True)
    tree = FloatTree(priorities)
    assert (priorities[tree.find(tree.last_masses(1 << 22))] == 0).any()


@pytest.mark.long
def test_cpprb_draws_leaves_of_zero_priority():
    """The library itself (C++, float32; its draws are not seeded): some 2000 of 4 million."""
    cpprb = pytest.importorskip("cpprb", reason="pip install -e .[peers]")
    priorities = float_priorities(zeros=True)
    buffer = cpprb.PrioritizedReplayBuffer(
        len(priorities), {"x": {"dtype": np.int8}}, alpha=1.0, eps=0.0
    )
    buffer.add(x=np.zeros(len(priorities), np.int8), priorities=priorities)
    drawn = np.concatenate([buffer.sample(100_000, beta=0.0)["indexes"] for _ in range(40)])
    assert (priorities[drawn] == 0).sum() > 100

"""hw.replay.weight: twin against the formula in float64, hardware against the twin."""

import itertools

import numpy as np
import pytest
from arith.vectors import check_stream, words
from later import later

from hw.replay.weight import WeightConfig, WeightUnit
from sim.model.replay.weight import weight


def operands(config, count):
    """``(priority, total, count)``: all corners crossed, then random of every size."""
    rng = np.random.default_rng(8)
    widths = config.priority_width, config.total_width, config.count_width
    corners = [sorted({0, 1, 1 << (width - 1), (1 << width) - 1}) for width in widths]
    corners = np.array(list(itertools.product(*corners))).T
    random = [rng.integers(1, 1 << w, count) >> rng.integers(0, w, count) for w in widths]
    return np.concatenate([corners, random], axis=1)


@pytest.mark.parametrize(
    "values, rule",
    [
        (dict(priority_width=0), "priority_width must be an integer in 1..62, not 0"),
        (dict(total_width=49), "total_width must be an integer in 1..48, not 49"),
        (dict(count_width=40), r"count_width must be an integer in 1..39 .*, not 40"),
    ],
)
def test_config_rejects(values, rule):
    with pytest.raises(ValueError, match=rule):
        WeightConfig(**values)


@pytest.mark.parametrize("beta", [0, 1, 13107, 32768, 65535])
def test_twin_is_the_formula(beta):
    # Widest exponents: every weight has to stay a normal float32.
    config = WeightConfig(priority_width=31, total_width=48, count_width=32)
    priority, total, count = values = operands(config, 50_000)
    got = weight(*values, beta)
    assert got.dtype == np.float32
    never = (values == 0).any(axis=0)
    assert not got[never].any()
    priority, total, count, got = priority[~never], total[~never], count[~never], got[~never]
    exact = (count * (priority / total)) ** -(beta * 2.0**-15)
    bound = 2.0**-17 if beta <= 1 << 15 else 2.0**-16.2
    assert abs(got / exact - 1).max() < bound
    assert got.min() >= np.finfo(np.float32).tiny and np.isfinite(got).all()
    if beta == 0:
        assert (got == 1).all()


def test_normalised_weights_of_a_batch():
    """The use: draws from 1000 leaves, divided by the maximum of the batch."""
    rng = np.random.default_rng(9)
    leaves = rng.integers(1, 1 << 20, 1000)
    drawn = rng.choice(leaves, 64, p=leaves / leaves.sum())
    got = weight(drawn, leaves.sum(), 1000, 13107)
    exact = (1000 * drawn / leaves.sum()) ** -(13107 / 32768)
    np.testing.assert_allclose(got / got.max(), exact / exact.max(), rtol=2.0**-17)


@pytest.mark.parametrize(
    "config, beta",
    [
        ({}, 13107),
        later({}, 0),
        (dict(priority_width=31, total_width=48), 65535),
        later(dict(priority_width=1, total_width=1, count_width=1), 32768),
    ],
    ids=str,
)
def test_matches_twin(simulate, tmp_path, config, beta):
    config = WeightConfig(**config)
    priority, total, count = operands(config, 300)
    result = weight(priority, total, count, beta)
    check_stream(
        simulate,
        tmp_path,
        WeightUnit(config),
        words(config.i_layout, priority=priority, total=total, count=count),
        result.view(np.uint32).tolist(),
        inputs={"beta": beta},
    )
    assert WeightUnit.LATENCY == 12

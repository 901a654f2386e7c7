"""hw.replay.priority: twin against the formula in float64, hardware against the twin."""

import numpy as np
import pytest
from arith.vectors import check_stream, words
from later import later

from hw.arith.power import SCALE_FORMAT
from hw.replay.priority import EPSILON_FORMAT, PriorityConfig, PriorityUnit
from sim.model.replay.priority import priority

CONFIG = PriorityConfig()
ONE = 1 << CONFIG.priority_fraction


def errors(count):
    """TD errors: corners of float32 and of both fixed-point formats, then random of every size."""
    rng = np.random.default_rng(7)
    half = 2.0**-17
    corners = [0, half, 1, 2, 3, 256, 65535.996, 65536, 2.0**127, 3.4028235e38, np.inf, np.nan,
               1e-45, 1.1754944e-38, 2.0**-16, 3 * half]  # fmt: skip
    corners = np.array(corners, dtype=np.float32)
    corners = np.concatenate([corners, np.nextafter(corners, np.float32(0))])
    random = rng.standard_normal(count) * np.exp2(rng.uniform(-18, 17, count))
    return np.concatenate([corners, -corners, random]).astype(np.float32)


@pytest.mark.parametrize(
    "values, rule",
    [
        (dict(priority_width=1), "priority_width must be an integer in 2..32, not 1"),
        (dict(priority_width=33), "priority_width must be an integer in 2..32, not 33"),
        (dict(priority_fraction=24), r"priority_fraction must be an integer in 0..23 .*, not 24"),
        (dict(priority_fraction=-1), r"priority_fraction must be an integer in 0..23 .*, not -1"),
    ],
)
def test_config_rejects(values, rule):
    with pytest.raises(ValueError, match=rule):
        PriorityConfig(**values)


@pytest.mark.parametrize("alpha", [0.0, 0.3, 0.6, 0.7, 1.0, 1.999])
@pytest.mark.parametrize("epsilon", [0.0, 0.01, 0.9])
def test_twin_is_the_formula(alpha, epsilon):
    alpha, epsilon = (int(f.quantize(x)[0])
                      for f, x in ((SCALE_FORMAT, alpha), (EPSILON_FORMAT, epsilon)))  # fmt: skip
    td = errors(20_000)
    got, saturated, invalid = priority(td, alpha, epsilon, CONFIG)
    assert np.array_equal(invalid, ~np.isfinite(td)) and not (saturated & invalid).any()
    assert (got[invalid] == 1).all() and got.min() >= 1

    td, got, saturated = td[~invalid].astype(np.float64), got[~invalid], saturated[~invalid]
    error = np.minimum(np.floor(np.abs(td) * 2**16 + 0.5), 2**32 - 1)
    exact = ((error + epsilon) * 2.0**-16) ** (alpha * 2.0**-15) * ONE
    bound = 0.5 + exact * (2.0**-18.4 if alpha <= 1 << 15 else 2.0**-17.4)
    wanted = np.clip(exact, 1, (1 << CONFIG.priority_width) - 1)
    assert (abs(got - wanted) <= bound).all()
    clipped = (np.abs(td) >= 65536 - 2.0**-17) | (exact - bound >= 1 << CONFIG.priority_width)
    within = (np.abs(td) < 65536 - 2.0**-17) & (exact + bound < (1 << CONFIG.priority_width) - 1)
    assert saturated[clipped].all() and not saturated[within].any()


def test_exact_points():
    got, *_ = priority(np.float32([0, 0.25, 1, 4, 100]), 0, 0, CONFIG)
    assert got.tolist() == [ONE] * 5
    got, *_ = priority(np.float32([0, 0.25, -1, 4, 64]), 1 << 14, 0, CONFIG)  # the square root
    assert got.tolist() == [1, ONE // 2, ONE, 2 * ONE, 8 * ONE]
    got, *_ = priority(np.float32([0, 0.5, 1]), 1 << 15, 1 << 15, CONFIG)
    assert got.tolist() == [ONE // 2, ONE, priority(1.5, 1 << 15, 0, CONFIG)[0]]


def test_never_falls_as_the_error_rises():
    td = np.sort(np.abs(errors(50_000)))
    td = td[np.isfinite(td)]
    for alpha in (1, 19661, 1 << 15):
        assert (np.diff(priority(td, alpha, 66, CONFIG)[0]) >= 0).all()


@pytest.mark.parametrize(
    "config, alpha, epsilon",
    [
        ({}, 19661, 655),
        ({}, 0, 0),
        later({}, 32768, 0),
        later({}, 65535, 65535),
        (dict(priority_width=32, priority_fraction=16), 32768, 66),
        later(dict(priority_width=8, priority_fraction=7), 16384, 1),
        (dict(priority_width=8, priority_fraction=7), 32768, 65535),  # clips what is invalid too
        (dict(priority_width=2, priority_fraction=0), 13107, 0),
    ],
    ids=str,
)
def test_matches_twin(simulate, tmp_path, config, alpha, epsilon):
    config = PriorityConfig(**config)
    td = errors(300)
    value, saturated, invalid = priority(td, alpha, epsilon, config)
    check_stream(
        simulate,
        tmp_path,
        PriorityUnit(config),
        td.view(np.uint32).tolist(),
        words(config.o_layout, priority=value, saturated=saturated, invalid=invalid),
        inputs={"alpha": alpha, "epsilon": epsilon},
    )
    assert PriorityUnit.LATENCY == 17

"""tanh_tail and tanh_slope: twins against real numbers, hardware against the twins."""

import numpy as np
from clocks import Clocks, run_together

from hw.arith.fixed import SQ
from hw.fixar.config import FixarConfig
from hw.fixar.numbers.tanh_slope import TanhSlope
from hw.fixar.numbers.tanh_tail import TanhTail
from sim.model.fixar.tanh import slope, tail

FORMATS = FixarConfig().arithmetic
ENDS = [-1 << 31, (1 << 31) - 1, 0, -1, 1, 31, 32, -32, -33, (1 << 23) - 33, (1 << 23) - 32]
ENDS += [1 << 23, -1 << 23, (-1 << 23) - 33, (1 << 22), 1 << 20]


def numbers(rng, shape):
    spread = rng.choice([20, 24, 31], shape)
    some = (rng.uniform(-1, 1, shape) * 2.0**spread).astype(np.int64)
    return np.where(rng.random(shape) < 0.15, rng.choice(ENDS, shape), some)


def test_twins():
    rng = np.random.default_rng(0)
    x = np.concatenate([ENDS, numbers(rng, 2000)])
    a = tail(FORMATS, x)
    # Half a unit each goes into and comes out of tanh.
    assert np.abs(a * 2.0**-14 - np.tanh(x * 2.0**-20)).max() < 1.02 * 2.0**-14
    assert a[:2].tolist() == [-1 << 14, 1 << 14]
    dx = rng.integers(FORMATS.gradient.low, FORMATS.gradient.high + 1, len(a))
    exact = dx * (1 - (a * 2.0**-14) ** 2)
    got = slope(FORMATS, dx, a)
    # The slope is cut to 16 fraction bits.
    assert np.all(np.abs(got - exact) <= np.abs(dx) * 2.0**-16 + 0.5)
    assert slope(FORMATS, np.array([5, -5, 7]), np.array([1 << 14, -1 << 14, 0])).tolist() == [
        0,
        0,
        7,
    ]
    assert tail(FORMATS, np.array([32, 31, -32, -33])).tolist() == [1, 0, 0, -1]


def test_tail(simulate, tmp_path):
    sizes = (4, 6), (16, 6), (4, 1), (16, 40)
    run_together(simulate, tmp_path, {str(each): tails(*each) for each in sizes})


def tails(side, action):
    """A case of ``run_together``."""
    config = FixarConfig(side=side, action=action, batch=10)
    rng = np.random.default_rng(action)
    unit, clocks, clock, leaves = TanhTail(config), Clocks(), 0, {}
    tiles = -(-action // side)
    for k in range(120 // unit.lanes + 10):
        tile = k % tiles
        count = min(action - tile * side, unit.lanes)
        value = numbers(rng, (unit.lanes, 2))
        index = int(rng.integers(config.samples))
        word = dict(index=index, tile=tile, count=count, value=value.tolist())
        clocks.at(clock, i=dict(valid=1, **word))
        for lane, pair in enumerate(tail(FORMATS, value)[:count]):
            leaves[clock + 13 + lane] = dict(
                valid=1, index=index, tile=tile, lane=lane, value=pair.tolist()
            )
        wait = count + int(rng.choice([0, 0, 1, 5]))
        for other in range(clock + 1, clock + wait):
            clocks.at(other, i=dict(valid=0, count=unit.lanes, value=[[1 << 20] * 2] * unit.lanes))
        clock += wait
    assert unit.LATENCY == 13
    for at in range(clock + 13 + side):
        clocks.expect(at, o=leaves.get(at, dict(valid=0)))
    return clocks, unit


def test_slope(simulate, tmp_path):
    rng = np.random.default_rng(3)
    unit, clocks = TanhSlope(FORMATS), Clocks()
    low, high = FORMATS.gradient.low, FORMATS.gradient.high
    for clock in range(400):
        dx = rng.choice([low, high, 0, -1, 1, int(rng.integers(low, high + 1))], 2)
        a = rng.choice([1 << 14, -1 << 14, 0, 1, -1, (1 << 14) - 1, int(rng.integers(1 << 14))], 2)
        valid = int(rng.integers(2))
        clocks.at(clock, i=dict(valid=valid, dx=dx.tolist(), a=a.tolist()))
        clocks.expect(clock + 6, o=dict(valid=valid, value=slope(FORMATS, dx, a).tolist()))
    assert unit.LATENCY == 6 and FORMATS.tanh_format == SQ(4, 14)
    clocks.run(simulate, unit, tmp_path)

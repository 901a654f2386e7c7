"""actions: the twin's noisy actions of every observation, in order, wherever they lie."""

import numpy as np
import pytest

from hw.fixar.actions import Actions, action_format
from hw.fixar.config import FixarConfig
from sim.model.arith.noise import with_noise
from sim.model.arith.to_float import to_float

#: Config, bits of a beat.
CASES = {
    "side 16, 2 cores": (dict(action=6, side=16, cores=2, batch=7), 512),
    "side 4, 3 cores": (dict(action=5, side=4, cores=3, batch=11), 128),
    "side 4, 1 core": (dict(action=8, side=4, cores=1, batch=3), 256),
    "one action": (dict(action=1, side=16, cores=2, batch=9), 512),
    "a sample a core": (dict(action=4, side=4, cores=2, batch=2), 128),
}
QUICK = ("side 16, 2 cores", "side 4, 3 cores")
FRACTION = action_format(FixarConfig()).fraction
ONE = 1 << FRACTION
LARGEST = 0x7F7FFFFF  # what ACT takes


def side_by_side(values, width):
    """An int of numbers, the first lowest."""
    return sum(int(value) << (width * k) for k, value in enumerate(values))


def cells(config, codes, half, rng):
    """``[core][t][tile]``, words as integers: anything where no action is."""
    tiles, side = -(-config.action // config.side), config.side
    words = rng.integers(0, 1 << 32, (config.cores, config.samples, tiles * side), dtype=np.uint32)
    halves = words.view(np.uint16).reshape(*words.shape, 2)
    for b, actions in enumerate(codes):
        j = b // config.cores
        t, part = divmod(j, 2) if half else (j, 0)
        halves[b % config.cores, t, : len(actions), part] = actions.astype(np.uint16)
    return [
        [
            [side_by_side(row[at : at + side], 32) for at in range(0, tiles * side, side)]
            for row in core
        ]
        for core in words
    ]


def act(config, data_width, count, rng, noise, *, half=False):
    """What the bench needs of an ACT."""
    codes = rng.integers(-ONE, ONE + 1, (count, config.action))
    corners = rng.choice([-ONE, ONE, 0, 1, -1, ONE - 1], codes.shape)
    codes = np.where(rng.random(codes.shape) < 0.3, corners, codes)
    bits, seed = np.array(noise, np.uint32), int(rng.integers(0, 1 << 64, dtype=np.uint64))
    actions = with_noise(to_float(codes, FRACTION), bits.view(np.float32), seed)
    granules = np.zeros((count, -(-config.action // 4) * 4), np.float32)
    granules[:, : config.action] = actions
    words, size = granules.view(np.uint32).reshape(-1), data_width // 32
    return dict(
        count=count,
        half=int(half),
        noise=noise,
        seed=seed,
        cells=cells(config, codes, half, rng),
        beats=[side_by_side(words[at : at + size], 32) for at in range(0, len(words), size)],
    )


def bits_of(number):
    return int(np.float32(number).view(np.uint32))


@pytest.mark.parametrize(
    "name",
    [name if name in QUICK else pytest.param(name, marks=pytest.mark.long) for name in CASES],
)
def test_actions(simulate, name):
    values, data_width = CASES[name]
    config, rng = FixarConfig(hidden=(4,), **values), np.random.default_rng(1)
    most, cores = config.batch, config.cores
    unit = Actions(config, data_width)
    acts = [
        act(config, data_width, count, rng, noise, half=half)
        for count, noise, half in (
            (most, bits_of(0.1), False),
            (1, 0, True),
            (most, bits_of(0.5), True),
            (min(most, cores + 1), 1, False),  # the least subnormal number
            (most - 1, LARGEST, True),
            (1, bits_of(2), False),
        )
    ]
    simulate(
        unit,
        "fixar.actions_bench",
        acts=acts,
        read=[[name, field.offset, field.width] for name, field in unit.read.shape()],
        latency=unit.LATENCY,
        interval=unit.interval,
    )

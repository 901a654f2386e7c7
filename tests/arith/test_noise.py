"""noise: the twin's numbers of a seed, in order, whenever they are taken."""

import numpy as np
import pytest

from hw.arith.noise import NOISE_FORMAT, Noise
from sim.model.arith.noise import gaussian, with_noise

SEEDS = (0, 1, (1 << 64) - 1, 0x0123456789ABCDEF, 1 << 63)


def test_noise(simulate):
    simulate(
        Noise(),
        "arith.noise_bench",
        seeds=SEEDS,
        numbers=[[int(g) for g in gaussian(seed, 40)] for seed in SEEDS],
        latency=Noise.LATENCY,
        interval=Noise.INTERVAL,
    )


def test_a_number_is_gaussian_and_fits():
    numbers = gaussian(7, 1 << 16) * NOISE_FORMAT.resolution
    assert abs(numbers.mean()) < 4 / 256
    assert abs(np.square(numbers).mean() - 1) < 4 * 2**0.5 / 256
    assert NOISE_FORMAT.low < -6 * 65535 and 6 * 65535 < NOISE_FORMAT.high


@pytest.mark.parametrize("word, number", [(0, -6 * 65535), ((1 << 64) - 1, 6 * 65535)])
def test_numbers_are_symmetric(monkeypatch, word, number):
    """All parts zero, all ones."""

    class Generator:
        def __init__(self, seed):
            self.state = {"state": {"state": None}}

        def random_raw(self, count):
            return np.full(count, word, np.uint64)

    monkeypatch.setattr(np.random, "SFC64", Generator)
    assert gaussian(1, 2).tolist() == [number, number]


def test_the_first_numbers_of_a_seed():
    """By a generator written from what ACT's command says: state (seed, seed, seed, 1), twelve
    numbers dropped. Hardware and twin might drop another count alike."""
    assert gaussian(1, 2).tolist() == [8969, 64158]
    assert gaussian((1 << 64) - 1, 2).tolist() == [53548, 35042]


def test_noise_is_added_and_limited():
    """By the formula of ACT's command, which hardware and twin might break alike."""
    rng = np.random.default_rng(1)
    actions = np.concatenate([rng.uniform(-1, 1, 60), [1, -1, 0, 0.5]]).astype(np.float32)
    steps, above = gaussian(5, actions.size) / 2**16, 0
    for noise in (0.0, 0.1, 0.9, 3.0):
        whole = actions + noise * steps
        found = with_noise(actions.reshape(16, 4), noise, 5)
        np.testing.assert_allclose(found.ravel(), np.clip(whole, -1, 1), rtol=1e-6, atol=1e-6)
        above += np.count_nonzero((np.abs(whole) > 1) & (np.abs(whole) < 2))
    assert above > 20

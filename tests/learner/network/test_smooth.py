"""Noise on target actions, against the twin and by its formula."""

from types import SimpleNamespace

import numpy as np
import pytest
from clocks import Clocks
from learner.network.test_network import numbers

from hw.arith.arithmetic import Arithmetic
from hw.arith.fixed import SQ
from hw.learner.block.config import BlockShape
from hw.learner.block.layer_config import LayerConfig
from hw.learner.network.smooth import Smooth
from sim.model.arith.noise import gaussian
from sim.model.learner.algorithms.td3 import smoothed

FLOAT, FIXED = Arithmetic(), Arithmetic(kind="fixed")
#: Activations are below 1.
SHORT = Arithmetic(kind="fixed", activation=SQ(1, 9))
STEPS = [
    dict(seed=5, noise=0.4, noise_clip=0.5),
    dict(seed=2**64 - 1, noise=30.0, noise_clip=3.0),
    dict(seed=5, noise=0.4, noise_clip=0.0),
]
#: Noise without a limit, with a seed of 64 bits.
UNLIMITED = dict(seed=2**64 - 5, noise=1.5, noise_clip=np.inf)
#: Some products are infinite, of either sign.
OVERFLOWING = dict(seed=6, noise=3e38, noise_clip=np.inf)
#: As no host sends it; the hardware and its twin take it.
WILD = [dict(seed=9, noise=np.nan, noise_clip=0.25), dict(seed=9, noise=0.4, noise_clip=-0.25)]


@pytest.mark.parametrize("arithmetic", [FLOAT, FIXED, SHORT], ids=["float32", "fixed", "short"])
def test_formula(arithmetic):
    """In float64, of three actions each of 200 samples."""
    rng, config = np.random.default_rng(1), SimpleNamespace(arithmetic=arithmetic)
    mean = np.tanh(rng.normal(size=(3, 200))).astype(np.float32)
    unit = 1 if arithmetic is FLOAT else 2.0**-arithmetic.activation.fraction
    given = mean if arithmetic is FLOAT else np.round(mean / unit).astype(np.int64)
    target = arithmetic.activation
    limits = (-4, 4) if arithmetic is FLOAT else (unit * target.low, unit * target.high)
    for step in STEPS:
        g = gaussian(step["seed"], 600).reshape(200, 3).T / 65536
        noise = np.clip(step["noise"] * g, -step["noise_clip"], step["noise_clip"])
        # Of a format without 1, -1 and the largest number are the limits.
        wanted = np.clip(given * unit + np.clip(noise, *limits), -1, min(1, limits[1]))
        found = smoothed(config, given, step) * unit
        np.testing.assert_allclose(found, wanted, rtol=0, atol=max(1e-6, 0.51 * unit * (unit < 1)))
        assert (
            (wanted == -1).any() == (wanted == min(1, limits[1])).any() == (step["noise_clip"] > 0)
        )


def test_infinite_noise_leads_to_a_limit():
    found = smoothed(SimpleNamespace(arithmetic=FLOAT), np.zeros((1, 4), np.float32), OVERFLOWING)
    g = gaussian(OVERFLOWING["seed"], 4)[None] / 65536
    assert (abs(g) > 1.2).sum() == 3 and (found == np.sign(g)).all()


def test_a_nan_is_no_action():
    mean = np.array([[np.nan, 0.5]], np.float32)
    found = smoothed(SimpleNamespace(arithmetic=FLOAT), mean, STEPS[1])
    assert np.isnan(found[0, 0]) and abs(found[0, 1]) == 1


@pytest.mark.parametrize(
    "arithmetic, lanes, outputs, word",
    [(FLOAT, 1, 1, 1), (FIXED, 2, 3, 2), (SHORT, 4, 4, 4), (FIXED, 1, 5, 1)],
)
def test_matches_twin(simulate, tmp_path, arithmetic, lanes, outputs, word):
    """Batches one after the other, the second of which is not smoothed; the last one is whole and
    comes after a smaller one. Of two paths, the second passes as it is."""
    shape = BlockShape(inputs=2, outputs=outputs, output_word=word)
    config = LayerConfig(arithmetic=arithmetic, lanes=lanes, batch=4 * lanes)
    unit, rng, clocks, start = Smooth(config, shape, 2), np.random.default_rng(3), Clocks(), 2
    latency, interval = unit.latency_of(arithmetic), unit.interval_of(lanes, outputs)
    for number, samples in enumerate((4, 3, 2, 4)):
        last = OVERFLOWING if arithmetic is FLOAT else STEPS[0]
        step = [STEPS[0] if lanes > 1 else UNLIMITED, STEPS[1], WILD[lanes > 1], last][number]
        noisy = number != 1
        words = shape.output_words
        size = 2, samples * lanes, words * word
        actions = numbers(rng, arithmetic, "activation", size, 0.5)
        expected = actions.copy()
        if noisy:
            mean = actions[0, :, :outputs].T
            expected[0, :, :outputs] = smoothed(config, mean, step).T
        clocks.at(start, start=int(noisy))
        ready = start + unit.ready_of(arithmetic, lanes, outputs) if noisy else start
        begins, clock = [], ready
        for k in range(samples):
            clock = max(clock + words, ready + k * interval * noisy) + int(rng.integers(0, 3))
            begins.append(clock)
        end = begins[-1] + words + latency + 4
        for clock in range(start, end):
            stored = min(samples, max(0, (clock - ready) // interval + 1)) if noisy else 1
            begun = sum(each < clock for each in begins) if noisy else 0
            steady = dict(seed=step["seed"], deviation=np.float32(step["noise"]))
            steady |= dict(clip=np.float32(step["noise_clip"]), smoothed=int(noisy))
            clocks.at(clock, samples=samples, begun=int(clock in begins), **steady)
            if clock > start:
                clocks.expect(clock, room=int(stored > begun))
            shown = dict(valid=0)
            for k, begin in enumerate(begins):
                rows = slice(k * lanes, (k + 1) * lanes)
                at = clock - begin - 2
                if 0 <= at < words:
                    value = actions[:, rows, at * word : (at + 1) * word]
                    clocks.at(clock, i=dict(valid=1, index=at, value=value))
                at -= latency
                if 0 <= at < words:
                    filled = min(word, outputs - at * word)
                    value = expected[:, rows, at * word : at * word + filled]
                    shown = dict(valid=1, index=at, value=_padded(value, word))
            clocks.expect(clock, o=shown)
        start = end
    clocks.run(simulate, unit, tmp_path)


def _padded(value, word):
    """Padding may be anything."""
    return [[list(lane) + [None] * (word - len(lane)) for lane in path] for path in value]

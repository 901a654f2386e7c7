"""sample_reader: elements to the rings that want them, scalars to the loss, in order."""

import json

import numpy as np
import pytest
from later import crossed

from hw.arith.arithmetic import Arithmetic
from hw.learner.config import LearnerConfig
from hw.learner.records import WORDS, observation_granules, record_granules, record_words
from hw.learner.samples.sample_reader import SampleReader, feeds
from sim.model.arith.arithmetic import twin_of

FIXED = Arithmetic(kind="fixed")
CONFIGS = {
    "dqn": LearnerConfig(observation=3, action=4, batch=8, lanes=2),
    "dqn, one network": LearnerConfig(
        observation=1, action=2, batch=8, lanes=1, double=False, arithmetic=FIXED
    ),
    "ddpg": LearnerConfig(algorithm="ddpg", observation=3, action=2, batch=8, lanes=1),
    "ddpg fixed": LearnerConfig(
        algorithm="ddpg", observation=2, action=3, batch=16, lanes=4, arithmetic=FIXED
    ),
}


def packed(*fields):
    """Numbers of (value, width), the first lowest."""
    word = at = 0
    for value, width in fields:
        word |= (int(value) & (1 << width) - 1) << at
        at += width
    return word


def expected(config, raw):
    """``(streams, clipped)`` of uint32 ``raw`` [samples, lanes, words]."""
    width = config.arithmetic.shape("activation").width
    twin = twin_of(config.arithmetic)
    numbers, saturated = twin.quantize(raw.view(np.float32), "activation")
    numbers = twin.words(numbers)
    places = {name: (4 + at, n) for name, (at, n) in record_words(config).items()}
    streams, fed = {}, set()
    for ring, routes in feeds(config).items():
        inputs, groups = config.networks[ring][0].inputs, len(config.weight_sources(ring))
        index_width = (inputs - 1).bit_length()
        # In the order of the experience.
        elements = sorted(
            (at + k, first + k, sum(1 << g for g in targets))
            for name, targets, first in routes
            for at, n in [places[name]]
            for k in range(n)
        )
        fed |= {word for word, _, _ in elements}
        streams[ring] = [
            packed(
                (index, index_width),
                (mask, groups),
                (word == elements[-1][0], 1),
                *((number, width) for number in sample[:, word]),
            )
            for sample in numbers
            for word, index, mask in elements
        ]
    scalars = [0, 2, *(places[name][0] for name in ("action", "reward", "discount"))]
    streams["scalars"] = [
        packed(*((lane[word], 32) for lane in sample for word in scalars)) for sample in raw
    ]
    return streams, int(saturated[:, :, sorted(fed)].sum())


def acted(config, raw):
    """``(streams, clipped)`` of observations uint32 [samples, lanes, words]."""
    width = config.arithmetic.shape("activation").width
    twin = twin_of(config.arithmetic)
    numbers, saturated = twin.quantize(raw.view(np.float32), "activation")
    numbers = twin.words(numbers)
    inputs, groups = config.observation, len(config.weight_sources(config.acts))
    words = [
        packed(
            (k, (inputs - 1).bit_length()),
            (1, groups),
            (k == inputs - 1, 1),
            *((number, width) for number in sample[:, k]),
        )
        for sample in numbers
        for k in range(inputs)
    ]
    return {config.acts: words}, int(saturated[:, :, :inputs].sum())


@pytest.mark.parametrize("name, ahead", crossed(list(CONFIGS), (2, 6)))
def test_play(simulate, tmp_path, name, ahead):
    config, rng = CONFIGS[name], np.random.default_rng(1)
    lanes, samples = config.lanes, config.batch // config.lanes
    size = 1 + record_granules(config)
    scale = 200 if config.arithmetic.saturates else 100  # some are clipped
    shape = (samples, lanes, size * WORDS)
    raw = (scale * rng.standard_normal(shape, np.float32)).view(np.uint32)
    streams, clipped = expected(config, raw)
    assert (clipped > 0) == config.arithmetic.saturates
    seen = rng.standard_normal((samples, lanes, WORDS * observation_granules(config)), np.float32)
    seen = (scale * seen).view(np.uint32)
    actions, clipped_seen = acted(config, seen)
    # Experience or observation k is of lane k mod lanes.
    cases = dict(
        train=dict(streams=streams, memory=raw.reshape(-1).tolist(), clipped=clipped),
        act=dict(streams=actions, memory=seen.reshape(-1).tolist(), clipped=clipped_seen),
    )
    file = tmp_path / "vectors.json"
    file.write_text(json.dumps(cases))
    simulate(
        SampleReader(config, raw.size, ahead),
        "learner.samples.sample_reader_bench",
        vectors=str(file),
        lanes=lanes,
        samples=samples,
        ahead=ahead,
        words=4 + sum(record_words(config)["discount"]),
    )

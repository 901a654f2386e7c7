"""batch_memory: what is kept and where, the largest weight, the records that are refused."""

import numpy as np
import pytest
from later import crossed

from hw.learner.config import LearnerConfig
from hw.learner.records import observation_granules, record_granules, record_words
from hw.learner.samples.batch_memory import WORDS, BatchMemory
from hw.replay.records import HEADER
from sim.model.arith.float32 import reciprocal

NAN, INFINITY, MINUS_INFINITY, LARGEST = 0x7FC00000, 0x7F800000, 0xFF800000, 0xFF7FFFFF
# Words of an experience: 10 and 11, so that a granule ends in none or some that are no field's.
DQN = LearnerConfig(observation=4, action=3, batch=8, lanes=2)
DDPG = LearnerConfig(algorithm="ddpg", observation=3, action=3, batch=8, lanes=4)
FULL = LearnerConfig(algorithm="ddpg", observation=2, action=2, batch=8, lanes=1)
# The action lies in the granule of the observation, and observations of two granules.
ONE = LearnerConfig(observation=1, action=2, batch=8, lanes=1)
LONG = LearnerConfig(algorithm="ddpg", observation=5, action=1, batch=8, lanes=2)
CONFIGS = {"dqn": DQN, "ddpg": DDPG, "full": FULL, "one": ONE, "long": LONG}


def records(config, count, rng):
    """uint32 [count, words] with headers, all bits in what nobody reads, and their weights."""
    words = 4 + WORDS * record_granules(config)
    raw = rng.integers(0, 1 << 32, (count, words), dtype=np.uint32)
    raw[:, HEADER.offsets["weight"] // 4] = rng.random(count, np.float32).view(np.uint32)
    end = sum(record_words(config)["discount"])
    raw[:, 4 : 4 + end] = rng.standard_normal((count, end), np.float32).view(np.uint32)
    raw[:, 4 + end :] = NAN
    if config.algorithm == "dqn":
        raw[:, 4 + record_words(config)["action"][0]] = rng.integers(0, config.action, count)
    return raw


def batch(config, data_width, raw, bad=None, acting=False):
    """What the bench needs; ``bad`` is the position of the first bad record, or observation."""
    data = raw.tobytes()
    rest = -len(data) % (data_width // 8)
    data += b"\xff" * rest  # numbers that are none, and the largest weight: nobody may look
    beats = [
        int.from_bytes(data[at : at + data_width // 8], "little")
        for at in range(0, len(data), data_width // 8)
    ]
    weight = raw[:, HEADER.offsets["weight"] // 4].view(np.float32).max()
    if bad is not None and not acting:
        bad = int(raw[bad, 0])
    return dict(
        acting=acting,
        size=raw.shape[1] // WORDS,
        count=len(raw),
        beats=beats,
        weight=int(weight.view(np.uint32)),
        inverse=int(reciprocal(weight).view(np.uint32)),
        bad=bad,
    )


def observations(config, count, rng):
    """uint32 [count, words], none behind the last number of an observation."""
    raw = np.full((count, WORDS * observation_granules(config)), NAN, np.uint32)
    numbers = rng.standard_normal((count, config.observation), np.float32)
    raw[:, : config.observation] = numbers.view(np.uint32)
    return raw


def seen(config, rng):
    """``(raw, first bad)``: as many as there may be, and each number of one in turn is none."""
    yield observations(config, 1, rng), None
    yield observations(config, config.batch - 1, rng), None
    for number in range(config.observation):
        for place in (0, config.batch // 2, config.batch - 1):
            raw = observations(config, config.batch, rng)
            raw[place, number] = (NAN, INFINITY, MINUS_INFINITY)[place % 3]
            raw[-1, -1] = raw[-1, 0] = raw[place, number]
            yield raw, place


def spoiled(config, rng):
    """``(raw, first bad)``: each word of an experience in turn is none."""
    words = record_words(config)
    fields = [(name, at + k) for name, (at, count) in words.items() for k in range(count)]
    for number, (name, word) in enumerate(fields):
        values = [NAN, INFINITY, MINUS_INFINITY]
        if (config.algorithm, name) == ("dqn", "action"):
            values = [config.action, 1 << 31, 0xFFFFFFFF]
        for value in values:
            raw = records(config, config.batch, rng)
            place = number % config.batch
            raw[place, 4 + word] = value
            if place + 1 < config.batch:  # of several, the first counts
                raw[-1, 4 + word] = value
            yield raw, place


@pytest.mark.parametrize("config, data_width", crossed(CONFIGS, (512, 128)))
def test_batch(simulate, config, data_width):
    rng = np.random.default_rng(1)
    batches = []
    for count in (config.batch, config.lanes, config.batch - config.lanes or config.batch):
        batches.append(batch(config, data_width, records(config, count, rng)))
    # A weight of zero, and the largest and smallest numbers that are some.
    for weight, value in ((0, LARGEST), (1.5, 0x00000001), (2.0**-130, 0x80000000)):
        raw = records(config, config.batch, rng)
        raw[:, 2] = np.float32(weight).view(np.uint32)
        if config.algorithm == "ddpg":
            raw[:, 4 : 4 + sum(record_words(config)["discount"])] = value
        batches.append(batch(config, data_width, raw))
    for raw, bad in spoiled(config, rng):
        batches.append(batch(config, data_width, raw, bad))
    # Observations, and experiences among them.
    for number, (raw, bad) in enumerate(seen(config, rng)):
        batches.append(batch(config, data_width, raw, bad, acting=True))
        if number % 3 == 0:
            batches.append(batch(config, data_width, records(config, config.batch, rng)))
    batches.append(batch(config, data_width, records(config, config.lanes, rng)))
    unit = BatchMemory(config, data_width)
    simulate(
        unit,
        "learner.samples.batch_memory_bench",
        lanes=config.lanes,
        data_width=data_width,
        latency=unit.LATENCY,
        batches=batches,
    )

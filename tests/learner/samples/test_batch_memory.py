"""batch_memory: what is kept and where, the largest weight, the records that are refused."""

import numpy as np
import pytest
from later import crossed, later

from hw.arith.arithmetic import Arithmetic
from hw.fixar.config import FixarConfig
from hw.learner.config import LearnerConfig
from hw.learner.records import WORDS, observation_granules, record_granules, record_words
from hw.learner.samples.batch_memory import BatchMemory
from hw.replay.records import HEADER
from sim.model.arith.float32 import reciprocal

NAN, INFINITY, MINUS_INFINITY, LARGEST = 0x7FC00000, 0x7F800000, 0xFF800000, 0xFF7FFFFF
ONE, MINUS_ONE = 0x3F800000, 0xBF800000
#: 2**100 and -2**100.
LIMITS = [0x71800000, 0xF1800000]
# Words of an experience: 10 and 11, so that a granule ends in none or some that are no field's.
DQN = LearnerConfig(observation=4, action=3, batch=8, lanes=2)
DDPG = LearnerConfig(algorithm="ddpg", observation=3, action=3, batch=8, lanes=4)
# Actions and discounts have limits.
FULL = FixarConfig(observation=2, action=2, hidden=(4,), batch=8, cores=1, side=4)
# The action lies in the granule of the observation, and observations of two granules.
SHORT = LearnerConfig(observation=1, action=2, batch=8, lanes=1)
LONG = LearnerConfig(algorithm="ddpg", observation=5, action=1, batch=8, lanes=2)
# In fixed point rewards and discounts have a limit; the reward begins a granule.
FIXED = LearnerConfig(action=3, batch=8, lanes=2, arithmetic=Arithmetic(kind="fixed"))
CONFIGS = {"dqn": DQN, "ddpg": DDPG, "full": FULL, "short": SHORT, "long": LONG, "fixed": FIXED}
#: Words that are read in a clock: 1 of those that are not named.
COUNTS = {DDPG: 2, SHORT: 4, LONG: 4}


def records(config, count, rng):
    """uint32 [count, words] with headers, all bits in what nobody reads, and their weights."""
    words = 4 + WORDS * record_granules(config)
    raw = rng.integers(0, 1 << 32, (count, words), dtype=np.uint32)
    raw[:, HEADER.offsets["weight"] // 4] = rng.random(count, np.float32).view(np.uint32)
    end = sum(record_words(config)["discount"])
    raw[:, 4 : 4 + end] = rng.standard_normal((count, end), np.float32).view(np.uint32)
    raw[:, 4 + end :] = NAN
    if config.discrete:
        raw[:, 4 + record_words(config)["action"][0]] = rng.integers(0, config.action, count)
    if config.bounded:
        _choose(raw, config, rng, action=(ONE, MINUS_ONE, 0), discount=(0, ONE, 1))
    if config.early_priorities:
        numbers = [ONE, *(limit - 1 for limit in LIMITS)]
        _choose(raw, config, rng, reward=numbers, discount=numbers)
    return raw


def _choose(raw, config, rng, **numbers):
    """Chooses the numbers of each field that is named among those given."""
    for name, choices in numbers.items():
        begin, size = record_words(config)[name]
        raw[:, 4 + begin : 4 + begin + size] = rng.choice(choices, (len(raw), size))


def batch(config, data_width, raw, bad=None, acting=False):
    """What the bench needs; ``bad`` is the position of the first bad record, or observation."""
    data = raw.tobytes()
    rest = -len(data) % (data_width // 8)
    data += b"\xff" * rest  # numbers that are none, and the largest weight: nobody may look
    beats = [
        int.from_bytes(data[at : at + data_width // 8], "little")
        for at in range(0, len(data), data_width // 8)
    ]
    weight = raw[:, HEADER.offsets["weight"] // 4].max().view(np.float32)
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
        if config.discrete and name == "action":
            values = [config.action, 1 << 31, 0xFFFFFFFF]
        if config.bounded and name == "action":
            values += [ONE + 1, MINUS_ONE + 1]
        if config.bounded and name == "discount":
            values += [ONE + 1, 1 << 31, MINUS_ONE]
        if config.early_priorities and name in ("reward", "discount"):
            values += LIMITS
        for value in values:
            raw = records(config, config.batch, rng)
            place = number % config.batch
            raw[place, 4 + word] = value
            if place + 1 < config.batch:  # of several, the first counts
                raw[-1, 4 + word] = value
            yield raw, place
    # hw_core 3: weights that are none.
    for place, value in enumerate((NAN, INFINITY, MINUS_INFINITY, MINUS_ONE, 1 << 31, 0x80000001)):
        raw = records(config, config.batch, rng)
        raw[place, 2] = raw[-1, 2] = value
        yield raw, place
    # Nothing can be divided by the largest; the last record is named.
    for value in (0, 0x007FFFFF):
        raw = records(config, config.batch, rng)
        raw[:, 2] = value
        yield raw, config.batch - 1


@pytest.mark.parametrize(
    "config, data_width",
    [
        *crossed({name: x for name, x in CONFIGS.items() if x is not LONG}, (512, 128)),
        *(later(LONG, width, id=f"long-{width}") for width in (512, 128)),
    ],
)
def test_batch(simulate, config, data_width):
    rng = np.random.default_rng(1)
    batches = []
    for count in (config.batch, config.lanes, config.batch - config.lanes or config.batch):
        batches.append(batch(config, data_width, records(config, count, rng)))
    # The smallest weight and the largest, zeros among them, and such numbers.
    for weight, value in ((0x00800000, LARGEST), (ONE, 0x00000001), (0x7F7FFFFF, 0x80000000)):
        raw = records(config, config.batch, rng)
        raw[::2, 2], raw[1::2, 2] = weight, 0
        if not config.discrete and not config.bounded:
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
    count = COUNTS.get(config, 1)
    unit = BatchMemory(config, data_width, count)
    simulate(
        unit,
        "learner.samples.batch_memory_bench",
        lanes=config.lanes,
        data_width=data_width,
        count=count,
        latency=unit.latency,
        batches=batches,
    )

"""sample_reader: elements to the rings that want them, scalars to the loss, in order."""

import json

import numpy as np
import pytest
from later import crossed, later
from packed import packed

from hw.arith.arithmetic import Arithmetic
from hw.learner.config import LearnerConfig
from hw.learner.layouts import scalars_layout
from hw.learner.records import WORDS, observation_granules, record_granules, record_words
from hw.learner.samples.sample_reader import ReaderClocks, SampleReader, words_a_clock
from hw.nn.layouts import feed_layout
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
    # Layers so fast that the reader reads two words a clock, or four; what it reads begins and
    # ends in the middle of a read, and one read brings an observation and an action.
    "dqn, two words": LearnerConfig(
        observation=3, action=2, hidden=(12,), multipliers=64, batch=8, lanes=2
    ),
    "dqn, four words": LearnerConfig(
        observation=5, action=2, hidden=(3,), multipliers=64, batch=8, lanes=1, arithmetic=FIXED
    ),
    "ddpg, four words": LearnerConfig(
        algorithm="ddpg",
        observation=1,
        action=2,
        hidden=(2,),
        multipliers=64,
        batch=8,
        lanes=2,
        arithmetic=FIXED,
    ),
}
#: Cases whose rules another one meets, too.
SLOW = ("ddpg", "dqn, two words")
WORDS_A_CLOCK = {"dqn, two words": 2, "dqn, four words": 4, "ddpg, four words": 4}


def sent(ring, config, elements, numbers):
    """Bits and care of the stream to the network ``ring``: a payload for each read that brings some
    of ``elements`` {word: (index, groups)}; ``numbers`` [lanes, words] of a sample."""
    inputs, groups = config.plan.networks[ring].inputs, config.plan.count(ring)
    count, shape = words_a_clock(config), config.arithmetic.shape("activation")
    layout = feed_layout(shape, inputs, groups, config.lanes, count)
    payloads = []
    for first in range(0, numbers.shape[1], count):
        read = [dict(mask=0)] * count  # for no group; the rest is anything
        for k in range(count):
            if first + k in elements:
                index, targets = elements[first + k]
                mask = sum(1 << group for group in targets)
                read[k] = dict(index=index, mask=mask, value=list(numbers[:, first + k]))
        if any(number["mask"] for number in read):
            last = first <= max(elements) < first + count
            payloads.append(packed(layout, dict(last=last, numbers=read)))
    return payloads


def expected(config, raw):
    """``(streams, clipped)`` of uint32 ``raw`` [samples, lanes, words]."""
    numbers, saturated = twin_of(config.arithmetic).quantize(raw.view(np.float32), "activation")
    places = {name: (4 + at, n) for name, (at, n) in record_words(config).items()}
    streams, used = {}, set()
    for ring in config.plan.networks:
        elements = {
            at + k: (first + k, [path for path in range(3) if masks[0] >> path & 1])
            for name, (first, masks) in config.plan.feeds(ring).items()
            for at, n in [places[name]]
            for k in range(n)
        }
        used |= elements.keys()
        streams[ring] = [
            word for sample in numbers for word in sent(ring, config, elements, sample)
        ]
    words = {"index": 0, "weight": 2}
    words |= {name: places[name][0] for name in ("action", "reward", "discount")}
    (end,) = config.plan.ends
    streams[f"scalars_{end}"] = [
        packed(
            scalars_layout(config),
            [{name: int(lane[word]) for name, word in words.items()} for lane in sample],
        )
        for sample in raw
    ]
    return streams, int(saturated[:, :, sorted(used)].sum())


def acted(config, raw):
    """``(streams, clipped)`` of observations uint32 [samples, lanes, words]."""
    numbers, saturated = twin_of(config.arithmetic).quantize(raw.view(np.float32), "activation")
    elements = {k: (k, [0]) for k in range(config.observation)}
    words = [word for sample in numbers for word in sent(config.acts, config, elements, sample)]
    return {config.acts: words}, int(saturated[:, :, : config.observation].sum())


def held_up(config, samples, rng):
    """Clocks in which the last network takes no numbers, one by one and many in a row; and what
    they make of a batch, counted from its first ``begun``: the clocks in which samples begin and in
    which that network gets their last number."""
    network, held = list(config.plan.networks)[-1], []
    reads = samples * (SampleReader.last_read_of(config) + 1)
    while len(held) < reads // 2:
        held.append(held[-1] + 1 if held and rng.random() < 0.8 else len(held) * 3)
    held = sorted({clock for clock in held if clock > 0})
    begun, left = queued_reads(config, samples, held)
    last = [clocks[SampleReader.last_read_of(config, network)] for clocks in left]
    return dict(network=network, clocks=held, begun=begun, last=last)


def queued_reads(config, samples, held):
    """The clocks in which each sample begins, and a list of those in which its reads leave; none
    leaves in a clock of ``held``. A read is made while fewer than ``AHEAD`` are in the queue."""
    latency, held = SampleReader.latency_of(config), set(held)
    clock, begun, made, left = 1, [], [], [0]
    for _ in range(samples):
        begun.append(clock)
        for _ in range(SampleReader.last_read_of(config) + 1):
            clock += 1
            while (
                sum(each + latency <= clock for each in made)
                - sum(0 < each < clock for each in left)
                >= SampleReader.AHEAD
            ):
                clock += 1
            made.append(clock)
            left.append(max(clock + latency, left[-1] + 1))
            while left[-1] in held:
                left[-1] += 1
    reads = len(made) // samples
    return begun, [left[first : first + reads] for first in range(1, len(left), reads)]


def test_no_read_is_queued_longer_than_words_of_another_network_take():
    """Of few words, which come one by one, the formula has the clocks of a queue of any depth."""
    config = CONFIGS["ddpg"]
    held = [20, 23, 24, 50, 51, 52, 53, 90]
    clocks, begun, left = ReaderClocks(config), [], []
    clocks.taken.extend(held)
    for _ in range(8):
        begun.append(clocks.last)
        left.append(list(clocks.read(begun[-1])))
    assert (begun, left) == queued_reads(config, 8, held)


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_a_read_in_every_clock(config):
    """As the bench has it: a sample begins in the clock of the last read of the one before."""
    clocks, reads = ReaderClocks(config), SampleReader.last_read_of(config) + 1
    left = [clock for _ in range(3) for clock in clocks.read(clocks.last)]
    first = 2 + SampleReader.latency_of(config)
    assert left == list(range(first, first + 3 * reads)) and clocks.last == 1 + 3 * reads


@pytest.mark.parametrize(
    "name, ahead",
    [
        *crossed([name for name in CONFIGS if name not in SLOW], (2, 6)),
        *(later(name, ahead) for name in SLOW for ahead in (2, 6)),
    ],
)
def test_play(simulate, tmp_path, name, ahead):
    config, rng = CONFIGS[name], np.random.default_rng(1)
    lanes, samples = config.lanes, config.batch // config.lanes
    size = 1 + record_granules(config)
    scale = 200 if config.arithmetic.saturates else 100  # some are clipped
    shape = (samples, lanes, size * WORDS)
    raw = (scale * rng.standard_normal(shape, np.float32)).view(np.uint32)
    assert words_a_clock(config) == WORDS_A_CLOCK.get(name, 1)
    streams, clipped = expected(config, raw)
    assert (clipped > 0) == config.arithmetic.saturates
    seen = rng.standard_normal((samples, lanes, WORDS * observation_granules(config)), np.float32)
    seen = (scale * seen).view(np.uint32)
    actions, clipped_seen = acted(config, seen)
    # Experience or observation k is of lane k mod lanes.
    cases = dict(
        train=dict(streams=streams, memory=raw.reshape(-1).tolist(), clipped=clipped),
        act=dict(streams=actions, memory=seen.reshape(-1).tolist(), clipped=clipped_seen),
        held=held_up(config, samples, rng),
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
        count=words_a_clock(config),
        reads=-(-(4 + sum(record_words(config)["discount"])) // words_a_clock(config)),
    )

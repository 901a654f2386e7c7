"""hw.fixar.aap.aap: all passes of an iteration on a core, against the twin, to the last bit."""

import json
from dataclasses import replace

import numpy as np
import pytest
from amaranth import Shape
from fixar.iteration import Iteration, cells_of

from hw.fixar.aap.aap import PSUM_WIDTH, AapCore
from hw.fixar.config import FixarConfig
from hw.fixar.precision import slots

SMALL = FixarConfig(observation=5, action=3, hidden=(9, 6), batch=16, cores=2, side=4)
#: Actions of more than a word, three hidden layers, a core by itself.
WIDE = FixarConfig(observation=3, action=6, hidden=(4, 5, 8), batch=11, cores=1, side=4)
KINDS = ["full", "half", "mixed"]
NOTHING = (1 << 31) - 1, -1 << 31
SLOT_WIDTH = Shape.cast(range(sum(slots(SMALL)))).width


def run(simulate, tmp_path, iteration, jobs, *, gaps=(0, 0), tight=1, seed=1):
    """What leaves the core: of each pass, then of each reading."""
    config, core = iteration.config, iteration.core
    told, found = tmp_path / "jobs.json", tmp_path / "found.json"
    told.write_text(json.dumps(jobs))
    unit = AapCore(config)
    bits = Shape.cast(unit.signature.members["saturated"].shape["activations"].shape).width
    simulate(
        unit,
        "fixar.aap.aap_bench",
        config=config.to_dict(),
        core=core,
        batch=iteration.batch,
        seed=seed,
        gaps=gaps,
        tight=tight,
        td_shift=iteration.precision.error_shifts[len(config.hidden)],
        saturated_bits=bits,
        jobs=str(told),
        found=str(found),
    )
    return json.loads(found.read_text())


def check(simulate, tmp_path, config, kind, batch, core, *, above=0, **how):
    iteration = Iteration(config, kind, batch, core, how.get("seed", 1), above)
    *passes, q, actions, value = run(simulate, tmp_path, iteration, iteration.jobs(), **how)
    compare_sums(iteration, passes)
    compare_values(iteration, q, actions, value)
    compare_watch(iteration, passes)


def compare_sums(iteration, passes):
    config = iteration.config
    side = config.side
    shape = AapCore(config).signature.members["sums"].shape
    for name, layers in config.networks.items():
        kept = list(reversed(iteration.sums[name]))
        own = [p for p in passes if p["name"] == f"{name} DW UPDATE"]
        for layer, (weights, biases), job in zip(layers, kept, reversed(own), strict=True):
            weights = np.roll(weights, layer.last, axis=1)
            words = [(int(word, 16) >> 1) for word in job["sums"]]
            index_width = shape["word"].offset - 1
            got, rows = {}, layer.input_tiles * side + 1
            assert len(words) == layer.output_tiles * rows
            for position, word in enumerate(words):
                index = word & (1 << index_width) - 1
                assert index == position % rows
                for k in range(side):
                    number = word >> index_width + 2 * PSUM_WIDTH * k & (1 << 2 * PSUM_WIDTH) - 1
                    number -= number >> 2 * PSUM_WIDTH - 1 << 2 * PSUM_WIDTH
                    got[position // rows * side + k, index] = number
            for o in range(layer.outputs):
                row = [got[o, layer.first + i] for i in range(layer.inputs)]
                assert row == list(weights[o]), f"{job['name']}, output {o} of {layer.outputs}"
                assert got[o, rows - 1] == biases[o], f"{job['name']}, bias of output {o}"


def compare_values(iteration, q, actions, value):
    count, walk, config = iteration.count, iteration.walk, iteration.config
    for k, numbers in enumerate((iteration.q, iteration.next_q)):
        got = []
        for words in q:
            both = int(words[k][-32:], 2), int(words[k][:32] if walk.half_x else "0", 2)
            got += both if walk.half_x else both[:1]
        got = [number - (number >> 31 << 32) for number in got[:count]]
        assert got == numbers.astype(np.int64).tolist(), ("q", "next_q")[k]
    assert value - (value >> 47 << 48) == iteration.value
    words, side, samples = walk.words, config.side, config.samples
    for version, cells in ((1, iteration.following), (2, iteration.policy)):
        expected = cells_of(cells, words)
        for a in range(config.action):
            base = (version * walk.layouts.regions.action_words + a // side) * samples
            for t in range(words):
                cell = actions[base + t][0][::-1][a % side * 32 : a % side * 32 + 32][::-1]
                exist = 32 if not walk.half_x or 2 * t + 1 < iteration.count else 16
                if t * (1 + walk.half_x) >= count:
                    continue
                got, wanted = int(cell[-exist:], 2), int(expected[a, t]) & (1 << exist) - 1
                assert got == wanted, f"version {version}, action {a}, word {t}"


def compare_watch(iteration, passes):
    config, watch = iteration.config, iteration.watch
    counts = slots(config)
    lows, highs = ([NOTHING[k]] * sum(counts) for k in range(2))
    slot_width = Shape.cast(range(sum(counts))).width
    for job in passes:
        slot = job["range"] & (1 << slot_width) - 1
        low, high = (job["range"] >> slot_width + 32 * k & 0xFFFFFFFF for k in range(2))
        low, high = (number - (number >> 31 << 32) for number in (low, high))
        lows[slot], highs[slot] = min(lows[slot], low), max(highs[slot], high)
    at_output = counts[0] + len(config.hidden)
    assert (lows[at_output], highs[at_output]) == NOTHING
    for low, high in iteration.seen_at_output:
        lows[at_output] = min(lows[at_output], low)
        highs[at_output] = max(highs[at_output], high)
    expected = np.concatenate([watch.activations, watch.errors])
    assert list(zip(lows, highs, strict=True)) == [tuple(row) for row in expected.tolist()]
    found = np.sum([job["saturated"] for job in passes], axis=0).tolist()
    assert found == iteration.saturations


def long(*case):
    return pytest.param(*case, marks=pytest.mark.long)


@pytest.mark.parametrize(
    "kind, port_words", [("half", 2), *(long(kind, words) for kind in KINDS for words in (1, 2))]
)
def test_iteration(simulate, tmp_path, kind, port_words):
    """An odd number of samples, of which the core has not as many as the other; no pauses."""
    check(simulate, tmp_path, replace(SMALL, port_words=port_words), kind, 13, 1)


@pytest.mark.parametrize(
    "kind, gaps", [long("mixed", (0, 0.4)), long("half", (0.4, 0)), long("full", (0.3, 0.3))]
)
def test_pauses(simulate, tmp_path, kind, gaps):
    check(simulate, tmp_path, WIDE, kind, 11, 0, gaps=gaps, tight=0, seed=2)


@pytest.mark.parametrize("kind, batch", [long("half", 1), long("full", 16)])
def test_batches(simulate, tmp_path, kind, batch):
    """One sample; whole blocks, with ranges above 0."""
    check(simulate, tmp_path, SMALL, kind, batch, 0, seed=3, above=batch != 1)


@pytest.mark.parametrize(
    "kind, port_words", [long(kind, words) for kind in KINDS for words in (1, 4)]
)
def test_side_of_16(simulate, tmp_path, kind, port_words):
    config = FixarConfig(
        observation=17, action=6, hidden=(20,), batch=36, cores=1, port_words=port_words
    )
    check(simulate, tmp_path, config, kind, 35, 0, seed=4)


@pytest.mark.parametrize("kind", [long("half"), long("full")])
def test_acting(simulate, tmp_path, kind):
    """Actions are no codes; nothing is seen and nothing counts."""
    iteration = Iteration(SMALL, kind, 5, 1, seed=5)
    jobs, outputs = iteration.acting_jobs()
    *passes, actions = run(simulate, tmp_path, iteration, jobs)
    walk, width = iteration.walk, 16
    base = 2 * walk.layouts.regions.action_words * SMALL.samples
    for a in range(SMALL.action):
        for j in range(iteration.count):
            t, half = divmod(j, 2) if walk.half_x else (j, 0)
            word = int(actions[base + t][0][-32 * (a + 1) :][:32], 2) >> width * half
            assert word % (1 << width) == outputs[a, j] % (1 << width)
    assert not any(sum(job["saturated"]) for job in passes)
    lowest = [job["range"] >> 32 + SLOT_WIDTH for job in passes]
    assert lowest == [1 << 31] * len(passes)  # a high of none, all the ranges


def test_latencies():
    unit = AapCore(FixarConfig())
    assert (unit.latency, unit.begun_latency) == (22, 21)

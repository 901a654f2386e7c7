"""hw.stream.pack against stream.pack_twin, and that against a loop over granules."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from later import later
from stream.cases import GAPS, random_granules, texts
from stream.pack_twin import pack, unpack
from stream.resetting import driven

from hw.stream.pack import MAX_RECORD, Pack, Unpack

WIDTHS = [(16, 5, 4), (2, 2, 1), (2, 1, 4), (1, 4, 3), later(3, 3, 5)]


def loop_pack(data, count, last, size):
    words, ends, begun = [], [], []
    for word, valid, flush in zip(data, count, last, strict=True):
        for j in range(valid):
            begun.append(word[j])
            if len(begun) == size:
                words.append(begun)
                ends.append(False)
                begun = []
        if flush:
            if begun:
                words.append(begun + [0 * word[0]] * (size - len(begun)))
                ends.append(True)
            ends[-1], begun = True, []
    return words, ends


def loop_unpack(data, count, last):
    size, words, ends, at = len(data[0]), [], [], 0
    flat = [granule for word in data for granule in word]
    for length, drop in zip(count, last, strict=True):
        record = flat[at : at + length]
        at += length
        while record:
            words.append(record[:size] + [0 * flat[0]] * (size - len(record[:size])))
            record = record[size:]
            ends.append(not record)
        if drop:
            at = -(-at // size) * size
    return words, ends


def pack_case(granule_bytes, wide, size, count, last, seed=0):
    """Inputs and expected outputs as texts."""
    data = random_granules(np.random.default_rng(seed), len(count), wide, granule_bytes)
    words, ends = pack(data, count, last, size)
    fields = dict(count=(count, wide.bit_length()), last=(last, 1))
    return {"i": texts(data, **fields)}, texts(words, last=(ends, 1))


def unpack_case(granule_bytes, size, count, last, seed=0):
    needed = sum(-(-int(c) // size) + 1 for c in count)
    data = random_granules(np.random.default_rng(seed), needed, size, granule_bytes)
    words, ends = unpack(data, count, last)
    lengths = np.zeros((len(count), 0), dtype=np.uint8)
    width = MAX_RECORD.bit_length()
    counts = texts(lengths, count=(count, width), last=(last, 1))
    return {"i": texts(data), "count": counts}, texts(words, last=(ends, 1))


@given(st.data(), st.integers(1, 6), st.integers(1, 6))
def test_pack_twin(data, wide, size):
    inputs = data.draw(st.lists(st.tuples(st.integers(1, wide), st.booleans()), max_size=30))
    count, last = [c for c, _ in inputs], [e for _, e in inputs]
    granules = np.arange(1, len(inputs) * wide + 1).reshape(-1, wide)
    words, ends = pack(granules, count, last, size)
    assert (words.tolist(), ends.tolist()) == loop_pack(granules.tolist(), count, last, size)


@given(st.data(), st.integers(1, 6))
def test_unpack_twin(data, size):
    records = data.draw(
        st.lists(st.tuples(st.integers(1, 3 * size), st.booleans()), min_size=1, max_size=20)
    )
    count, last = [c for c, _ in records], [e for _, e in records]
    granules = np.arange(1, size * (sum(count) + len(count)) + 1).reshape(-1, size)
    words, ends = unpack(granules, count, last)
    assert (words.tolist(), ends.tolist()) == loop_unpack(granules.tolist(), count, last)


def test_unpack_twin_rejects_short_words():
    with pytest.raises(ValueError, match="^words must hold 9 granules, not 8$"):
        unpack(np.zeros((2, 4), np.uint8), [3, 6], [False, True])


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: Pack(16, 6, 4), r"input_granules must be an integer in 1\.\.5, not 6"),
        (lambda: Pack(16, 0, 4), r"input_granules must be an integer in 1\.\.5, not 0"),
        (lambda: Pack(0), r"granule_width must be an integer in 1\.\.4096, not 0"),
        (lambda: Pack(16, 1, 0), r"output_granules must be an integer in 1\.\.64, not 0"),
        (lambda: Unpack(0), r"granule_width must be an integer in 1\.\.4096, not 0"),
        (lambda: Unpack(8, 0), r"word_granules must be an integer in 1\.\.64, not 0"),
    ],
)
def test_rejects(make, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        make()


@pytest.mark.parametrize("granule_bytes, wide, size", WIDTHS)
def test_pack(run, granule_bytes, wide, size):
    """Every fill meets every count, with and without a flush; then random."""
    rng = np.random.default_rng(1)
    count, last = [], []
    for fill in range(size):
        for valid in range(1, wide + 1):
            for flush in (0, 1):
                count += [1] * fill + [valid, wide]
                last += [0] * fill + [flush, 1]
    count += rng.integers(1, wide + 1, 200).tolist() + [1]
    last += (rng.random(200) < 0.1).astype(int).tolist() + [1]
    words = pack_case(granule_bytes, wide, size, count, last)
    run(Pack(8 * granule_bytes, wide, size), words, gaps=GAPS)


@pytest.mark.parametrize("valid", [1, later(2), later(3), 4, 5])
def test_pack_pace(run, valid):
    """The slower side sets the pace: one input or one output a clock, from the first word on."""
    count, last = [valid] * 20, [0] * 19 + [1]
    words = pack_case(16, 5, 4, count, last)
    # Word k leaves as soon as its last granule is in, one clock after the word before it at most.
    clocks = []
    for k in range(len(words[1])):
        arrived = min(-(-4 * (k + 1) // valid), 20) - 1
        clocks.append(max(arrived + Pack.LATENCY, clocks[-1] + 1 if clocks else 0))
    run(Pack(128, 5, 4), words, clocks=clocks)


def test_pack_pace_of_long_records(run):
    """Records of 6 granules as 5 + 1: an input that completes two words costs no clock."""
    count, last = [5, 1] * 12, [0] * 23 + [1]
    words = pack_case(16, 5, 4, count, last)
    clocks, have = [], 0
    for k, valid in enumerate(count):
        while 4 * (len(clocks) + 1) <= have + valid:
            clocks.append(max(k + Pack.LATENCY, clocks[-1] + 1 if clocks else 0))
        have += valid
    assert clocks[-1] == len(count) - 1 + Pack.LATENCY
    run(Pack(128, 5, 4), words, clocks=clocks)


def test_a_reset_forgets_the_begun_word():
    """Granules of before it must not be found in the next word."""
    unit, seen = Pack(8, 1, 2), []

    async def bench(ctx, rst):
        ctx.set(unit.i.p.count, 1)
        for granule, last in ((0xFF, 0), (0x12, 1)):
            ctx.set(unit.i.p.data, granule)
            ctx.set(unit.i.p.last, last)
            ctx.set(unit.i.valid, 1)
            await ctx.tick()
            ctx.set(unit.i.valid, 0)
            await ctx.tick().repeat(2)
            seen.append((ctx.get(unit.o.valid), ctx.get(unit.o.p.data)))
            ctx.set(rst, 1)
            await ctx.tick()
            ctx.set(rst, 0)

    driven(unit, bench)
    (valid, _), word = seen
    assert not valid and word == (1, 0x12)


@pytest.mark.parametrize("granule_bytes, size", [(16, 4), (2, 1), (1, 3), (2, 5)])
def test_unpack(run, granule_bytes, size):
    """Every offset meets every length about one and two words, dropped or not; then random."""
    rng = np.random.default_rng(1)
    count, last = [], []
    for offset in range(size):
        for length in range(1, 2 * size + 2):
            for drop in (0, 1):
                count += [1] * offset + [length, 1]
                last += [0] * offset + [drop, 1]
    count += rng.integers(1, 4 * size, 60).tolist()
    last += (rng.random(60) < 0.2).astype(int).tolist()
    words = unpack_case(granule_bytes, size, count, last)
    run(Unpack(8 * granule_bytes, size), words, gaps=GAPS)


@pytest.mark.parametrize("length", [1, later(2), later(3), 4])
def test_unpack_pace(run, length):
    """One output a clock for records of at most a word, once the first input word is in."""
    count, last = [length] * 20, [0] * 20
    words = unpack_case(16, 4, count, last)
    run(Unpack(128, 4), words, clocks=[Unpack.LATENCY + k for k in range(20)])


@pytest.mark.parametrize("size", [16, pytest.param(64, marks=pytest.mark.long)])
def test_unpack_longest_record(run, size):
    """A record of MAX_RECORD granules; the counter has room for it."""
    words = unpack_case(1, size, [MAX_RECORD, 5], [0, 1])
    clocks = [Unpack.LATENCY + k for k in range(MAX_RECORD // size + 1)]
    run(Unpack(8, size), words, clocks=clocks)

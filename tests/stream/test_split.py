"""hw.stream.split against stream.split_twin, and that against a loop."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from stream.cases import GAPS, random_granules, texts
from stream.resetting import driven
from stream.split_twin import split

from hw.stream.split import Split


def loop_split(words, count):
    narrow, ends, at = [], [], 0
    for items in count:
        for k in range(items):
            narrow.append(words[at + k // len(words[0])][k % len(words[0])])
            ends.append(k == items - 1)
        at += -(-items // len(words[0]))
    return narrow, ends


def case(item_bytes, parts, count, count_width=32):
    rng = np.random.default_rng(2)
    data = random_granules(rng, sum(-(-c // parts) for c in count), parts, item_bytes)
    keys = np.arange(data.shape[0] * parts).reshape(-1, parts)
    order, ends = split(keys, count)
    narrow = data.reshape(-1, item_bytes)[order]
    none = np.zeros((len(count), 0), dtype=np.uint8)
    inputs = {"i": texts(data), "count": texts(none, count=(count, count_width))}
    return inputs, texts(narrow, last=(ends, 1))


@given(st.lists(st.integers(1, 20), min_size=1, max_size=10), st.integers(1, 9))
def test_twin(count, parts):
    words = np.arange(1, parts * sum(count) + 1).reshape(-1, parts)
    narrow, ends = split(words, count)
    assert (narrow.tolist(), ends.tolist()) == loop_split(words.tolist(), count)


def test_twin_rejects_short_words():
    with pytest.raises(ValueError, match="^words must hold 3 words, not 2$"):
        split(np.zeros((2, 4)), [5, 4])


@pytest.mark.parametrize(
    "values, message",
    [
        ((0, 8), r"width must be an integer in 1\.\.4096, not 0"),
        ((64, 0), r"parts must be an integer in 1\.\.4096, not 0"),
        ((64, 8, 65), r"count_width must be an integer in 1\.\.64, not 65"),
    ],
)
def test_rejects(values, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        Split(*values)


@pytest.mark.parametrize("item_bytes, parts", [(8, 8), (1, 1), (2, 3)])
def test_split(run, item_bytes, parts):
    """Every count about one and two words, each after each other; clocks without gaps."""
    count = list(range(1, 2 * parts + 2)) + [1, 1, 3 * parts, 1, 50]
    words = case(item_bytes, parts, count)
    run(
        Split(8 * item_bytes, parts),
        words,
        clocks=[Split.LATENCY + k for k in range(len(words[1]))],
        gaps=GAPS,
    )


@pytest.mark.parametrize("count_width", [1, 2, 4])
def test_the_longest_list(run, count_width):
    """Of as many words as the count's bits allow, and a list behind it."""
    most = (1 << count_width) - 1
    words = case(2, 3, [most, 1, most - 1 or 1], count_width)
    run(Split(16, 3, count_width), words, gaps=GAPS)


def test_a_reset_in_a_list():
    """Survivor 37: the first list behind a reset begins with a word's first part."""
    unit, seen = Split(8, 4), []

    async def bench(ctx, rst):
        ctx.set(unit.i.payload, 0x44332211)
        for line in (unit.i.valid, unit.count.valid, unit.o.ready):
            ctx.set(line, 1)
        ctx.set(unit.count.payload, 4)
        for reset in (0, 0, 1, 0):  # two parts of four, then the first again
            ctx.set(rst, reset)
            await ctx.tick()
            seen.append((ctx.get(unit.o.valid), ctx.get(unit.o.p.data)))

    driven(unit, bench)
    assert seen[:2] == [(1, 0x11), (1, 0x22)]
    assert not seen[2][0] and seen[3] == (1, 0x11)

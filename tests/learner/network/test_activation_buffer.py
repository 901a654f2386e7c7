"""activation_buffer: each sample forward and backward, whole, in order, and slots reused."""

import json

import numpy as np
import pytest
from packed import packed

from hw.arith.arithmetic import Arithmetic
from hw.learner.chain.config import LayerConfig, LayerShape
from hw.learner.network.activation_buffer import ActivationBuffer
from hw.nn.layouts import feed_layout

FIXED = Arithmetic(kind="fixed")


def case(layer, ring, routes=(), lanes=1, arithmetic=FIXED, chain_last=True, skipped=0):
    """``routes``: (groups, first element, count) of an experience, in its order. Its first
    ``skipped`` words are none of them."""
    config = LayerConfig(batch=16, lanes=lanes, arithmetic=arithmetic)
    return config, LayerShape(outputs=3, **layer), ring, routes, chain_last, skipped


CRITIC = dict(groups=3, backward_groups=2, feed=1, chain=(1, 2), chain_count=2, chain_offset=3)
CRITIC_ROUTES = [((0, 1), 0, 3), ((2,), 0, 3), ((0,), 3, 2)]
CASES = {
    "feed": case(
        dict(inputs=5, vector=2),
        dict(groups=3, backward_groups=1, slots=3, feed=1),
        [((0,), 0, 5), ((1, 2), 0, 5)],
        lanes=2,
        chain_last=False,
    ),
    # Two and four numbers a clock, that fill more than a word, or less.
    "feed, two numbers": case(
        dict(inputs=5, vector=1),
        dict(groups=3, backward_groups=1, slots=3, feed=2),
        [((0,), 0, 5), ((1, 2), 0, 5)],
        lanes=2,
        chain_last=False,
        skipped=1,
    ),
    "feed, four numbers": case(
        dict(inputs=7, vector=2, interleave=4),
        dict(groups=2, backward_groups=1, slots=2, feed=4),
        [((0,), 0, 7), ((1,), 0, 7)],
        chain_last=False,
        skipped=3,
    ),
    "critic, four numbers": case(
        dict(inputs=5), dict(slots=3, **(CRITIC | dict(feed=4))), CRITIC_ROUTES, lanes=2
    ),
    "feed of one number": case(
        dict(inputs=1),
        dict(groups=2, backward_groups=1, slots=5, feed=1),
        [((0,), 0, 1), ((1,), 0, 1)],
        chain_last=False,
    ),
    # Words of padding behind the inputs, and places of padding in the last word of these.
    "chain, interleave": case(
        dict(inputs=6, vector=4, interleave=3),
        dict(groups=2, backward_groups=1, slots=4, chain=(0, 1), chain_count=6),
        arithmetic=Arithmetic(),
    ),
    "chain": case(
        dict(inputs=8, vector=2),
        dict(groups=1, backward_groups=1, slots=2, chain=(0,), chain_count=8),
        lanes=4,
    ),
    "chain, groups": case(
        dict(inputs=15, vector=1, interleave=4),
        dict(groups=3, backward_groups=2, slots=3, chain=(0, 1, 2), chain_count=15),
    ),
    "chain, one word": case(
        dict(inputs=3, vector=4),
        dict(groups=2, backward_groups=2, slots=3, chain=(0, 1), chain_count=3),
    ),
    "critic": case(dict(inputs=5, vector=4), dict(slots=3, **CRITIC), CRITIC_ROUTES, lanes=2),
    "critic, feed last": case(
        dict(inputs=5, interleave=2),
        dict(slots=2, **CRITIC),
        CRITIC_ROUTES,
        arithmetic=Arithmetic(),
        chain_last=False,
    ),
}


def side_by_side(numbers, width):
    """An int of numbers, the first lowest."""
    return sum(int(number) << (width * k) for k, number in enumerate(numbers.reshape(-1)))


def payload(layout, words, sample):
    """Bits of a feed's payload without ``last``; a word is None or (groups, element, values)."""
    numbers = [
        None
        if word is None
        else dict(
            mask=sum(1 << group for group in word[0]), index=word[1], value=word[2][sample].tolist()
        )
        for word in words
    ]
    return packed(layout, dict(numbers=numbers))[0]


@pytest.mark.parametrize("name", CASES)
def test_ring(simulate, tmp_path, name):
    config, layer, ring, routes, chain_last, skipped = CASES[name]
    rng, count = np.random.default_rng(1), 3 * ring["slots"] + 2
    width = config.arithmetic.shape("activation").width
    # One element past the inputs is one that is in no experience.
    numbers = np.zeros((count, ring["groups"], layer.words * layer.vector, config.lanes), np.uint64)
    sources = {}
    if routes:
        elements = []  # of the experience, in its order: groups, element, its values
        for targets, first, length in routes:
            values = rng.integers(0, 1 << width, (count, length, config.lanes), dtype=np.uint64)
            for group in targets:
                numbers[:, group, first : first + length] = values
            elements += [(targets, first + k, values[:, k]) for k in range(length)]
        words = [None] * skipped + elements
        words += [None] * (-len(words) % ring["feed"])
        layout = feed_layout(
            config.arithmetic.shape("activation"), layer.inputs, ring["groups"], config.lanes,
            ring["feed"],
        )  # fmt: skip
        sources["feed"] = [
            [
                payload(layout, words[at : at + ring["feed"]], sample)
                | int(at + ring["feed"] >= len(words))
                for at in range(0, len(words), ring["feed"])
            ]
            for sample in range(count)
        ]
    chain, length = list(ring.get("chain", ())), ring.get("chain_count")
    if chain:
        size = (count, len(chain), length, config.lanes)
        values = rng.integers(0, 1 << width, size, dtype=np.uint64)
        first, bits = ring.get("chain_offset", 0), (length - 1).bit_length()
        numbers[:, chain, first : first + length] = values
        sources["chain"] = [
            [side_by_side(sample[:, k], width) << bits | k for k in range(length)]
            for sample in values
        ]
    words = numbers.reshape(count, ring["groups"], layer.words, layer.vector, config.lanes)
    words = words.transpose(0, 2, 1, 4, 3).reshape(-1, ring["groups"], config.lanes, layer.vector)
    file = tmp_path / "vectors.json"
    file.write_text(
        json.dumps(
            dict(
                sources=sources,
                forward=[side_by_side(word, width) for word in words],
                backward=[side_by_side(word[: ring["backward_groups"]], width) for word in words],
            )
        )
    )
    simulate(
        ActivationBuffer(config, layer, **ring),
        "learner.network.activation_buffer_bench",
        vectors=str(file),
        slots=ring["slots"],
        words=layer.words,
        interleave=layer.interleave,
        vector=layer.vector,
        chain_last=chain_last,
    )

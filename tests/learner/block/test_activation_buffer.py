"""hw.learner.block.activation_buffer: each sample forward and backward, whole, in order, and slots
reused."""

import json

import numpy as np
import pytest
from later import later
from packed import packed

from hw.arith.arithmetic import Arithmetic
from hw.learner.block.activation_buffer import ActivationBuffer
from hw.learner.block.config import BlockShape
from hw.learner.block.layer_config import LayerConfig
from hw.nn.layouts import feed_layout

FIXED, FLOAT = Arithmetic(kind="fixed"), Arithmetic()


def case(shape, ring, routes=(), lanes=1, arithmetic=FIXED, chain_last=True, skipped=0):
    """``routes``: (groups, first number, count) of an experience, in its order. Its first
    ``skipped`` numbers are none of them."""
    config = LayerConfig(batch=16, lanes=lanes, arithmetic=arithmetic)
    return config, BlockShape(outputs=3, **shape), ring, routes, chain_last, skipped


CRITIC = dict(groups=3, backward_groups=2, feed=1, chain=(1, 2))
CRITIC_ROUTES = [((0, 1), 0, 3), ((2,), 0, 3), ((0,), 3, 2)]
CASES = {
    "feed": case(
        dict(inputs=5, input_word=2),
        dict(groups=3, backward_groups=1, slots=3, feed=1),
        [((0,), 0, 5), ((1, 2), 0, 5)],
        lanes=2,
        chain_last=False,
    ),
    # Two and four numbers a clock, that fill more than a word, or less.
    "feed, two numbers": case(
        dict(inputs=5),
        dict(groups=3, backward_groups=1, slots=3, feed=2),
        [((0,), 0, 5), ((1, 2), 0, 5)],
        lanes=2,
        chain_last=False,
        skipped=1,
    ),
    "feed, four numbers": case(
        dict(inputs=7, input_word=2, interleave=4),
        dict(groups=2, backward_groups=1, slots=2, feed=4),
        [((0,), 0, 7), ((1,), 0, 7)],
        chain_last=False,
        skipped=3,
    ),
    "feed of one number": case(
        dict(inputs=1),
        dict(groups=2, backward_groups=1, slots=5, feed=1),
        [((0,), 0, 1), ((1,), 0, 1)],
        chain_last=False,
    ),
    "feed, wide": case(
        dict(inputs=20, input_word=16),
        dict(groups=1, backward_groups=1, slots=2, feed=4),
        [((0,), 0, 20)],
        chain_last=False,
        skipped=2,
    ),
    # Words of padding behind the inputs, and places of padding in the last word of these.
    "chain, interleave": case(
        dict(inputs=14, input_word=3, interleave=4),
        dict(groups=2, backward_groups=1, slots=4, chain=(0, 1)),
        arithmetic=FLOAT,
    ),
    "chain": case(
        dict(inputs=8, input_word=2),
        dict(groups=1, backward_groups=1, slots=2, chain=(0,)),
        lanes=4,
    ),
    "chain, groups": case(
        dict(inputs=15, interleave=4), dict(groups=3, backward_groups=2, slots=3, chain=(2, 0, 1))
    ),
    "chain, one word": case(
        dict(inputs=3, input_word=4), dict(groups=2, backward_groups=2, slots=3, chain=(0, 1))
    ),
    "critic": case(
        dict(inputs=5, joined=2, input_word=4), dict(slots=3, **CRITIC), CRITIC_ROUTES, lanes=2
    ),
    "critic, four numbers": case(
        dict(inputs=5, joined=2, input_word=2),
        dict(slots=3, **(CRITIC | dict(feed=4))),
        CRITIC_ROUTES,
        lanes=2,
    ),
    "critic, feed last": case(
        dict(inputs=5, joined=2, interleave=2),
        dict(slots=2, **CRITIC),
        CRITIC_ROUTES,
        arithmetic=FLOAT,
        chain_last=False,
    ),
}
#: Cases whose rules another one meets, too.
SLOW = ("feed, two numbers", "feed, wide", "chain", "critic", "critic, feed last")
#: Of sources, forward and backward; None: backward pauses long.
GAPS = [(0, 0, 0), (0.6, 0, 0.9), (0, 0.7, None)]


def side_by_side(numbers, width):
    """An int of numbers, the first lowest."""
    return sum(int(number) << (width * k) for k, number in enumerate(numbers.reshape(-1)))


def feeds(layout, routed, sample, count):
    """Payloads of a sample, ``count`` numbers each; a number is None or (groups, index, values)."""
    numbers = [
        None
        if number is None
        else dict(
            mask=sum(1 << group for group in number[0]),
            index=number[1],
            value=number[2][sample].tolist(),
        )
        for number in routed
    ]
    numbers += [None] * (-len(numbers) % count)
    return [
        packed(layout, dict(numbers=numbers[at : at + count], last=at + count >= len(numbers)))[0]
        for at in range(0, len(numbers), count)
    ]


def sources(config, shape, ring, routes, skipped, rng, numbers):
    """``{source: samples of what comes}``, random; they are put to their places in ``numbers``,
    [samples][groups][words][lanes][places]."""
    count, found = len(numbers), {}
    number = config.arithmetic.shape("activation")
    filled = [
        (word, place)
        for word, full in enumerate(shape.input_words_filled())
        for place in range(full)
    ]
    if routes:
        routed = [None] * skipped
        for groups, first, length in routes:
            for index in range(first, first + length):
                value = rng.integers(0, 1 << number.width, (count, config.lanes), dtype=np.uint64)
                word, place = filled[index]
                for group in groups:
                    numbers[:, group, word, :, place] = value
                routed.append((groups, index, value))
        layout = feed_layout(number, shape.inputs, ring["groups"], config.lanes, ring["feed"])
        found["feed"] = [feeds(layout, routed, sample, ring["feed"]) for sample in range(count)]
    if "chain" in ring:
        first = shape.joined_word if shape.joined else 0
        words = sorted({word for word, _ in filled if word >= first})
        size = (count, len(words), len(ring["chain"]), config.lanes, shape.input_word)
        values = rng.integers(0, 1 << number.width, size, dtype=np.uint64)
        for word, place in filled:
            for k, group in enumerate(ring["chain"] if word >= first else ()):
                numbers[:, group, word, :, place] = values[:, word - first, k, :, place]
        bits = (len(words) - 1).bit_length()
        found["chain"] = [
            [side_by_side(word, number.width) << bits | k for k, word in enumerate(sample)]
            for sample in values
        ]
    return found


@pytest.mark.parametrize("name", [later(name) if name in SLOW else name for name in CASES])
def test_ring(simulate, tmp_path, name):
    config, shape, ring, routes, chain_last, skipped = CASES[name]
    rng, count = np.random.default_rng(1), 2 * ring["slots"] + 3
    width = config.arithmetic.shape("activation").width
    size = (count, ring["groups"], shape.input_words, config.lanes, shape.input_word)
    numbers = np.zeros(size, np.uint64)
    comes = sources(config, shape, ring, routes, skipped, rng, numbers)
    words = numbers.swapaxes(1, 2).reshape(-1, *numbers.shape[1:2], *numbers.shape[3:])
    file = tmp_path / "vectors.json"
    file.write_text(
        json.dumps(
            dict(
                sources=comes,
                forward=[side_by_side(word, width) for word in words],
                backward=[side_by_side(word[: ring["backward_groups"]], width) for word in words],
            )
        )
    )
    simulate(
        ActivationBuffer(config, shape, **ring),
        "learner.block.activation_buffer_bench",
        vectors=str(file),
        slots=ring["slots"],
        words=shape.input_words,
        interleave=shape.interleave,
        chain_last=chain_last,
        latency=ActivationBuffer.LATENCY + (len(comes) == 2),
        gaps=GAPS,
    )


@pytest.mark.parametrize(
    "sizes, sources, message",
    [
        (dict(inputs=5, joined=2), dict(chain=(0,)), "^joined must be 0 without a feed, not 2$"),
        (
            dict(inputs=5),
            dict(chain=(0,), feed=1),
            "^joined must be above 0 with a feed and a chain, not 0$",
        ),
        (
            dict(inputs=5, input_word=3),
            dict(feed=1),
            "^input_word must be a power of two with a feed, not 3$",
        ),
        (
            dict(inputs=2, joined=1, input_word=4),
            dict(feed=4),
            "^feed must be at most 3 with so few inputs before those that are joined, not 4$",
        ),
    ],
)
def test_rejects(sizes, sources, message):
    with pytest.raises(ValueError, match=message):
        ActivationBuffer(
            LayerConfig(),
            BlockShape(outputs=3, **sizes),
            groups=1,
            backward_groups=1,
            slots=2,
            **sources,
        )

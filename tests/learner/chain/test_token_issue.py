"""hw.learner.chain.token_issue: tokens of whole groups, and where a sample may begin."""

import random

import pytest
from amaranth import Shape
from clocks import Clocks

from hw.arith.arithmetic import Arithmetic
from hw.learner.chain.config import LayerConfig, LayerShape
from hw.learner.chain.token_issue import TokenIssue, sum_shape

#: Rows, words and interleave of 1, of which everything is always the first and the last, and more.
LAYERS = {
    "one word, one row": dict(inputs=1, outputs=1),
    "one row": dict(inputs=3, outputs=1),
    "chain": dict(inputs=6, outputs=5, vector=2, length=2),
    "one group": dict(inputs=9, outputs=2, vector=4, interleave=3),
    "groups": dict(inputs=6, outputs=3, interleave=2),
    "groups, one row": dict(inputs=12, outputs=1, interleave=4),
}


@pytest.mark.parametrize("room_at_start", [0, 1])
def test_stated_clocks(simulate, tmp_path, room_at_start):
    """Two rows, two words: a sample waits for room, its second word does not."""
    clocks = Clocks()
    idle, first, last = (
        dict(valid=0),
        dict(valid=1, first=1, last=0),
        dict(valid=1, first=0, last=1),
    )
    for clock, (valid, room, ready, started, token) in enumerate(
        [
            (1, 1, 0, 0, idle),
            (1, room_at_start, room_at_start, room_at_start, idle),
            (1, 0, 0, 0, first if room_at_start else idle),
            (1, 1 - room_at_start, 1, 1 - room_at_start, first if room_at_start else idle),
            (1, 0, 0, 0, last if room_at_start else first),
            (1, 0, 1 - room_at_start, 0, last if room_at_start else first),
            (0, 1, 0, 0, idle if room_at_start else last),
            (0, 1, 1, 0, idle if room_at_start else last),
            (1, 1, 0, 0, idle),
        ]
    ):
        clocks.add(idle=0, valid=valid, room=room)
        clocks.expect(
            clock, ready=ready, started=started, token=token, row=clock % 2, hop=clock % 2
        )
    clocks.run(simulate, TokenIssue(LayerShape(inputs=2, outputs=2)), tmp_path)


@pytest.mark.parametrize("name", LAYERS)
def test_groups(simulate, tmp_path, name):
    """Every clock: a group is taken whole or not at all, and is the first PE's a hop later.

    Back to back first, then with pauses of the source, of the room behind it, and of both.
    """
    layer, rng, clocks = LayerShape(**LAYERS[name]), random.Random(1), Clocks()
    rows, interleave, count = layer.rows, layer.interleave, 150
    word, token, waiting = 0, dict(valid=0), False
    for group in range(count):
        pause = group > count // 3
        valid = waiting or not pause or rng.random() < 0.6
        room = not pause or rng.random() < 0.6
        taken = valid and (room or word > 0)
        for turn in range(interleave):
            for row in range(rows):
                # A word that has come stays; behind a group's first each is there in time.
                hop = row == rows - 1
                may = valid if turn == 0 else True
                waiting |= may and (rng.random() < 0.5 or (hop and (turn == 0 or taken)))
                looked_at = hop and turn == 0
                look = room if looked_at else rng.randrange(2)
                clock = clocks.add(idle=0, valid=waiting, room=look)
                clocks.expect(
                    clock,
                    hop=hop,
                    row=row,
                    token=token,
                    ready=hop and (taken if turn else word > 0 or room),
                    started=hop and taken and word == 0,
                )
            token = dict(valid=0)
            if taken:
                first, last = word < interleave, word >= layer.words - interleave
                token = dict(valid=1, first=first, last=last)
                word, waiting = (word + 1) % layer.words, False
    clocks.run(simulate, TokenIssue(layer), tmp_path)


def test_an_idle_chain_waits_in_its_last_row(simulate, tmp_path):
    """Three rows, two words: idle until a word comes, which is taken at once; then as always."""
    clocks, layer = Clocks(), LayerShape(inputs=2, outputs=3)
    rows = [0, 1, 2, 2, 2, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 2]
    idle = [1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1]
    for clock, (row, waits) in enumerate(zip(rows, idle, strict=True)):
        comes = 5 <= clock < 9
        clocks.add(idle=waits, valid=comes, room=1)
        clocks.expect(
            clock,
            row=row,
            hop=row == 2,
            ready=row == 2,
            started=clock == 5,
            token=dict(valid=6 <= clock < 12),
        )
    clocks.run(simulate, TokenIssue(layer), tmp_path)


@pytest.mark.parametrize("inputs", [1, 3, 4, 512])
def test_sum_holds_all_products_and_the_bias(inputs):
    """The largest of all: every product, and the bias, of the lowest numbers."""
    arithmetic = Arithmetic(kind="fixed")
    config, layer = LayerConfig(arithmetic=arithmetic), LayerShape(inputs=inputs, outputs=1)
    weight, activation = arithmetic.weight, arithmetic.activation
    largest = inputs * weight.low * activation.low - (weight.low << activation.fraction)
    width = Shape.cast(sum_shape(config, layer)).width
    assert largest < 1 << (width - 1)

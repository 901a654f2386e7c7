"""hw.learner.block.sweep: the blocks of words as they come, and where a sample may begin."""

import random

import pytest
from clocks import Clocks

from hw.learner.block.config import BlockShape
from hw.learner.block.sweep import Sweep

#: Sizes, spacing, and clocks of a sample.
CASES = {
    "one block": (dict(inputs=1, outputs=1), 0, 1),
    "one block, spaced": (dict(inputs=1, outputs=1), 4, 4),
    "one output": (dict(inputs=3, outputs=1), 0, 3),
    "one input": (dict(inputs=2, outputs=3, input_word=2), 5, 5),
    "words": (dict(inputs=6, outputs=10, input_word=2, output_word=4), 9, 9),
    "apart": (dict(inputs=6, outputs=2, interleave=2), 13, 13),
    "apart, all": (dict(inputs=3, outputs=2, interleave=4), 3, 8),
}


@pytest.mark.parametrize("name", CASES)
def test_blocks(simulate, tmp_path, name):
    """Every clock: back to back first, then with pauses of the source, of the room, and of both."""
    sizes, spacing, interval = CASES[name]
    shape, rng, clocks = BlockShape(**sizes), random.Random(1), Clocks()
    unit, following = Sweep(shape, 8, spacing), 0
    assert unit.interval == interval
    for sample in range(16):
        pause = rng.random() * (sample > 3)
        for word in range(shape.input_words):
            value, comes, taken = rng.randrange(256), False, False
            while not taken:
                clock = clocks.add()
                comes, room = comes or rng.random() >= pause, rng.random() >= pause
                ready = (room or word > 0) and (clock >= following or word > 0)
                taken = ready and comes
                clocks.at(clock, i__valid=comes, i__payload=value, room=room)
                clocks.expect(
                    clock,
                    i__ready=ready,
                    started=taken and word == 0,
                    block=dict(valid=taken),
                    ended=taken and shape.output_words == 1 and word == shape.input_words - 1,
                )
            if word == 0:
                following = clock + interval
            for output in range(shape.output_words):
                last = word == shape.input_words - 1
                if output:
                    clock = clocks.add(
                        i__valid=rng.randrange(2), i__payload=rng.randrange(256), room=1
                    )
                    clocks.expect(clock, i__ready=0, started=0)
                clocks.expect(
                    clock,
                    block=dict(
                        valid=1,
                        first=word < shape.interleave,
                        last=word >= shape.input_words - shape.interleave,
                        apart=word % shape.interleave,
                        output=output,
                    ),
                    address=word * shape.output_words + output,
                    ended=last and output == shape.output_words - 1,
                )
                clocks.expect(clock + 1, word=value)
            following = max(following, clock + 1 + (interval - shape.blocks) * last)
    clocks.run(simulate, unit, tmp_path)

"""hw.learner.block.config: words, and shapes that are none."""

import pytest

from hw.learner.block.config import BlockShape


@pytest.mark.parametrize(
    "sizes, words",
    [
        (dict(inputs=4, outputs=64, input_word=4, output_word=8), (1, 8)),
        (dict(inputs=17, outputs=300, input_word=5, output_word=16), (4, 19)),
        (dict(inputs=20, outputs=3, input_word=2, interleave=4), (12, 3)),
        (dict(inputs=1, outputs=1), (1, 1)),
    ],
)
def test_words(sizes, words):
    shape = BlockShape(**sizes)
    assert (shape.input_words, shape.output_words) == words
    assert shape.returns == (shape.input_words > shape.interleave)


@pytest.mark.parametrize(
    "changes, match",
    [
        (dict(inputs=0), r"^inputs must be an integer in 1\.\.65536, not 0$"),
        (dict(outputs=0), r"^outputs must be an integer in 1\.\.65536, not 0$"),
        (dict(input_word=17), r"^input_word must be an integer in 1\.\.16, not 17$"),
        (dict(output_word=0), r"^output_word must be an integer in 1\.\.16, not 0$"),
        (dict(interleave=3), r"^interleave must be a power of two, not 3$"),
        (dict(interleave=32), r"^interleave must be at most the input words, 9, up .*, not 32$"),
        (dict(interleave=0), r"^interleave must be an integer in 1\.\.65536, not 0$"),
    ],
)
def test_shapes_that_are_none(changes, match):
    with pytest.raises(ValueError, match=match):
        BlockShape(**dict(inputs=9, outputs=7) | changes)


def test_interleave_may_exceed_the_words_up_to_a_power_of_two():
    assert BlockShape(inputs=9, outputs=7, interleave=16).input_words == 16

"""hw.learner.block.config: words, and shapes that are none."""

import pytest

from hw.learner.block.config import BlockShape
from hw.learner.config import LearnerConfig


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
        (dict(free=7), r"^free must be an integer in 0\.\.6 \(outputs - 1\), not 7$"),
        (dict(free=-1), r"^free must be an integer in 0\.\.6 \(outputs - 1\), not -1$"),
    ],
)
def test_shapes_that_are_none(changes, match):
    with pytest.raises(ValueError, match=match):
        BlockShape(**dict(inputs=9, outputs=7) | changes)


def test_interleave_may_exceed_the_words_up_to_a_power_of_two():
    assert BlockShape(inputs=9, outputs=7, interleave=16).input_words == 16


def test_words_with_free_outputs():
    shape = BlockShape(inputs=1, outputs=7, output_word=2, free=4)
    assert shape.output_words_weighted() == (2, 1, 0, 0)
    assert shape.output_words_filled() == (2, 2, 2, 1)


def test_a_shape_without_free_outputs_does_not_name_them():
    """Modules and images of older kernels keep their names."""
    shape = BlockShape(inputs=1, outputs=7)
    assert "free" not in f"{shape} {shape.to_json()}"


def test_updates_with_no_more_optimizers_than_they_need():
    """256 weights in blocks of 32, 64 biases in words of 8."""
    shape = BlockShape(inputs=4, outputs=64, input_word=4, output_word=8, part=8)
    assert shape.parts == 8 * 4 + 8 * 1
    # Parts of 4: 8 blocks of 8, 8 words of 2; of 2: 8 of 16, 8 of 4; of 1: 8 of 32, 8 of 8.
    limits = {39: 8, 40: 8, 79: 8, 80: 4, 159: 4, 160: 2, 319: 2, 320: 1, 1000: 1}
    assert {most: shape.updated_in(most).part for most in limits} == limits
    (layers,) = LearnerConfig(
        observation=4, action=2, hidden=(64, 64), words=(1, 4, 8, 1), update_units=8
    ).networks.values()
    assert [layer.part for layer in layers] == [1, 8, 1]
    assert [layer.parts for layer in layers] == [256 + 64, 512 + 8, 128 + 2]

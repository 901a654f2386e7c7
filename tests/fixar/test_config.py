"""hw.fixar.config: what is refused, and how a layer lies in words."""

import re

import numpy as np
import pytest

from hw.arith.fixed import SQ
from hw.arith.fixed_point import DualPrecision, FixedPoint
from hw.fixar.config import FixarConfig, FixarKernelConfig, TileLayer

FORMATS = (
    "Arithmetic(kind='dual', weight=SQ(4, 28), activation=SQ(12, 20), gradient=SQ(8, 19), "
    "operand=SQ(4, 23))"
)


@pytest.mark.parametrize(
    "changes, message",
    [
        (dict(side=5), "side must be one of 4, 8, 16, not 5"),
        *(
            (
                dict(side=side, port_words=words),
                "port_words must be 1, 2 or 4, and at most half of side, "
                f"which is {side}, not {words}",
            )
            for side, words in ((16, 3), (16, 8), (4, 4), (8, 0))
        ),
        (dict(cores=8), "cores must be an integer in 1..7, not 8"),
        (
            dict(observation=497),
            "observation must be an integer in 1..496 (a sum's terms), not 497",
        ),
        (dict(action=257), "action must be an integer in 1..256, not 257"),
        (
            dict(observation=300, action=200),
            "observation + action must be an integer in 2..496 (a sum's terms), not 500",
        ),
        (dict(hidden=()), "hidden must be 1 to 4 widths, not ()"),
        (dict(hidden=[8] * 5), "hidden must be 1 to 4 widths, not (8, 8, 8, 8, 8)"),
        (
            dict(hidden=(509,), side=4),
            "hidden must be an integer in 1..508 (a sum's terms), not 509",
        ),
        (dict(batch=1025), "batch must be an integer in 1..1024, not 1025"),
        (dict(optimizer="lion"), "optimizer must be one of sgd, rmsprop, adam, not 'lion'"),
        (dict(arithmetic=FixedPoint()), f"arithmetic must be {FORMATS}, not {FixedPoint()!r}"),
    ],
)
def test_rejects(changes, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        FixarConfig(**changes)


@pytest.mark.parametrize(
    "formats", [dict(operand=SQ(4, 19)), dict(activation=SQ(4, 28)), dict(gradient=SQ(8, 18))]
)
def test_other_formats_have_no_array(formats):
    """Rows of tiles are of 27 bits a lane, and biases begin sums 20 places to the left."""
    with pytest.raises(ValueError, match=f"^{re.escape(f'arithmetic must be {FORMATS}, not ')}"):
        FixarConfig(arithmetic=DualPrecision(**formats))


def test_widest():
    """Whole tiles of inputs and one word for the biases are psum's 512 words."""
    for side, widest in ((4, 508), (8, 504), (16, 496)):
        config = FixarConfig(side=side, hidden=(widest,))
        assert config.widest == widest and config.networks["critic"][1].input_tiles * side == widest


def test_json():
    config = FixarKernelConfig(learner=FixarConfig(hidden=(64,), side=8))
    assert FixarKernelConfig.from_dict(config.to_dict()) == config


def test_words_of_a_layer():
    """Two tile columns of five words each, an input or the biases a word; the last input, an
    action, comes first. Padding to 64 bytes."""
    layer = TileLayer(inputs=4, outputs=5, side=4, last=1)
    weights, biases = np.arange(50).reshape(5, 10)[:, :4], -np.arange(5) - 1
    numbers = layer.pack(weights, biases)
    inputs = [3, 0, 1, 2]
    first = [*([k, 10 + k, 20 + k, 30 + k] for k in inputs), [-1, -2, -3, -4]]
    second = [*([40 + k, 0, 0, 0] for k in inputs), [-5, 0, 0, 0]]
    assert numbers.reshape(-1, 4).tolist() == [*first, *second, [0] * 4, [0] * 4]
    assert (layer.words, layer.numbers) == (10, 48)
    for part, expected in zip(layer.unpack(numbers), (weights, biases), strict=True):
        assert part.tolist() == expected.tolist()

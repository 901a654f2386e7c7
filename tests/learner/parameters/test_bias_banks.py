"""bias_banks: every bias in one bank, each unit's share as small as a power of two allows.

What the banks hold is tested with ``LayerParameters``.
"""

import pytest

from hw.learner.chain.config import LayerConfig, LayerShape
from hw.learner.parameters.bias_banks import BiasBanks


@pytest.mark.parametrize(
    "outputs, units, words, count",
    [
        (64, 4, 16, 4),
        (64, 1, 64, 1),
        (300, 1, 300, 1),
        (300, 5, 64, 5),
        (9, 3, 4, 3),
        (5, 4, 2, 3),
        (2, 2, 1, 2),
        (3, 2, 2, 2),
        (1, 1, 1, 1),
    ],
)
def test_shares(outputs, units, words, count):
    banks = BiasBanks(LayerConfig(), LayerShape(inputs=2, outputs=outputs), units)
    assert (banks.words, banks.count) == (words, count)
    assert banks.count <= units and banks.shape.depth == words

"""hw.fa3c.unit.feature_buffer against lists of rows, and hw.fa3c.unit.rows."""

import pytest
from paces import CROSSED

from hw.fa3c.config import Fa3cConfig
from hw.fa3c.unit.feature_buffer import FeatureBuffer
from hw.fa3c.unit.rows import row_blocks, row_style

#: 15 rows and 95.
TINY = dict(height=4, width=4, channels=1, convolutions=(), hidden=())
SMALL = dict(height=5, width=5, channels=4, convolutions=((16, 3, 1),), hidden=(16,), outputs=50)


def test_rows():
    assert [Fa3cConfig(**config).feature_rows for config in (TINY, SMALL)] == [15, 95]


@pytest.mark.parametrize("config, paces", [(TINY, CROSSED[:1]), (SMALL, CROSSED)])
def test_matches_memory(simulate, config, paces):
    simulate(
        FeatureBuffer(Fa3cConfig(**config)),
        "fa3c.unit.feature_buffer_bench",
        config=Fa3cConfig(**config).to_dict(),
        paces=paces,
    )


@pytest.mark.parametrize(
    "rows, style, bram36, uram",
    [
        (64, "distributed", 0, 0),
        (65, "block", 8, 0),
        (1024, "block", 15, 0),
        (1025, "ultra", 0, 8),
        (4097, "ultra", 0, 16),
    ],
)
def test_blocks(rows, style, bram36, uram):
    assert row_style(rows) == style
    assert row_blocks(rows) == {"bram36": bram36, "uram": uram}


def test_estimate():
    """Of the default: 5420 rows."""
    estimate = FeatureBuffer.estimate(Fa3cConfig())
    assert (estimate.latency, estimate.interval) == (2, 1)
    assert (estimate.bram36, estimate.uram) == (0, 16)

"""hw.fa3c.unit.feature_buffer against lists of rows, and hw.fa3c.rows."""

import pytest
from paces import CROSSED

from hw.fa3c.config import Fa3cConfig
from hw.fa3c.rows import row_blocks, row_style
from hw.fa3c.unit.feature_buffer import FeatureBuffer

#: 95 rows.
CONFIG = Fa3cConfig(
    height=5, width=5, channels=4, convolutions=((16, 3, 1),), hidden=(16,), outputs=50
)


def test_matches_memory(simulate):
    """Rows at all paces, who comes first, a port that stalls."""
    simulate(
        FeatureBuffer(CONFIG),
        "fa3c.unit.feature_buffer_bench",
        config=CONFIG.to_dict(),
        paces=CROSSED,
    )


@pytest.mark.parametrize(
    "rows, style, lut, bram36, uram",
    [
        (64, "distributed", 0, 0, 0),
        (65, "block", 0, 8, 0),
        (1024, "block", 0, 15, 0),
        (1025, "ultra", 0, 0, 8),
        (4097, "ultra", 512, 0, 16),
        (45056, "ultra", 5 * 512, 0, 88),
    ],
)
def test_blocks(rows, style, lut, bram36, uram):
    assert row_style(rows) == style
    assert row_blocks(rows) == {"lut": lut, "bram36": bram36, "uram": uram}


def test_estimate():
    """Of the default: 5420 rows."""
    estimate = FeatureBuffer.estimate(Fa3cConfig())
    assert (estimate.latency, estimate.interval) == (2, 1)
    assert (estimate.bram36, estimate.uram) == (0, 16)

"""hw.fa3c.unit.feature_buffer against lists of rows, and hw.fa3c.rows."""

import pytest
from paces import CROSSED

from hw.fa3c.config import Fa3cConfig
from hw.fa3c.estimate import row_memory
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
    "rows, ultra_ram, lut, bram36, uram",
    [
        (64, True, 74 * 8, 0, 0),
        (65, True, 0, 7.5, 0),
        (1024, True, 0, 14.5, 0),
        (2047, True, 0, 28.5, 0),
        (2048, True, 0, 0, 8),
        (2048, False, 0, 28.5, 0),
        (4097, True, 512, 0, 15),
        (45056, True, 6 * 512, 0, 79),
    ],
)
def test_memory(rows, ultra_ram, lut, bram36, uram):
    """As yosys maps them: the last bits of a row take half a block, or share one of UltraRAM."""
    found = row_memory(rows, ultra_ram)
    assert (found.lut, found.bram36, found.uram) == (lut, bram36, uram)


def test_estimate():
    """Of the default: 5420 rows."""
    config = Fa3cConfig()
    estimate = row_memory(config.feature_rows, config.ultra_ram)
    assert (estimate.bram36, estimate.uram) == (0, 15)
    assert FeatureBuffer.LATENCY == 2

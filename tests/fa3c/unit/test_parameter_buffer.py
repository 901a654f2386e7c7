"""hw.fa3c.unit.parameter_buffer against a memory behind a port."""

import pytest
from paces import CROSSED

from hw.fa3c.config import Fa3cConfig
from hw.fa3c.estimate import row_memory
from hw.fa3c.unit.parameter_buffer import ParameterBuffer

#: Paces of requests and of rows, longest pause of memory.
PAUSES = [(*paces, 0) for paces in CROSSED[::2]] + [("solid", "steady", 30), ("steady", "solid", 3)]
NETWORK = dict(height=4, width=4, channels=1, convolutions=(), hidden=())


@pytest.mark.parametrize(
    "ring, pauses, layout", [(64, PAUSES, "tlu"), (140, PAUSES[2:3], "tlu"), (64, PAUSES, "alt1")]
)
def test_matches_memory(simulate, ring, pauses, layout):
    """In Alt1 runs come several times."""
    config = Fa3cConfig(**NETWORK, parameter_rows=ring, layout=layout)
    simulate(
        ParameterBuffer(config),
        "fa3c.unit.parameter_buffer_bench",
        config=config.to_dict(),
        pauses=pauses,
    )


def test_estimate():
    config = Fa3cConfig()
    estimate = row_memory(config.parameter_rows, config.ultra_ram)
    assert (estimate.bram36, estimate.uram) == (0, 8)

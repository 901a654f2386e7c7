"""hw.fa3c.unit.compute_unit: tasks against the twins of the passes, bit for bit."""

from dataclasses import replace

import pytest
from fa3c.networks import NETWORKS, random_networks

from hw.fa3c.unit.compute_unit import ComputeUnit

#: What is quick to build, and does each task on one of the memories; all others are long.
QUICK = ("smallest",)


@pytest.mark.parametrize(
    "name",
    [name if name in QUICK else pytest.param(name, marks=pytest.mark.long) for name in NETWORKS],
)
def test_matches_twin(simulate, name):
    config = replace(NETWORKS[name], units=("any",))
    simulate(
        ComputeUnit(config, 0),
        "fa3c.unit.compute_unit_bench",
        config=config.to_dict(),
        short=name in QUICK,
    )


@pytest.mark.long
@pytest.mark.parametrize("seed", range(8))
def test_random_shapes(simulate, seed):
    """Every pass of any network within the limits: kernels, strides, sizes, widths, lanes."""
    (config,) = random_networks(1, 100 + seed)
    config = replace(config, units=("any",), lanes=min(4, config.lanes))
    simulate(
        ComputeUnit(config, 0),
        "fa3c.unit.compute_unit_bench",
        config=config.to_dict(),
        short=True,
    )

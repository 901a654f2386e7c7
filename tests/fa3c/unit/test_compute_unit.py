"""hw.fa3c.unit.compute_unit: tasks against the twins of the passes, bit for bit."""

from dataclasses import replace

import pytest
from fa3c.networks import NETWORKS, random_networks
from marks import long_but

from hw.fa3c.unit.compute_unit import ComputeUnit

#: Does each task on one of the memories.
SHORT = "smallest"
#: A network and one of its own units, as short: both kinds of layers, of a unit that trains; quick
#: to simulate. Units that infer are in the kernel of the quick tests, and all others are long.
QUICK_ROLES = [("two convolutions", 1)]


def matches_twin(simulate, config, number, short, **simulator):
    simulate(
        ComputeUnit(config, number),
        "fa3c.unit.compute_unit_bench",
        config=config.to_dict(),
        number=number,
        short=short,
        **simulator,
    )


@pytest.mark.long
@pytest.mark.parametrize("name", NETWORKS)
def test_matches_twin(simulate, name):
    """A unit that does everything: slow under Icarus, to which the units in one role are left."""
    config = replace(NETWORKS[name], units=("any",))
    matches_twin(simulate, config, 0, name == SHORT, simulator="verilator")


@pytest.mark.parametrize(
    "name, number", long_but(QUICK_ROLES, [(name, unit) for name in NETWORKS for unit in (0, 1)])
)
def test_each_unit_in_its_role(simulate, name, number):
    """hw_arrays 1: a unit that only trains a network of one layer could not be generated, as it
    has no pass that makes rows of a map."""
    matches_twin(simulate, NETWORKS[name], number, (name, number) in QUICK_ROLES)


@pytest.mark.long
@pytest.mark.parametrize("layout", ["alt1", "alt2"])
@pytest.mark.parametrize("name", ["smallest", "four lanes", "eight lanes", "vectors"])
def test_other_layouts(simulate, name, layout):
    """FA3C's alternatives: the bits of the transpose unit's, and clocks of their own."""
    config = replace(NETWORKS[name], units=("any",), layout=layout)
    matches_twin(simulate, config, 0, False, simulator="verilator")


@pytest.mark.long
@pytest.mark.parametrize("seed", range(8))
def test_random_shapes(simulate, seed):
    """Every pass of any network within the limits: kernels, strides, sizes, widths, lanes."""
    (config,) = random_networks(1, 100 + seed)
    config = replace(config, units=("any",), lanes=min(4, config.lanes))
    matches_twin(simulate, config, 0, True)

"""hw.fa3c.unit.loops against nested loops in Python, for every nest of every pass."""

import pytest
from fa3c.networks import NETWORKS

from hw.fa3c.plan import forward_passes, training_passes
from hw.fa3c.unit.fill import Fill
from hw.fa3c.unit.held_rows import HeldRows
from hw.fa3c.unit.sweep import Sweep


@pytest.mark.parametrize("unit", [Fill, HeldRows, Sweep])
@pytest.mark.parametrize("name", ["usual", "kernel of one", "several blocks", "vectors"])
def test_matches_loops(simulate, name, unit):
    config = NETWORKS[name]
    nest = unit(config, forward_passes(config) + training_passes(config)).nest
    loops = [dict(p._asdict(), levels=len(p.counts)) for p in nest.passes]
    simulate(
        nest,
        "fa3c.unit.loops_bench",
        loops=loops,
        names=nest.names,
        batch=nest.most,
        gap=0.3 if name == "usual" else 0,
    )

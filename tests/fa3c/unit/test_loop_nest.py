"""hw.fa3c.unit.loop_nest against nested loops in Python, for every nest of every pass."""

from itertools import product

import pytest
from fa3c.networks import NETWORKS

from hw.fa3c.plan import forward_passes, training_passes
from hw.fa3c.unit.fill import Fill
from hw.fa3c.unit.held_rows import HeldRows
from hw.fa3c.unit.sweep import Sweep

NAMES, UNITS = ("usual", "kernel of one", "several blocks", "vectors"), (Fill, HeldRows, Sweep)
#: These have every kind of loop: taps, short last turns, one more turn for the bias.
_SOON = [("kernel of one", Fill), ("kernel of one", Sweep)]
CASES = [
    pytest.param(*case, marks=() if case in _SOON else pytest.mark.long)
    for case in product(NAMES, UNITS)
]


@pytest.mark.parametrize("name, unit", CASES)
def test_matches_loops(simulate, name, unit):
    config = NETWORKS[name]
    nest = unit(config, forward_passes(config) + training_passes(config)).nest
    loops = [dict(p._asdict(), levels=len(p.counts)) for p in nest.passes]
    simulate(
        nest,
        "fa3c.unit.loop_nest_bench",
        loops=loops,
        names=nest.names,
        batch=nest.most,
        gap=0.3 if name == "usual" or unit is Fill else 0,
    )

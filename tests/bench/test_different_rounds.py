"""bench.fa3c.different_rounds: clocks and bytes are those of the whole period."""

from collections import Counter

import pytest
from fa3c.test_kernel import SMALL
from replay.kernels import generate

from bench.fa3c.different_rounds import measure_different
from bench.fa3c.rounds import measure


def bytes_of(period):
    """By channel and master; the local masters together, since a rollout may begin on any."""
    found = Counter()
    for (master, channel), size in period.moved.items():
        found[master.rstrip("0123456789"), channel] += size
    return found


@pytest.mark.long
@pytest.mark.parametrize("agents", [5, 1])
def test_as_the_whole_period(agents):
    folder = generate(SMALL).parent
    found, whole = measure_different(folder, agents), measure(folder, agents)
    assert found.agents == whole.agents
    assert found.clocks == pytest.approx(whole.clocks, rel=0.005)
    assert bytes_of(found) == bytes_of(whole)

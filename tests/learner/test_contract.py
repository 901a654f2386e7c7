"""hw.learner.contract: what was clipped is counted, and stays at the largest number."""

import pytest
from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from clocks import Clocks

from hw.learner.contract import count_saturations

LARGEST = (1 << 32) - 1


class Counted(wiring.Component):
    """Two numbers of each kind in a clock."""

    def __init__(self, width):
        self.width = width
        pair = data.ArrayLayout(unsigned(31), 2)
        super().__init__(
            {
                "counts": In(data.ArrayLayout(pair, 3)),
                "saturations": Out(data.ArrayLayout(unsigned(32), 3)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        count_saturations(m, self.saturations, self.counts, width=self.width)
        return m


@pytest.mark.parametrize("width", [None, 32])
def test_count_saturations(simulate, tmp_path, width):
    """Also of so many in a clock that their sum has a bit more; each kind for itself."""
    clocks, totals, most = Clocks(), [0, 0, 0], (1 << 31) - 1
    for counts in (
        [[0, 0], [0, 0], [0, 0]],
        [[1, 0], [0, 2], [3, 4]],
        [[most, most], [0, 0], [1 << 20, 1 << 20]],
        [[0, 0], [1, 0], [5, 0]],
        [[1, 1], [0, 0], [most, 0]],
        [[most, most], [7, 0], [most, 0]],
        [[1, 0], [0, 0], [0, 0]],
    ):
        now = clocks.add(counts=counts)
        totals = [min(total + sum(own), LARGEST) for total, own in zip(totals, counts, strict=True)]
        clocks.expect(now + 2, saturations=totals)
    assert totals == [LARGEST, 10, LARGEST]
    clocks.run(simulate, Counted(width), tmp_path)

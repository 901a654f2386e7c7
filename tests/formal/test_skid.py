"""hw.stream.skid, for all time (PDR): no word lost, doubled, changed or out of order."""

import pytest
from formal.prove import Refuted, planted
from formal.stream_top import StreamTop

from hw.stream.skid import SkidBuffer

#: Mistakes that need not be planted every time.
LONG = pytest.mark.long


def test_skid(prove):
    prove(StreamTop(SkidBuffer(2), 2, SkidBuffer.LATENCY))


@pytest.mark.parametrize(
    "old, new, name",
    [
        ("self.i.ready.eq(~full)", "self.i.ready.eq(1)", "in_order"),
        pytest.param("full.eq(0),", "", "in_order|ready_when_empty", marks=LONG),
        pytest.param(
            "Mux(full, spare, self.i.payload)",
            "Mux(full, self.i.payload, spare)",
            "in_order",
            marks=LONG,
        ),
        ("eq(full | self.i.valid)", "eq(self.i.valid)", "in_order|soon_offered"),
        pytest.param(
            "~self.o.valid | self.o.ready)",
            "~self.o.valid | self.o.ready | full)",
            "o_is_stable",
            marks=LONG,
        ),
    ],
    ids=["overflow", "doubled", "changed", "lost", "unstable"],
)
def test_finds(prove, old, new, name):
    unit = planted("hw.stream.skid", old, new).SkidBuffer(2)
    with pytest.raises(Refuted, match=f"does not hold: .*({name})"):
        prove(StreamTop(unit, 2, unit.LATENCY), engine="bmc", depth=8)

"""hw.stream.skid, for all time (PDR): no word lost, doubled, changed or out of order."""

import pytest
from formal.prove import Refuted, planted
from formal.stream_top import StreamTop
from later import later

from hw.stream.skid import SkidBuffer


def test_skid(prove):
    prove(StreamTop(SkidBuffer(2), 2, SkidBuffer.LATENCY))


@pytest.mark.parametrize(
    "old, new, name",
    [
        ("self.i.ready.eq(~full)", "self.i.ready.eq(1)", "in_order"),
        later("full.eq(0),", "", "in_order|ready_when_empty"),
        later("Mux(full, spare, self.i.payload)", "Mux(full, self.i.payload, spare)", "in_order"),
        later("eq(full | self.i.valid)", "eq(self.i.valid)", "in_order|soon_offered"),
        later(
            "~self.o.valid | self.o.ready)", "~self.o.valid | self.o.ready | full)", "o_is_stable"
        ),
    ],
    ids=["overflow", "doubled", "changed", "lost", "unstable"],
)
def test_finds(prove, old, new, name):
    unit = planted("hw.stream.skid", old, new).SkidBuffer(2)
    with pytest.raises(Refuted, match=f"does not hold: .*({name})"):
        prove(StreamTop(unit, 2, unit.LATENCY), engine="bmc", depth=8)

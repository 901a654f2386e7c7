"""hw.stream.ready_register, for all time (PDR): no word lost, doubled, changed or out of order."""

import pytest
from formal.prove import Refuted, planted
from formal.stream_top import StreamTop
from later import later

from hw.stream.ready_register import ReadyRegister


def test_ready_register(prove):
    prove(StreamTop(ReadyRegister(2), 1, ReadyRegister.LATENCY))


@pytest.mark.parametrize(
    "old, new, name",
    [
        ("self.i.ready.eq(~full)", "self.i.ready.eq(1)", "in_order"),
        later("full.eq(self.o.valid & ~self.o.ready)", "full.eq(self.o.valid)", "in_order"),
        later("with m.If(~full):", "with m.If(full):", "in_order|o_is_stable"),
        ("eq(full | self.i.valid)", "eq(self.i.valid)", "in_order|soon_offered"),
    ],
    ids=["overflow", "doubled", "changed", "lost"],
)
def test_finds(prove, old, new, name):
    unit = planted("hw.stream.ready_register", old, new).ReadyRegister(2)
    with pytest.raises(Refuted, match=f"does not hold: .*({name})"):
        prove(StreamTop(unit, 1, unit.LATENCY), engine="bmc", depth=6)

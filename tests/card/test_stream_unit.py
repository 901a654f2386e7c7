"""sim.streams: arrays through a Verilated unit, and what it says of units that break the rules."""

import pytest
from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from later import later

from sim.streams import StreamUnit


class Echo(wiring.Component):
    """Answers a request one clock later with its complement; ``fault`` 1 stands still, 2 changes
    an answer that waits, 3 takes it back."""

    def __init__(self, width):
        super().__init__(
            {
                "request": In(stream.Signature(width)),
                "response": Out(stream.Signature(width)),
                "fault": In(2),
                "count": Out(40),
            }
        )

    def elaborate(self, platform):
        m = Module()
        held = Signal()
        m.d.comb += [
            self.request.ready.eq((~held | self.response.ready) & (self.fault != 1)),
            self.response.valid.eq(held),
        ]
        with m.If(self.request.ready):
            m.d.sync += [held.eq(self.request.valid), self.response.payload.eq(~self.request.p)]
        with m.Elif(self.fault == 2):
            m.d.sync += self.response.payload.eq(self.response.p + 1)
        with m.Elif(self.fault == 3):
            m.d.sync += held.eq(0)
        with m.If(self.request.ready & self.request.valid):
            m.d.sync += self.count.eq(self.count + (1 << 33))
        return m


@pytest.fixture(params=[1, later(31), later(32), 33, later(64), later(65), 200])
def width(request):
    return request.param


def words(width, count=50):
    top = (1 << width) - 1
    return [(k * 0x9E3779B97F4A7C15F39CC0605CEDC834) & top for k in range(count)]


def test_every_word_arrives(width):
    unit = StreamUnit(Echo(width), name=f"echo_{width}")
    sent = words(width)
    for gaps in [(0, 0), (0.5, 0), (0, 0.5), (0.4, 0.6)]:
        answers, clocks = unit.run(sent, source_gap=gaps[0], sink_gap=gaps[1], seed=7)
        assert answers == [word ^ ((1 << width) - 1) for word in sent]
        assert clocks == len(sent) + 1 if gaps == (0, 0) else clocks > len(sent) + 1
    assert unit.get("count") == (4 * len(sent)) << 33 & (1 << 40) - 1


@pytest.mark.parametrize(
    "fault, error, message",
    [
        (1, TimeoutError, "response must move within 500 clocks, not stand still after 0 of 50"),
        (2, RuntimeError, "response must stay as offered until it is taken, not change"),
        (3, RuntimeError, "response must stay as offered until it is taken, not change"),
    ],
)
def test_broken_units_are_told(fault, error, message):
    unit = StreamUnit(Echo(33), name="echo_33")
    unit.set("fault", fault)
    with pytest.raises(error, match=message):
        unit.run(words(33), sink_gap=0.5, max_idle=500)


def test_wait_is_bounded():
    unit = StreamUnit(Echo(33), name="echo_33")
    with pytest.raises(TimeoutError, match="count must become 1 within 20 clocks, not stay 0"):
        unit.wait("count", 1, 20)


def test_steps_back():
    unit = StreamUnit(Echo(8), name="echo_8")
    with pytest.raises(ValueError, match="clocks must be at least 0, not -1"):
        unit.step(-1)
    unit.close()

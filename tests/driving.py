"""What the benches of single units share: the start, waits that end, clocks of a high line."""

import cocotb
from amaranth import Shape
from amaranth.lib.wiring import In
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge, SimTimeoutError, with_timeout
from streams import ports, reset

__all__ = ["Watch", "clocks", "pulse", "seen", "start", "until", "within"]

_NS = 10  # of a clock


async def start(dut, unit):
    """The clock and a reset; every input of the component ``unit``, like ``dut``, is 0."""
    for path, member, _ in unit.signature.flatten(unit):
        if member.flow == In and Shape.cast(member.shape).width:
            getattr(dut, "__".join(map(str, path))).value = 0
    cocotb.start_soon(Clock(dut.clk, _NS, "ns").start())
    await reset(dut)


async def clocks(dut, count):
    for _ in range(count):
        await RisingEdge(dut.clk)


async def pulse(dut, name, value=1):
    """An input that is not 0 for one clock."""
    getattr(dut, name).value = value
    await RisingEdge(dut.clk)
    getattr(dut, name).value = 0


async def seen(dut, name):
    """An output before the next edge, which passes."""
    await ReadOnly()
    value = int(getattr(dut, name).value)
    await RisingEdge(dut.clk)
    return value


async def within(work, limit, what):
    """The result of ``work``, a coroutine or a task; AssertionError after so many clocks."""
    try:
        return await with_timeout(work, _NS * limit, "ns")
    except SimTimeoutError:
        raise AssertionError(f"no {what} within {limit} clocks") from None


async def until(dut, name, limit=1000, value=1):
    """Past the first edge that finds the output at ``value``; AssertionError after so many."""
    for _ in range(limit):
        if await seen(dut, name) == value:
            return
    raise AssertionError(f"{name} is not {value} within {limit} clocks")


class Watch:
    """``high[name]``: clocks in which a line is not 0, in which a word of a stream moves.

    ``clock`` counts from 0, as that of a memory which was made in the same clock.
    """

    def __init__(self, dut, *lines, streams=()):
        self.dut, self.clock = dut, 0
        self.lines = {name: [getattr(dut, name)] for name in lines}
        self.lines |= {name: ports(dut, name)[1:] for name in streams}
        self.forget()
        cocotb.start_soon(self._run())

    def forget(self):
        self.high = {name: [] for name in self.lines}

    async def _run(self):
        while True:
            await ReadOnly()
            for name, lines in self.lines.items():
                if all(int(line.value) for line in lines):
                    self.high[name].append(self.clock)
            await RisingEdge(self.dut.clk)
            self.clock += 1

"""Runs inside the simulator; started by test_control.py."""

import itertools
import json
import os
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge, with_timeout
from cocotbext.axi import AxiLiteBus, AxiLiteMaster, AxiResp
from pauses import pauses

from hw.shell.description import Argument

CASE = json.loads(os.environ["CASE"])
ARGUMENTS = [Argument(**argument) for argument in CASE["arguments"]]
CTRL, GIER, IER, ISR = 0x0, 0x4, 0x8, 0xC
#: Byte ranges of a word; AxiLiteMaster makes the strobes from the range of a write.
RANGES = (((0, 4),), ((0, 1),), ((1, 3),), ((3, 4),), ((0, 2), (3, 4)))
START, DONE, IDLE, READY, AUTO_RESTART = 1, 2, 4, 8, 128


class Host:
    """AxiLiteMaster with random pauses, bounded waits, and a count of the starts."""

    def __init__(self, dut):
        self.dut, self.rng, self.starts = dut, random.Random(CASE["seed"]), 0
        self.clock = {}
        self.bus = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axi_control"), dut.clk, dut.rst)
        write, read = self.bus.write_if, self.bus.read_if
        channels = (write.aw_channel, write.w_channel, write.b_channel)
        channels += (read.ar_channel, read.r_channel)
        for channel, gap in zip(channels, CASE["gaps"], strict=True):
            channel.set_pause_generator(pauses(gap, self.rng))
        cocotb.start_soon(self._watch())

    async def _watch(self):
        """``clock[event]``: the last clock of a handshake or of done, for the tests of races."""
        for clock in itertools.count():
            await ReadOnly()
            self.starts += int(self.dut.start.value) and not int(self.dut.rst.value)
            for event in ("aw", "w", "ar"):
                pins = (f"s_axi_control_{event}{part}" for part in ("valid", "ready"))
                if all(int(getattr(self.dut, pin).value) for pin in pins):
                    self.clock[event] = clock
            if int(self.dut.done.value):
                self.clock["done"] = clock
            await RisingEdge(self.dut.clk)

    @property
    def write_clock(self):
        """The clock in which the last write took effect."""
        return max(self.clock["aw"], self.clock["w"]) + 1

    async def write(self, address, value, ranges=((0, 4),)):
        for low, high in ranges:
            data = value.to_bytes(4, "little")[low:high]
            answer = await with_timeout(self.bus.write(address + low, data), 5, "us")
            assert answer.resp == AxiResp.OKAY

    async def read(self, address):
        answer = await with_timeout(self.bus.read(address, 4), 5, "us")
        assert answer.resp == AxiResp.OKAY
        return int.from_bytes(answer.data, "little")

    async def expect(self, address, value):
        assert await self.read(address) == value, hex(address)

    async def clocks(self, count):
        for _ in range(count):
            await RisingEdge(self.dut.clk)

    async def finish(self, after=0):
        """The kernel's pulse of ``done``."""
        await self.clocks(after)
        self.dut.done.value = 1
        await RisingEdge(self.dut.clk)
        self.dut.done.value = 0

    async def interrupt(self):
        await self.clocks(1)
        await ReadOnly()
        value = int(self.dut.interrupt.value)
        await RisingEdge(self.dut.clk)
        return value


async def begin(dut):
    dut.done.value = 0
    cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
    host = Host(dut)
    dut.rst.value = 1
    await host.clocks(3)
    dut.rst.value = 0
    await host.clocks(2)
    return host


def sweep(distances):
    """Clocks to wait with done, until it has fallen before, in and after the access's own clock."""
    for attempt in range(400):
        yield attempt % 16
        if attempt >= 15 and {-1, 0, 1} <= distances:
            return
    raise AssertionError(f"done must meet the access, not only at {sorted(distances)}")


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def arguments_hold_what_was_written(dut):
    """Every word from 0x10 on takes a write; strobes pick bytes; gaps read 0."""
    host = await begin(dut)
    expected = {}
    for argument in ARGUMENTS:
        for low in range(0, argument.size, 4):
            expected[argument.offset + low] = 0
    last = max(expected)
    words = list(range(0x10, last + 12, 4)) + [0xFFC]
    for address in words:
        assert await host.read(address) == 0
    for _ in range(3):
        for address in words:
            value, ranges = host.rng.getrandbits(32), host.rng.choice(RANGES)
            await host.write(address, value, ranges)
            if address in expected:
                for low, high in ranges:
                    mask = (1 << 8 * high) - (1 << 8 * low)
                    expected[address] = expected[address] & ~mask | value & mask
        for address in words:
            assert await host.read(address) == expected.get(address, 0), hex(address)
    for argument in ARGUMENTS:
        value = sum(expected[argument.offset + b] << 8 * b for b in range(0, argument.size, 4))
        assert int(getattr(dut, argument.name).value) == value
    assert host.starts == 0 and await host.read(CTRL) == IDLE


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def accesses_queue_up(dut):
    """The master offers the next access before the answer to the last: none is lost or doubled."""
    host = await begin(dut)
    offsets = [a.offset for a in ARGUMENTS]
    values = [host.rng.getrandbits(32) for _ in offsets]
    pairs = list(zip(offsets, values, strict=True))
    for task in [cocotb.start_soon(host.write(*pair)) for pair in pairs]:
        await task
    for task in [cocotb.start_soon(host.expect(*pair)) for pair in pairs]:
        await task
    for _ in range(20):
        await ReadOnly()
        assert not int(dut.s_axi_control_bvalid.value) and not int(dut.s_axi_control_rvalid.value)
        await RisingEdge(dut.clk)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def launch(dut):
    """start is one clock; ap_start lasts until done; done is seen once."""
    host = await begin(dut)
    for count in (1, 2, 3):
        await host.write(CTRL, START)
        assert await host.read(CTRL) == START
        await host.write(CTRL, START)  # lost: the kernel is running
        assert await host.read(CTRL) == START and host.starts == count
        await host.finish()
        assert await host.read(CTRL) == DONE | READY | IDLE
        assert await host.read(CTRL) == IDLE
        await host.clocks(5)
        assert host.starts == count
    await host.write(CTRL, 0)
    await host.write(CTRL, START << 8)
    await host.clocks(5)
    assert host.starts == 3


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def auto_restart(dut):
    """A new launch follows each done until a plain write clears the bit."""
    host = await begin(dut)
    await host.write(CTRL, START | AUTO_RESTART)
    for count in (1, 2, 3):
        await host.clocks(3)
        assert host.starts == count
        assert await host.read(CTRL) & ~DONE & ~READY == START | AUTO_RESTART
        await host.finish()
    await host.write(CTRL, 0)
    await host.finish()
    await host.clocks(5)
    assert host.starts == 4 and await host.read(CTRL) == DONE | READY | IDLE


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def interrupts(dut):
    """IER gates what ISR records, GIER what the pin shows; a written 1 toggles."""
    host = await begin(dut)

    async def launch_once():
        await host.write(CTRL, START)
        await host.clocks(3)
        await host.finish()

    await launch_once()
    assert await host.read(ISR) == 0 and not await host.interrupt()
    for enabled in (1, 2, 3):
        await host.write(GIER, 0)
        await host.write(IER, enabled)
        assert await host.read(IER) == enabled
        await launch_once()
        assert await host.read(ISR) == enabled and not await host.interrupt()
        await host.write(GIER, 1)
        assert await host.read(GIER) == 1 and await host.interrupt()
        await host.write(ISR, enabled)  # as the driver does: back what was read
        assert await host.read(ISR) == 0 and not await host.interrupt()
    await host.write(ISR, 1)
    assert await host.read(ISR) == 1 and await host.interrupt()
    await host.write(ISR, 3)
    assert await host.read(ISR) == 2 and await host.interrupt()
    await host.write(0x8, 0xFFFFFFFC)
    assert await host.read(IER) == 0


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def interrupt_registers_alone(dut):
    """Survivors 32 and 34: a write of other bytes leaves them; a read of them leaves ap_done."""
    host = await begin(dut)
    for address, value in ((GIER, 1), (IER, 3)):
        await host.write(address, value)
        await host.write(address, 0, ((1, 4),))
        assert await host.read(address) == value, hex(address)
    await host.write(CTRL, START)
    await host.finish(3)
    for address in (ISR, IER, GIER, 0x10):
        await host.read(address)
    assert [await host.read(CTRL) for _ in range(2)] == [DONE | READY | IDLE, IDLE]


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def done_meets_a_read(dut):
    """Wherever done falls about a read of CTRL, one read of all sees it."""
    host = await begin(dut)
    distances = set()
    for after in sweep(distances):
        await host.write(CTRL, START)
        await host.clocks(2)
        finish = cocotb.start_soon(host.finish(after))
        first = await host.read(CTRL)
        read_clock = host.clock["ar"]
        await finish
        later = [await host.read(CTRL) for _ in range(2)]
        distance = host.clock["done"] - read_clock
        seen = [bool(value & DONE) for value in (first, *later)]
        expected = [True, False, False] if distance < 0 else [False, True, False]
        assert seen == expected, f"done {distance} clocks after the read: {seen}"
        distances.add(distance)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def done_meets_a_start(dut):
    """A start written before done is lost; with done or after it, it launches once."""
    host = await begin(dut)
    distances = set()
    for after in sweep(distances):
        before = host.starts
        await host.write(CTRL, START)
        await host.clocks(2)
        finish = cocotb.start_soon(host.finish(after))
        await host.write(CTRL, START)
        await finish
        await host.clocks(3)
        distance = host.clock["done"] - host.write_clock
        again = distance <= 0
        assert host.starts - before == 1 + again, f"done {distance} clocks after the write"
        assert await host.read(CTRL) & (START | IDLE) == (START if again else IDLE)
        if again:
            await host.finish()
        await host.read(CTRL)
        distances.add(distance)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def done_meets_an_acknowledge(dut):
    """An event in the clock of the toggle that clears the one before it is kept."""
    host = await begin(dut)
    await host.write(IER, 1)
    distances = set()
    for after in sweep(distances):
        await host.write(CTRL, START)
        await host.clocks(2)
        await host.finish()
        await host.write(CTRL, START)
        await host.clocks(2)
        finish = cocotb.start_soon(host.finish(after))
        await host.write(ISR, 1)
        await finish
        distance = host.clock["done"] - host.write_clock
        kept = await host.read(ISR)
        assert kept == (distance >= 0), f"done {distance} clocks after the write"
        await host.write(ISR, kept)
        await host.read(CTRL)
        distances.add(distance)

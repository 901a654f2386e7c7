"""Runs inside the simulator: REPORTs, their beats and answers; see test_report.py."""

import json
import os
import random

import cocotb
from cocotb.triggers import ReadOnly, RisingEdge
from driving import Watch, clocks, pulse, start, until
from paces import PACES, Gaps
from shell.port_memory import WriteMemory

from hw.learner.control.report_writer import ReportWriter

WIDTH = json.loads(os.environ["CASE"])["data_width"]
BYTES = WIDTH // 8
BEATS = 512 // WIDTH


class Bench:
    """``expected``: what memory must hold, beats by address; ``count``: REPORTs that were sent."""

    def __init__(self, dut):
        self.dut, self.rng = dut, random.Random(1)
        self.expected, self.requests, self.address = {}, [], 0

    async def begin(self, pauses="steady", **options):
        await start(self.dut, ReportWriter(WIDTH))
        self.memory = WriteMemory(
            self.dut, BYTES, port="write", pauses=Gaps(pauses, 1), lag=None, **options
        )
        self.watch = Watch(self.dut, "idle", "sending")

    async def start(self, address):
        self.dut.address.value, self.address = address, address
        await pulse(self.dut, "start")
        self.dut.address.value = self.rng.getrandbits(64)

    async def send(self):
        """One REPORT; what is on ``report`` in the next clock is none."""
        report = self.rng.getrandbits(512)
        for k in range(BEATS):
            beat = report >> WIDTH * k & (1 << WIDTH) - 1
            self.expected[self.address + k * BYTES] = beat
        self.requests.append((self.address, BEATS))
        self.address += 64
        self.dut.report.value = report
        await pulse(self.dut, "send")
        self.dut.report.value = self.rng.getrandbits(512)
        await ReadOnly()
        assert int(self.dut.sending.value) and not int(self.dut.idle.value)
        await RisingEdge(self.dut.clk)

    async def sent(self):
        await until(self.dut, "sending", 300, value=0)

    def check(self):
        assert self.memory.taken == self.requests
        assert self.memory.written == self.expected


@cocotb.test(timeout_time=10, timeout_unit="ms")
@cocotb.parametrize(pauses=PACES, latency=[1, 60])
async def reports(dut, pauses, latency):
    """Sent as soon as may be and later; ``idle`` from the clock after memory's last answer."""
    bench = Bench(dut)
    await bench.begin(pauses, latency=latency)
    count = 0
    for first in (0, (1 << 32) - 64, (1 << 40) + 64):
        await bench.start(first)
        for k in range(10):
            await bench.send()
            await bench.sent()
            await clocks(dut, bench.rng.choice([0, 3]) if k % 3 else 0)
        count += 10
        await until(dut, "idle", 1000)
        assert len(bench.memory.clocks["done"]) == count, "idle before an answer"
        assert bench.watch.high["idle"][-1] == bench.memory.clocks["done"][-1] + 1
        bench.check()
    await clocks(dut, 20)
    bench.check()


@cocotb.test(timeout_time=10, timeout_unit="ms")
@cocotb.parametrize(first=["request", "data"])
async def one_stalls(dut, first):
    """The request leaves long before its beats, or after them: sent when both have left."""
    bench = Bench(dut)
    await bench.begin()
    await bench.start(64)
    late = "data" if first == "request" else "request"
    for _ in range(3):
        bench.memory.stalled = {late}
        await bench.send()
        await clocks(dut, 12)
        assert int(dut.sending.value)
        bench.memory.stalled = set()
        await bench.sent()
        moves = bench.memory.clocks[late]
        assert bench.watch.high["sending"][-1] == moves[-1], "sent with the last that leaves"
        assert bench.memory.clocks[first][-1] < moves[-1] - 8
    await until(dut, "idle", 100)
    bench.check()


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def answers_wait(dut):
    """Many REPORTs of which none is answered: each is sent all the same, and none forgotten."""
    bench = Bench(dut)
    await bench.begin()
    await bench.start(0)
    bench.memory.answering = False
    for _ in range(70):
        await bench.send()
        await bench.sent()
    await clocks(dut, 50)
    assert not int(dut.idle.value)
    bench.memory.answering = True
    await until(dut, "idle", 200)
    assert len(bench.memory.clocks["done"]) == 70
    bench.check()

"""Runs inside the simulator: REPORTs and lists, their beats and answers."""

import json
import os
import random

import cocotb
from cocotb.triggers import ReadOnly, RisingEdge
from driving import Watch, clocks, pulse, seen, start, until
from paces import CROSSED, PACES, Gaps
from shell.port_memory import WriteMemory
from streams import put_all

from hw.learner.control.iteration_writer import IterationWriter

WIDTH = json.loads(os.environ["CASE"])["data_width"]
BYTES = WIDTH // 8
BEATS = 512 // WIDTH


class Bench:
    """``expected``: what memory must hold, beats by address; ``count``: REPORTs that were sent."""

    def __init__(self, dut):
        self.dut, self.rng = dut, random.Random(1)
        self.expected, self.requests, self.address = {}, [], 0

    async def begin(self, pauses="steady", **options):
        await start(self.dut, IterationWriter(WIDTH))
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


@cocotb.test(timeout_time=10, timeout_unit="ms")
@cocotb.parametrize(paces=CROSSED)
async def lists(dut, paces):
    """Each ``advance`` bytes behind the one before, its beats as they come; REPORTs in between."""
    bench = Bench(dut)
    await bench.begin(paces[0], latency=9)
    dut.list_address.value = first = 1 << 41
    dut.advance.value = advance = 256
    await bench.start((1 << 20) - 64)
    dut.list_address.value = 0
    for k, count in enumerate((1, 3, 2, 16, 1)):
        words = [bench.rng.getrandbits(WIDTH) for _ in range(count)]
        place = first + k * advance
        bench.expected |= {place + n * BYTES: word for n, word in enumerate(words)}
        bench.requests.append((place, count))
        dut.beats.value = count
        more = [bench.rng.getrandbits(WIDTH)]  # which is not of this list
        put = cocotb.start_soon(put_all(dut, "list", words + more, Gaps(paces[1], k), 0.5))
        await pulse(dut, "send_list")
        await bench.sent()
        await clocks(dut, 5)
        assert not put.done() and not await seen(dut, "list__ready")
        put.cancel()
        dut.list__valid.value = 0
        for _ in range(k % 3):
            await bench.send()
            await bench.sent()
    await until(dut, "idle", 1000)
    assert len(bench.memory.clocks["done"]) == len(bench.requests), "idle before an answer"
    bench.check()

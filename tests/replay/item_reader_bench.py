"""Runs inside the simulator: lists of items become requests; see test_items.py."""

import json
import os
import random

import cocotb
from cocotb.triggers import ReadOnly, RisingEdge
from driving import clocks, pulse, seen, start
from paces import CROSSED, PACES, Gaps
from replay.item_lists import ALPHA, EPSILON, KINDS, ItemList
from streams import ports, put_all

from hw.replay.commands import Given, Opcode
from hw.replay.config import ReplayConfig
from hw.replay.item_reader import ItemReader
from hw.replay.records import Error
from hw.replay.tree.operations import request_layout

CASE = json.loads(os.environ["CASE"])
CONFIG, WIDTH = ReplayConfig(**CASE["config"]), CASE["data_width"]
PARTS = WIDTH // 64
REQUEST = request_layout(CONFIG)
LIMIT = CONFIG.priority_limit


class Bench:
    def __init__(self, dut, source="steady", sink="steady"):
        self.dut, self.rng, self.source, self.sink = dut, random.Random(1), source, sink
        self.place = CONFIG.capacity - 3
        self.seen = set()  # errors

    async def begin(self):
        await start(self.dut, ItemReader(CONFIG, WIDTH))
        self.dut.alpha.value, self.dut.epsilon.value = ALPHA, EPSILON

    async def send(self, command, fails, gaps):
        """The beats; ``failed`` follows the one that memory failed."""
        for number, word in enumerate(command.words(PARTS)):
            await put_all(self.dut, "words", [word], gaps, 0.5)
            if number == fails:
                self.dut.failed.value = 1

    async def run(self, command, fails=None, count_after=0):
        """Check every request, then the first error. ``fails``: the beat that memory failed."""
        dut, count = self.dut, len(command.items)
        dut.opcode.value, dut.given.value = command.opcode.value, command.given.value
        dut.fill.value, dut.place.value, dut.failed.value = command.fill, self.place, 0
        await pulse(dut, "start")
        assert await seen(dut, "error") == Error.NONE
        source, sink = (Gaps(pace, f"{count} {fails}") for pace in (self.source, self.sink))
        send = cocotb.start_soon(self.send(command, fails, source))
        await clocks(dut, count_after)
        cocotb.start_soon(put_all(dut, "count", [count], source))
        first = (Error.NONE, None)
        for k in range(count):
            request, failed, saturated = await self.take(sink)
            fields, error, clipped = command.expected(k, self.place, failed)
            here = f"{command.opcode.name} item {k} of {count}: {command.items[k]}"
            for name, value in fields.items():
                assert getattr(request, name) == value, f"{here}: {name} is not {value}"
            assert saturated == clipped, f"{here}: saturated is {saturated}"
            assert failed or fails is None or k < fails * PARTS, f"{here} counts as read"
            self.place = (self.place + 1) % CONFIG.capacity
            dut.place.value = self.place
            self.seen.add(error)
            if error and not first[0]:
                first = error, k
        dut.request__ready.value = 0
        assert await seen(dut, "error") == first[0], command.opcode
        assert not first[0] or await seen(dut, "position") == first[1], command.opcode
        assert send.done(), "a beat is left"

    async def take(self, gaps, limit=400):
        """The next request, whether a beat has failed, whether its priority was clipped."""
        payload, valid, ready = ports(self.dut, "request")
        held = None
        for _ in range(limit):
            ready.value = int(gaps.random() >= 0.5)
            await ReadOnly()
            failed, saturated = int(self.dut.failed.value), int(self.dut.saturated.value)
            if int(valid.value):
                word = int(payload.value), failed
                # What stands there becomes bad with the beat behind it.
                assert held is None or held[0] == word[0] or failed > held[1], "request changed"
                held = word
            else:
                assert held is None, "request.valid dropped while stalled"
            moved = int(valid.value) and int(ready.value)
            assert moved or not saturated, "a priority is clipped once"
            await RisingEdge(self.dut.clk)
            if moved:
                return REQUEST.from_bits(held[0]), failed, saturated
        raise AssertionError(f"no request within {limit} clocks")

    async def silent(self):
        self.dut.request__ready.value = 1
        for _ in range(40):
            assert not await seen(self.dut, "request__valid"), "a request too many"


@cocotb.test(timeout_time=10, timeout_unit="ms")
@cocotb.parametrize(paces=[tuple(pair) for pair in CASE["paces"]])
async def lists(dut, paces):
    """Of every opcode; no bad item, the first, the last, all of them; some."""
    bench = Bench(dut, *paces)
    await bench.begin()
    for number, kind in enumerate(KINDS):
        for count in (1, PARTS, 2 * PARTS + 1, 25) if paces == CROSSED[0] else (2 * PARTS + 1,):
            some = bench.rng.sample(range(count), -(-count // 4))
            for bad in ((), (0,), (count - 1,), range(count), some):
                if kind[0] != Opcode.FIND or bad == ():
                    command = ItemList(CONFIG, bench.rng, *kind, count, bad)
                    await bench.run(command, count_after=number % 2 * 30)
    assert bench.seen == {Error.NONE, Error.INDEX, Error.PRIORITY, Error.TD}
    await bench.silent()


@cocotb.test(timeout_time=10, timeout_unit="ms")
@cocotb.parametrize(sink=PACES)
async def memory_fails(dut, sink):
    """The first beat, one in the middle, the last: from its items on all are bad."""
    bench = Bench(dut, "random", sink)
    await bench.begin()
    for kind in KINDS:
        count = 60 if PARTS == 2 else 100  # more than are on their way at once
        beats = -(-count // PARTS)
        for fails in (0, beats // 2, beats - 1):
            await bench.run(ItemList(CONFIG, bench.rng, *kind, count), fails)
            await bench.run(ItemList(CONFIG, bench.rng, *kind, 3))
    assert Error.AXI in bench.seen
    await bench.silent()


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def first_of_two_errors(dut):
    """The code and the item of the first, whatever the second is."""
    bench = Bench(dut)
    await bench.begin()
    command = ItemList(CONFIG, bench.rng, Opcode.SET, Given.NOTHING, 5)
    command.fill = 10
    beyond, large = (10, LIMIT), (9, LIMIT + 1)
    for second, third in ((beyond, large), (large, beyond), ((10, LIMIT + 1), large)):
        command.items = [(9, LIMIT), second, third, beyond, (0, 0)]
        await bench.run(command)
        expected = Error.PRIORITY if second == large else Error.INDEX
        assert (await seen(dut, "error"), await seen(dut, "position")) == (expected, 1)


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def keeps_pace(dut):
    """An item a clock, of more items than the unit has places for."""
    bench = Bench(dut)
    await bench.begin()
    count = 96
    command = ItemList(CONFIG, bench.rng, Opcode.UPDATE, Given.NOTHING, count)
    run, taken = cocotb.start_soon(bench.run(command)), []
    for clock in range(count + 60):
        await ReadOnly()
        if int(dut.request__valid.value) and int(dut.request__ready.value):
            taken.append(clock)
        await RisingEdge(dut.clk)
    await run
    assert taken == list(range(taken[0], taken[0] + count))

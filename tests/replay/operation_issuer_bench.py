"""Runs inside the simulator: a command's operations between its list, the manager and its batch.

The bench is the list, the replay manager, the gather engine and the ring; see test_ask.py.
"""

import collections
import json
import os
import random

import cocotb
from cocotb.triggers import ReadOnly, RisingEdge
from driving import Watch, clocks, pulse, seen, start, until, within
from paces import CROSSED, Gaps
from streams import get_all, ports, put_all

from hw.replay.config import ReplayConfig
from hw.replay.operation_issuer import OperationIssuer
from hw.replay.tree.operations import Operation, request_layout, response_layout

CONFIG = ReplayConfig(**json.loads(os.environ["CASE"])["config"])
REQUEST, RESPONSE = request_layout(CONFIG), response_layout(CONFIG)
#: Flags of the commands, as the core sets them.
MODES = {
    "set": ("is_list",),
    "get": ("is_list", "is_batch"),
    "find": ("is_list", "is_batch", "is_find"),
    "sample": ("is_batch",),
    "insert": ("is_insert",),
    "insert with a list": ("is_insert", "is_list"),
}


class Bench:
    """``requests``: as the manager took them; ``responses``: what it answers, in order."""

    def __init__(self, dut, source="steady", sink="steady"):
        self.dut, self.rng, self.source, self.sink = dut, random.Random(1), source, sink
        self.requests, self.responses, self.owed = [], [], collections.deque()
        self.expected = []  # of a request that enters the ring: its place and priority

    async def begin(self):
        await start(self.dut, OperationIssuer(CONFIG))
        names = ("answered", "advance", "complete", "answer__valid", "request__valid")
        self.watch = Watch(self.dut, *names, streams=("request", "response"))
        cocotb.start_soon(self.ring())
        cocotb.start_soon(self.manager())

    async def ring(self):
        """Another place and priority with every ``advance``."""
        dut = self.dut
        while True:
            dut.position.value = position = self.rng.randrange(CONFIG.capacity)
            dut.entry.value = entry = self.rng.randint(0, CONFIG.priority_limit)
            while not await seen(dut, "advance"):
                pass
            self.expected.append((position, entry))

    async def manager(self):
        """Answers a request three clocks later; pauses on both sides."""
        asks, answers = Gaps(self.sink, 1), Gaps(self.source, 2)
        (request, asked, take), (response, offer, taken) = (
            ports(self.dut, name) for name in ("request", "response")
        )
        clock, shows = 0, False
        while True:
            take.value = int(asks.random() >= 0.5)
            due = bool(self.owed) and self.owed[0][0] <= clock
            shows = due and (shows or answers.random() >= 0.5)
            offer.value = int(shows)
            if shows:
                response.value = self.owed[0][1]
            await ReadOnly()
            if shows and int(taken.value):
                self.owed.popleft()
                shows = False
            if int(asked.value) and int(take.value):
                self.requests.append(int(request.value))
                self.owed.append((clock + 3, self.responses[len(self.requests) - 1]))
            await RisingEdge(self.dut.clk)
            clock += 1

    def word(self, layout, **fields):
        """Anything but these fields."""
        word = layout.from_bits(self.rng.getrandbits(layout.size))
        values = {name: getattr(word, name) for name in layout.members} | fields
        return layout.const(values).as_value().value

    async def command(self, mode, count, wrong=(), *, at_once=False):
        """A command of ``count`` operations; of those at ``wrong`` the manager finds errors."""
        dut, flags = self.dut, MODES[mode]
        for name in ("is_list", "is_insert", "is_batch", "is_find"):
            getattr(dut, name).value = int(name in flags)
        dut.count.value = count
        self.requests.clear(), self.expected.clear()
        self.watch.forget()
        self.responses = [self.word(RESPONSE, error=int(k in wrong)) for k in range(count)]
        # Any operation may stand in a list: what it holds is passed on.
        items = [
            self.word(REQUEST, operation=self.rng.choice(list(Operation))) for _ in range(count)
        ]
        answers = count if "is_batch" in flags else 0
        gaps = Gaps(self.sink, f"{mode} {count}")
        batch = cocotb.start_soon(get_all(dut, "answer", answers, gaps, 0.5))
        dut.begin.value = int(at_once)
        await pulse(dut, "start")
        dut.begin.value = 0
        assert not await seen(dut, "complete") and not await seen(dut, "missed")
        self.watch.high["complete"].clear()
        if "is_list" in flags:
            gaps = Gaps(self.source, f"{mode} {count}")
            cocotb.start_soon(put_all(dut, "items", items, gaps, 0.5))
        elif not at_once:
            await clocks(dut, 5)
            assert not self.watch.high["request__valid"], "a request before begin"
            await pulse(dut, "begin")
        await until(dut, "complete", 100 * count + 200)
        got = [word for (word,) in await within(batch, 10, "whole batch")]
        assert got == self.responses[:answers], f"{mode}: answers of the batch"
        self.check(mode, count, items)
        await clocks(dut, 10)
        missed = "is_find" in flags and bool(wrong)
        assert await seen(dut, "missed") == missed, mode
        assert not missed or await seen(dut, "detail") == min(wrong), mode
        assert len(self.requests) == count, f"{mode}: a request too many"

    def check(self, mode, count, items):
        flags, high = MODES[mode], self.watch.high
        if "is_list" in flags:
            assert self.requests == items, f"{mode}: what is in the list"
        requests = [REQUEST.from_bits(word) for word in self.requests]
        assert len(requests) == count
        if mode == "sample":
            found = [(request.operation, request.first) for request in requests]
            assert found == [(Operation.SAMPLE, int(k == 0)) for k in range(count)]
        if mode == "insert":
            found = [(request.operation, request.index, request.value) for request in requests]
            assert found == [(Operation.SET, *place) for place in self.expected]
        assert high["advance"] == (high["request"] if "is_insert" in flags else [])
        assert high["answered"] == high["response"]
        assert high["complete"][0] == high["response"][-1] + 1, f"{mode}: complete"
        if "is_batch" not in flags:
            assert not high["answer__valid"], f"{mode} has no batch"


@cocotb.test(timeout_time=10, timeout_unit="ms")
@cocotb.parametrize(paces=CROSSED)
async def commands(dut, paces):
    """Of one operation and of more; errors of the manager are the list's business, but of FIND."""
    bench = Bench(dut, *paces)
    await bench.begin()
    for mode in MODES:
        for count, wrong in ((1, ()), (1, (0,)), (2, ()), (9, (8,)), (9, (3, 5)), (3, ())):
            await bench.command(mode, count, wrong)


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def begins_with_start(dut):
    """As when an INSERT is undone: requests and the count of answers in one clock."""
    bench = Bench(dut)
    await bench.begin()
    for mode in ("insert", "sample"):
        await bench.command(mode, 5, at_once=True)


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def keeps_pace(dut):
    """A request a clock, an answer a clock."""
    bench = Bench(dut)
    await bench.begin()
    for mode in MODES:
        await bench.command(mode, 30)
        for name in ("request", "response"):
            moved = bench.watch.high[name]
            assert moved == list(range(moved[0], moved[0] + 30)), mode

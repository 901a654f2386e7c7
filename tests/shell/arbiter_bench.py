"""Runs inside the simulator; started by test_arbiter.py."""

import itertools
import json
import os
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge, with_timeout
from shell.axi_rules import cut
from shell.request_cases import corners, pack
from streams import get_all, put_all, reset

from hw.shell.arbiter import Arbiter
from hw.shell.interconnect import InterconnectConfig

CASE = json.loads(os.environ["CASE"])
CONFIG = InterconnectConfig(**CASE["config"])
BYTES, BURST = CONFIG.data_width // 8, CONFIG.burst_beats
PORTS = range(CONFIG.ports)
DEPTHS = [CONFIG.port(port).depth for port in PORTS]
LAYOUT = Arbiter(CONFIG, DEPTHS).burst
READS = CASE["kind"] == "reads"


def bursts_of(port, requests):
    """The words of ``o`` for the requests of a port."""
    words = []
    for address, beats in requests:
        bursts = cut(address, beats, BYTES, BURST)
        for k, (here, more) in enumerate(bursts):
            last = k == len(bursts) - 1
            values = {"address": here, "beats": more + 1, "last": last, "port": port}
            words.append(LAYOUT.const(values).as_value().value)
    return words


def read(word):
    burst = LAYOUT.from_bits(word)
    return burst.port, burst.beats, burst.last


async def start(dut):
    for port in PORTS:
        getattr(dut, f"requests__{port}__valid").value = 0
    dut.credit.value = dut.token.value = dut.o__ready.value = 0
    cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
    await reset(dut)


def ask(dut, port, requests, rng=None, gap=0):
    name, rng = f"requests__{port}", rng or random.Random(0)
    return cocotb.start_soon(put_all(dut, name, pack(requests), rng, gap))


async def take(dut, count):
    words = await with_timeout(get_all(dut, "o", count, random.Random(0)), 20 * count + 500, "ns")
    return [word for (word,) in words]


async def check_none(dut, clocks=10):
    for _ in range(clocks):
        await ReadOnly()
        assert not int(dut.o__valid.value), f"{read(int(dut.o__payload.value))} may not go"
        await RisingEdge(dut.clk)


async def give(dut, line, port, count=1):
    """``count`` credits or tokens for a port, one a clock."""
    getattr(dut, line).value = 1 << port
    for _ in range(count):
        await RisingEdge(dut.clk)
    getattr(dut, line).value = 0


SUBSETS = [s for n in PORTS for s in itertools.combinations(PORTS, n + 1)]


@cocotb.test(skip=not READS, timeout_time=10, timeout_unit="ms")
@cocotb.parametrize(asking=[list(subset) for subset in SUBSETS])
async def turns(dut, asking):
    """A burst a clock from the first on, of each port that asks in its turn."""
    await start(dut)
    for port in asking:
        ask(dut, port, [(port * BYTES, 1)] * 12)
    dut.o__ready.value = 1
    got = []
    for clock in range(Arbiter.LATENCY + 12 * len(asking)):
        await ReadOnly()
        assert int(dut.o__valid.value) == (clock >= Arbiter.LATENCY), f"clock {clock}"
        if int(dut.o__valid.value):
            got.append(int(dut.o__payload.value))
        await RisingEdge(dut.clk)
    assert got == [bursts_of(port, [(port * BYTES, 1)])[0] for _ in range(12) for port in asking]
    await check_none(dut)


@cocotb.test(skip=not READS or len(PORTS) == 1, timeout_time=10, timeout_unit="ms")
@cocotb.parametrize(late=list(PORTS), after=[3, 4, 5])
async def newcomer(dut, late, after):
    """One that begins to ask has its turn before any other has two; nothing moves meanwhile."""
    await start(dut)
    others = [port for port in PORTS if port != late]
    for port in others:
        ask(dut, port, [(0, 1)] * 20)
    await take(dut, after)
    dut.o__ready.value = 0
    ask(dut, late, [(0, 1)] * 20)
    offers = set()
    for _ in range(10):
        await ReadOnly()
        offers.add(int(dut.o__payload.value) if int(dut.o__valid.value) else None)
        await RisingEdge(dut.clk)
    assert len(offers) == 1 and offers != {None}, "the offer changed while it waited"
    # The first was on offer before the newcomer came.
    owners = [read(word)[0] for word in await take(dut, 1 + len(PORTS))]
    assert sorted(owners[1:]) == list(PORTS), f"turns were {owners}"


@cocotb.test(skip=READS, timeout_time=10, timeout_unit="ms")
@cocotb.parametrize(port=list(PORTS))
async def credits_for_every_beat(dut, port):
    """A burst goes two clocks after the credit for its last beat, and none after it."""
    await start(dut)
    ask(dut, port, [(0, 2 * BURST)])
    await check_none(dut)
    for burst in bursts_of(port, [(0, 2 * BURST)]):
        await give(dut, "credit", port, BURST - 1)
        await check_none(dut)
        await give(dut, "credit", port)
        await check_none(dut, 1)
        assert await take(dut, 1) == [burst]
        await check_none(dut)


@cocotb.test(skip=READS, timeout_time=10, timeout_unit="ms")
@cocotb.parametrize(port=list(PORTS), beats=[1, BURST + 1])
async def token_for_every_request(dut, port, beats):
    """``tokens`` requests go, then all but the last burst of one more; another with each token."""
    await start(dut)
    requests = [(4 * k * BURST * BYTES, beats) for k in range(CONFIG.tokens + 3)]
    ask(dut, port, requests)
    words, each = bursts_of(port, requests), len(bursts_of(port, requests[:1]))
    await give(dut, "credit", port, len(requests) * beats)
    gone = 0
    for tokens in range(CONFIG.tokens, len(requests) + 1):
        count = min(each * tokens + each - 1, len(words))
        assert await take(dut, count - gone) == words[gone:count]
        await check_none(dut)
        await give(dut, "token", port)
        gone = count


@cocotb.test(timeout_time=10, timeout_unit="ms")
@cocotb.parametrize(gap=[0, 0.5], chance=[0.1, 0.9])
async def random_credits(dut, gap, chance):
    """All bursts of each port in order, none without its credits, while everything pauses."""
    rng = random.Random(CASE["seed"])
    await start(dut)
    rest = []
    for port in PORTS:
        requests = corners(BYTES, BURST)
        rng.shuffle(requests)
        ask(dut, port, requests, rng, gap)
        rest.append(bursts_of(port, requests))
    limits = {"credit": DEPTHS, "token": [CONFIG.tokens for _ in PORTS]}
    have = {"credit": [n * READS for n in DEPTHS], "token": list(limits["token"])}
    for _ in range(30_000):
        for line, limit in limits.items():
            more = [rng.random() < chance and have[line][p] < limit[p] for p in PORTS]
            have[line] = [n + got for n, got in zip(have[line], more, strict=True)]
            getattr(dut, line).value = sum(got << port for port, got in enumerate(more))
        dut.o__ready.value = int(rng.random() >= gap)
        await ReadOnly()
        if int(dut.o__valid.value) and int(dut.o__ready.value):
            port, beats, last = read(int(dut.o__payload.value))
            assert int(dut.o__payload.value) == rest[port].pop(0)
            have["credit"][port] -= beats
            have["token"][port] -= last and not READS
            assert have["credit"][port] >= 0 and have["token"][port] >= 0, f"port {port}"
        await RisingEdge(dut.clk)
        if not any(rest):
            break
    assert not any(rest), "bursts do not come"
    await check_none(dut)

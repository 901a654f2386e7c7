"""Runs inside the simulator; started by test_interconnect.py."""

import json
import os

import cocotb
from cocotb.triggers import ReadOnly, RisingEdge
from shell.interconnect_drive import Bench, contiguous
from shell.port_memory import Phases, ReadMemory, word_at
from shell.request_cases import addresses_of

from hw.shell.interconnect import InterconnectConfig, ReadInterconnect

CASE = json.loads(os.environ["CASE"])
CONFIG = InterconnectConfig(**CASE["config"])
PORTS, BURST = CONFIG.ports, CONFIG.burst_beats
DEPTHS = [CONFIG.port(port).depth for port in range(PORTS)]


class Reads(Bench):
    def __init__(self, dut, asked=None):
        super().__init__(dut, CONFIG, ("request",), ("data",), asked)

    async def begin(self, longest=0, seed=0, **options):
        """The memory, with the requests on their way."""
        await self.start()
        self.memory = ReadMemory(self.dut, self.beat_bytes, **options)
        for port, requests in enumerate(self.asked):
            self.put(port, "request", requests, longest, seed)
        return self.memory

    def expected(self, port):
        addresses = addresses_of(self.asked[port], self.beat_bytes)
        return [word_at(address, self.memory.width) for address in addresses]

    async def finish(self, ports, longest=0, seed=0):
        """``ports`` take their data: every beat that they asked for, in order."""
        tasks = [self.get(port, "data", len(self.expected(port)), longest, seed) for port in ports]
        for port, got in zip(ports, await self.results(tasks), strict=True):
            assert got == self.expected(port), f"data of port {port}"


@cocotb.test(skip="random" not in CASE["kinds"], timeout_time=10, timeout_unit="ms")
@cocotb.parametrize(pauses=CASE["pauses"])
async def matches_memory(dut, pauses):
    """Every beat to the port that asked for it, with pauses on all sides."""
    seed, (source, memory, sink) = CASE["seed"], pauses
    bench = Reads(dut)
    bench.asked = [bench.requests(port, 20, seed) for port in bench.ports]
    memory = await bench.begin(source, seed, latency=3, pauses=Phases(seed, memory))
    await bench.finish(bench.ports, sink, seed)
    bench.check_taken(memory)
    await bench.check_silent()
    bench.check_taken(memory)


@cocotb.test(skip="limits" not in CASE["kinds"], timeout_time=10, timeout_unit="ms")
@cocotb.parametrize(stalled=range(PORTS), beats=[1, BURST])
async def port_stalls(dut, stalled, beats):
    """One takes nothing: it is owed what its queue holds and no beat more; the others go on."""
    bench = Reads(dut)
    bench.asked = [bench.requests(port, 10, 1) for port in bench.ports]
    bench.asked[stalled] = bench.at(stalled, *[(k * BURST, beats) for k in range(100)])
    memory = await bench.begin(latency=3)
    await bench.finish([port for port in bench.ports if port != stalled])
    await bench.wait(200)
    owed = sum(n for _, n in bench.taken(memory, stalled))
    assert owed == DEPTHS[stalled] // beats * beats
    await bench.finish([stalled])
    bench.check_taken(memory)


@cocotb.test(skip="limits" not in CASE["kinds"], timeout_time=10, timeout_unit="ms")
async def bursts_under_way(dut):
    """A memory that does not answer is asked for ``bursts`` bursts, of all ports together."""
    bench = Reads(dut)
    bench.asked = [bench.at(port, *[(k, 1) for k in range(DEPTHS[port])]) for port in bench.ports]
    assert sum(DEPTHS) > CONFIG.bursts
    memory = await bench.begin()
    memory.answering = False
    await bench.wait(sum(DEPTHS) + 20)
    assert len(memory.taken) == CONFIG.bursts
    memory.answering = True
    await bench.finish(bench.ports)
    bench.check_taken(memory)


@cocotb.test(skip="pace" not in CASE["kinds"], timeout_time=10, timeout_unit="ms")
@cocotb.parametrize(beats=[[1], [BURST], [1, BURST + 1, 3, 2 * BURST, BURST - 1]])
async def keeps_pace(dut, beats):
    """A beat a clock of whichever ports, and a request a clock where they are of one beat."""
    bench = Reads(dut)
    requests = [(7 * k * BURST, beats[k % len(beats)]) for k in range(60)]
    bench.asked = [bench.at(port, *requests) for port in bench.ports]
    # Single beats that are under way take a place of ``bursts`` each.
    memory = await bench.begin(latency=min(min(DEPTHS) - BURST - 3, CONFIG.bursts - 1))
    await bench.finish(bench.ports)
    assert contiguous(memory.clocks["data"])
    assert contiguous(memory.clocks["request"]) or beats != [1]


@cocotb.test(skip="pace" not in CASE["kinds"], timeout_time=10, timeout_unit="ms")
async def memory_answers_at_once(dut):
    """In the next clock: a beat may wait for the note of whose it is, and is not lost."""
    bench = Reads(dut)
    bench.asked = [bench.requests(port, 10, 1) for port in bench.ports]
    await bench.begin(longest=9, latency=1, waits=True)
    await bench.finish(bench.ports)


@cocotb.test(skip="turns" not in CASE["kinds"], timeout_time=10, timeout_unit="ms")
@cocotb.parametrize(longest=[0, 3, 40])
async def turns_go_round(dut, longest):
    """Whenever memory pauses, and however long; no port lacks room before ``bursts`` are out."""
    assert (CONFIG.bursts + 1) * BURST <= min(DEPTHS)
    bench = Reads(dut)
    requests = [(k * BURST, 1 + k % BURST) for k in range(80)]
    bench.asked = [bench.at(port, *requests) for port in bench.ports]
    memory = await bench.begin(latency=2, pauses=Phases(1, longest))
    await bench.finish(bench.ports)
    bench.check_turns(memory)


@cocotb.test(skip="pace" not in CASE["kinds"], timeout_time=10, timeout_unit="ms")
@cocotb.parametrize(port=range(PORTS), beats=[1, 2, BURST, BURST + 1, 9 * BURST], near=[0, 1])
async def latency_as_estimated(dut, port, beats, near):
    """Of every beat of a request, for the slowest memory that ``depth`` covers and the fastest."""
    latency = 2 if near else DEPTHS[port] - BURST - 3
    bench = Reads(dut)
    bench.asked = [bench.at(p, *([(5, beats)] if p == port else [])) for p in bench.ports]
    await bench.begin(latency=latency)
    lines = [getattr(dut, f"ports__{port}__data__{part}") for part in ("valid", "ready")]
    lines[1].value = 1
    clocks, clock = [], 0
    while len(clocks) < beats:
        await ReadOnly()
        if int(lines[0].value):
            clocks.append(clock)
        await RisingEdge(dut.clk)
        clock += 1
        assert clock < 2 * beats + 200, "beats do not arrive"
    assert clocks == [
        ReadInterconnect.latency_of(CONFIG, k + 1, latency, port) for k in range(beats)
    ]

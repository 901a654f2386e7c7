"""Runs inside the simulator; started by test_interconnect.py."""

import json
import os
import random

import cocotb
from shell.interconnect_drive import Bench, contiguous
from shell.port_memory import Phases, WriteMemory
from shell.request_cases import addresses_of
from streams import transfers

from hw.shell.interconnect import InterconnectConfig, WriteInterconnect
from hw.stream.queue import Queue

CASE = json.loads(os.environ["CASE"])
CONFIG = InterconnectConfig(**CASE["config"])
PORTS, BURST = CONFIG.ports, CONFIG.burst_beats
DEPTHS = [CONFIG.port(port).depth for port in range(PORTS)]


class Writes(Bench):
    """``words``: for each port, of all its requests."""

    def __init__(self, dut, asked=None):
        super().__init__(dut, CONFIG, ("request", "data"), ("done",), asked)

    async def begin(self, longest=0, seed=0, without=(), ahead=0, **options):
        """The memory, with data on its way and requests ``ahead`` clocks later.

        without : ports that bring no data
        """
        await self.start()
        lag = Queue.latency_of(CONFIG.bursts)
        self.memory = WriteMemory(self.dut, self.beat_bytes, lag=lag, **options)
        rng = random.Random(f"{seed} words")
        self.words = [
            [rng.getrandbits(CONFIG.data_width) for _ in addresses_of(mine, self.beat_bytes)]
            for mine in self.asked
        ]
        for port in set(self.ports) - set(without):
            self.put(port, "data", self.words[port], longest, seed)
        await self.wait(ahead)
        for port, requests in enumerate(self.asked):
            self.put(port, "request", requests, longest, seed)
        return self.memory

    def tokens(self, port):
        """1 for each request of ``port`` of which a burst is bad, 0 for the others."""
        bad = self.memory.bad
        return [int(any(a in bad for a, _ in self.bursts([r]))) for r in self.asked[port]]

    async def finish(self, ports, longest=0, seed=0):
        """``ports`` take their tokens; what they wrote, in order, is what memory holds."""
        tasks = [self.get(p, "done", len(self.asked[p]), longest, seed) for p in ports]
        for port, got in zip(ports, await self.results(tasks), strict=True):
            assert got == self.tokens(port), f"tokens of port {port}"
            addresses = addresses_of(self.asked[port], self.beat_bytes)
            held = dict(zip(addresses, self.words[port], strict=True))
            assert held == {a: self.memory.written.get(a) for a in held}, f"data of port {port}"


@cocotb.test(skip="random" not in CASE["kinds"], timeout_time=10, timeout_unit="ms")
@cocotb.parametrize(pauses=CASE["pauses"])
async def matches_memory(dut, pauses):
    """Every beat where its port wrote it, errors to their requests, with pauses on all sides."""
    seed, (source, memory, sink) = CASE["seed"], pauses
    bench = Writes(dut)
    bench.asked = [bench.requests(port, 20, seed) for port in bench.ports]
    addresses = [a for mine in bench.asked for a, _ in bench.bursts(mine)]
    bad = random.Random(seed).sample(addresses, len(addresses) // 5)
    memory = await bench.begin(source, seed, latency=3, pauses=Phases(seed, memory), bad=bad)
    await bench.finish(bench.ports, sink, seed)
    await bench.check_silent()
    bench.check_taken(memory)


@cocotb.test(skip="limits" not in CASE["kinds"], timeout_time=10, timeout_unit="ms")
@cocotb.parametrize(stalled=range(PORTS), count=[1, 2, 3])
async def tokens_stall(dut, stalled, count):
    """One takes no tokens: the last burst of its next request waits; the others go on."""
    bench = Writes(dut)
    bench.asked = [bench.requests(port, 10, 1) for port in bench.ports]
    whole = [(k * count * BURST, count * BURST) for k in range(CONFIG.tokens + 2)]
    bench.asked[stalled] = bench.at(stalled, *whole)
    memory = await bench.begin(latency=3)
    await bench.finish([port for port in bench.ports if port != stalled])
    await bench.wait(10 * BURST * (CONFIG.tokens + 2))
    assert len(bench.taken(memory, stalled)) == count * CONFIG.tokens + count - 1
    await bench.finish([stalled])
    bench.check_taken(memory)


@cocotb.test(skip="limits" not in CASE["kinds"], timeout_time=10, timeout_unit="ms")
@cocotb.parametrize(slow=range(PORTS))
async def burst_stands_whole(dut, slow):
    """One lacks the last beat of each burst in turn: the burst waits for it; the others go on."""
    bench = Writes(dut)
    bench.asked = [bench.requests(port, 10, 1) for port in bench.ports]
    bench.asked[slow] = bench.at(slow, (3, 3 * BURST))
    memory = await bench.begin(without=[slow])
    words = iter(bench.words[slow])
    bursts = bench.bursts(bench.asked[slow])
    for number, (_, beats) in enumerate(bursts):
        await bench.put(slow, "data", [next(words) for _ in range(beats - 1)])
        if number == 0:
            await bench.finish([port for port in bench.ports if port != slow])
        await bench.wait(30)
        assert bench.taken(memory, slow) == bursts[:number]
        await bench.put(slow, "data", [next(words)])
        await bench.wait(30)
        assert bench.taken(memory, slow) == bursts[: number + 1]
    await bench.finish([slow])


@cocotb.test(skip="limits" not in CASE["kinds"], timeout_time=10, timeout_unit="ms")
async def data_before_requests(dut):
    """Each queue takes ``depth`` beats, no more; requests that come later find them there."""
    bench = Writes(dut, [[] for _ in range(PORTS)])
    await bench.begin()
    bench.asked = [bench.at(port, (0, DEPTHS[port] + 1)) for port in bench.ports]
    bench.words = [list(range(DEPTHS[port] + 1)) for port in bench.ports]
    names = [f"ports__{port}__data" for port in bench.ports]
    for port in bench.ports:
        bench.put(port, "data", bench.words[port])
    moved = [await transfers(dut, *names) for _ in range(max(DEPTHS) + 10)]
    assert [sum(column) for column in zip(*moved, strict=True)] == DEPTHS
    for port in bench.ports:
        bench.put(port, "request", bench.asked[port])
    await bench.finish(bench.ports)


@cocotb.test(skip="limits" not in CASE["kinds"], timeout_time=10, timeout_unit="ms")
async def bursts_under_way(dut):
    """A memory that does not answer is given ``bursts`` bursts, of all ports together."""
    count = CONFIG.tokens
    bench = Writes(dut)
    bench.asked = [bench.at(port, *[(k, 1) for k in range(count)]) for port in bench.ports]
    assert count * PORTS > CONFIG.bursts
    memory = await bench.begin()
    memory.answering = False
    await bench.wait(count * PORTS + 30)
    assert len(memory.taken) == len(memory.written) == CONFIG.bursts
    memory.answering = True
    await bench.finish(bench.ports)
    bench.check_taken(memory)


@cocotb.test(skip="limits" not in CASE["kinds"], timeout_time=10, timeout_unit="ms")
@cocotb.parametrize(port=range(PORTS), part=range(4))
async def errors_name_their_request(dut, port, part):
    """First, middle or last burst: the token of its request alone, however bursts interleave."""
    bench = Writes(dut)
    requests = [(4 * k * BURST, 4 * BURST) for k in range(4)]
    bench.asked = [bench.at(p, *requests) for p in bench.ports]
    bad = [address for address, _ in bench.at(port, *[((4 * k + part) * BURST, 1) for k in (0, 2)])]
    await bench.begin(latency=2, bad=bad)
    await bench.finish(bench.ports)
    assert [bench.tokens(p) for p in bench.ports] == [
        [1, 0, 1, 0] if p == port else [0] * 4 for p in bench.ports
    ]


@cocotb.test(skip="pace" not in CASE["kinds"], timeout_time=10, timeout_unit="ms")
@cocotb.parametrize(beats=[[1], [BURST], [1, BURST + 1, 3, 2 * BURST, BURST - 1]])
async def keeps_pace(dut, beats):
    """A beat a clock of whichever ports; requests and tokens too where they are of one beat."""
    bench = Writes(dut)
    requests = [(7 * k * BURST, beats[k % len(beats)]) for k in range(60)]
    bench.asked = [bench.at(port, *requests) for port in bench.ports]
    # A burst under way has a place of ``bursts`` until its answer. Data is there: full queues.
    latency = CONFIG.bursts - 1 - Queue.latency_of(CONFIG.bursts)
    memory = await bench.begin(ahead=max(DEPTHS) + 3, latency=latency)
    await bench.finish(bench.ports)
    for name in ("request", "data", "done") if beats == [1] else ("data",):
        assert contiguous(memory.clocks[name]), name


@cocotb.test(skip="turns" not in CASE["kinds"], timeout_time=10, timeout_unit="ms")
@cocotb.parametrize(longest=[3, 40])
async def turns_go_round(dut, longest):
    """Whenever memory pauses, and however long; data stands in the queues before its turn."""
    bench = Writes(dut)
    bench.asked = [bench.at(port, *[(k * BURST, 3) for k in range(80)]) for port in bench.ports]
    memory = await bench.begin(latency=2, pauses=Phases(1, longest))
    await bench.finish(bench.ports)
    bench.check_turns(memory)


@cocotb.test(skip="pace" not in CASE["kinds"], timeout_time=10, timeout_unit="ms")
@cocotb.parametrize(
    port=range(PORTS), beats=[1, 2, BURST - 1, BURST, BURST + 1, 9 * BURST], latency=[1, 7]
)
async def latency_as_estimated(dut, port, beats, latency):
    """From the taking of a request and its first beat to the transfer of its token."""
    bench = Writes(dut)
    bench.asked = [bench.at(p, *([(BURST, beats)] if p == port else [])) for p in bench.ports]
    memory = await bench.begin(latency=latency)
    done = f"ports__{port}__done"
    getattr(dut, f"{done}__ready").value = 1
    clock = 0
    while not (await transfers(dut, done))[0]:
        clock += 1
        assert clock < 2 * beats + 200, "the token does not come"
    assert clock == WriteInterconnect.latency_of(CONFIG, beats, latency)
    assert contiguous(memory.clocks["data"])

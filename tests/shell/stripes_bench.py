"""Runs inside the simulator; started by test_stripes.py."""

import json
import os
import random

import cocotb
from driving import Watch, clocks, start, within
from shell.axi_rules import cut
from shell.interconnect_drive import contiguous
from shell.port_memory import Phases, ReadMemory, WriteMemory, word_at
from shell.request_cases import addresses_of, corners, pack
from streams import get_all, put_all

from hw.shell import stripes

CASE = json.loads(os.environ["CASE"])
UNIT = getattr(stripes, CASE["unit"])
SIZES = CASE["sizes"]
WIDTH, STRIPES, BLOCK, PIECES = SIZES
BEAT, WRITES = WIDTH // 8, CASE["unit"] == "StripedWrite"
BASES = [(n + 1 << 40) + 3 * n * BLOCK * BEAT for n in range(STRIPES)]


def home(address):
    """Master of an address of the striped space, and where it lies there."""
    block, place = divmod(address, BLOCK * BEAT)
    master = block % STRIPES
    return master, BASES[master] + block // STRIPES * BLOCK * BEAT + place


def pieces(request):
    """``(master, address, beats)`` of each piece of a request."""
    if STRIPES == 1:
        return [(*home(request[0]), request[1])]
    return [(*home(address), more + 1) for address, more in cut(*request, BEAT, BLOCK)]


def requests(count):
    """Corners, and ``count`` more of random lengths."""
    rng = random.Random(1)
    found = [(address % (1 << 60), beats) for address, beats in corners(BEAT, BLOCK)]
    for _ in range(count):
        beats = rng.choice(
            [1, 1, 2, rng.randint(1, 3 * BLOCK), rng.randint(1, 3 * BLOCK * STRIPES)]
        )
        found.append((rng.randrange(1 << 16) * BEAT, beats))
    rng.shuffle(found)
    return found


class Bench:
    """``asked``: requests; what is written there are ``words``."""

    def __init__(self, dut, asked):
        self.dut, self.asked = dut, asked
        self.places = [home(address) for address in addresses_of(asked, BEAT)]
        self.pieces = [piece for request in asked for piece in pieces(request)]
        self.words = [random.Random(n).getrandbits(WIDTH) for n in range(len(self.places))]
        self.bad = set()

    async def begin(self, longest=(0, 0), latencies=(3,), bad=(), ahead=0):
        """Memories; requests and data on their way, data ``ahead`` clocks before them."""
        await start(self.dut, UNIT(*SIZES))
        self.bad, self.memories = set(bad), []
        for number, base in enumerate(BASES):
            getattr(self.dut, f"bases__{number}").value = base
            common = dict(
                latency=latencies[number % len(latencies)],
                pauses=Phases(number, longest[1]),
                waits=True,
                port=f"masters__{number}",
            )
            kind = WriteMemory if WRITES else ReadMemory
            extra = dict(bad=bad, lag=None) if WRITES else {}
            self.memories.append(kind(self.dut, BEAT, **common, **extra))
        self.watch = Watch(self.dut, streams=self.names("request", "data"))
        if WRITES:
            self.put("data", self.words, longest[0])
        await clocks(self.dut, ahead)
        self.put("request", pack(self.asked), longest[0])

    def names(self, *names):
        return [f"port__{name}" for name in names] + ["port__done"] * WRITES

    def put(self, name, words, longest):
        gaps = Phases(f"{name} source", longest)
        cocotb.start_soon(put_all(self.dut, f"port__{name}", words, gaps, 0.5))

    async def finish(self, longest=0):
        """What comes out is right, and nothing comes behind it; masters were asked in order."""
        name, want = "port__data", [word_at(at, WIDTH + 1) for _, at in self.places]
        if WRITES:
            name = "port__done"
            want = [int(any(at in self.bad for _, at, _ in pieces(r))) for r in self.asked]
        limit = 60 * len(self.places) + 2000
        got = get_all(self.dut, name, len(want), Phases("sink", longest), 0.5)
        got = [word for (word,) in await within(got, limit, "last word")]
        assert got == want
        await clocks(self.dut, 30)
        assert len(self.watch.high[name]) == len(want), "a word too many"
        for number, memory in enumerate(self.memories):
            assert memory.taken == [(a, n) for m, a, n in self.pieces if m == number]
        if WRITES:
            last = {place: word for place, word in zip(self.places, self.words, strict=True)}
            for (number, address), word in last.items():
                assert self.memories[number].written[address] == word, hex(address)


@cocotb.test(skip="random" not in CASE["kinds"], timeout_time=10, timeout_unit="ms")
@cocotb.parametrize(pauses=CASE["pauses"])
async def matches_memory(dut, pauses):
    """Every beat at its place, of masters that are fast and slow, with pauses on all sides."""
    source, memory, sink = pauses
    bench = Bench(dut, requests(10))
    rng = random.Random(1)
    bad = rng.sample([address for _, address, _ in bench.pieces], len(bench.pieces) // 6)
    await bench.begin((source, memory), (1, 40, 9), bad)
    await bench.finish(sink)


@cocotb.test(skip="limits" not in CASE["kinds"], timeout_time=10, timeout_unit="ms")
async def pieces_under_way(dut):
    """Masters that do not answer are asked for ``pieces`` pieces, all together."""
    bench = Bench(dut, [(0, (PIECES + 3) * BLOCK)])
    await bench.begin()
    for memory in bench.memories:
        memory.answering = False
    await clocks(dut, 2 * PIECES * BLOCK + 50)
    assert sum(len(memory.taken) for memory in bench.memories) == PIECES
    for memory in bench.memories:
        memory.answering = True
    await bench.finish()


@cocotb.test(skip="limits" not in CASE["kinds"] or not WRITES, timeout_time=9, timeout_unit="ms")
@cocotb.parametrize(part=range(4))
async def errors_name_their_request(dut, part):
    """Of the first, a middle or the last piece: in the token of its request alone."""
    bench = Bench(dut, [(4 * k * BLOCK * BEAT, 4 * BLOCK) for k in range(4)])
    bad = [home((4 * k + part) * BLOCK * BEAT)[1] for k in (0, 2)]
    await bench.begin(bad=bad)
    assert [int(any(at in bad for _, at, _ in pieces(r))) for r in bench.asked] == [1, 0, 1, 0]
    await bench.finish()


@cocotb.test(skip="pace" not in CASE["kinds"], timeout_time=10, timeout_unit="ms")
@cocotb.parametrize(beats=[[BLOCK], [BLOCK * STRIPES], [1, BLOCK + 1, 3, 2 * BLOCK, 20 * BLOCK]])
@cocotb.parametrize(latency=[64, 100] if WIDTH == 512 else [100])
async def keeps_pace(dut, beats, latency):
    """A beat a clock from the first to the last, with requests of every length in blocks."""
    asked, offset = [], 0
    for k in range(10):
        asked.append((offset * BEAT, beats[k % len(beats)]))
        offset += beats[k % len(beats)] if len(beats) == 1 else 100 * BLOCK
    bench = Bench(dut, asked)
    await bench.begin(latencies=(latency,))
    await bench.finish()
    moved = bench.watch.high["port__data"]
    assert contiguous(moved), moved
    assert len(moved) == sum(n for _, n in asked)


@cocotb.test(skip="pace" not in CASE["kinds"], timeout_time=10, timeout_unit="ms")
async def single_beats_keep_pace(dut):
    """A request a clock, of one beat each, while ``pieces`` cover the latency."""
    bench = Bench(dut, [(7 * k * BLOCK * BEAT, 1) for k in range(60)])
    await bench.begin(latencies=(PIECES - 6,), ahead=5)
    await bench.finish()
    for name, moved in bench.watch.high.items():
        assert contiguous(moved), name


@cocotb.test(skip="pace" not in CASE["kinds"], timeout_time=10, timeout_unit="ms")
@cocotb.parametrize(beats=[1, BLOCK, 3 * BLOCK + 1], latency=[1, 50])
async def latency_as_estimated(dut, beats, latency):
    bench = Bench(dut, [(0, beats)])
    await bench.begin(latencies=(latency,))
    await bench.finish()
    taken, last = bench.watch.high["port__request"], list(bench.watch.high.values())[-1]
    assert last[-1] - taken[0] == UNIT.latency_of(STRIPES, PIECES, beats, latency)

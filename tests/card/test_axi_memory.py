"""sim/card/memory.hpp by itself: many bursts in flight, timing, and every rule on AR and AW."""

import ctypes
import random
import subprocess
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from sim.card.verilated import _Buffer, _Settings
from sim.tools import require

BASE, SIZE, BEAT = 1 << 36, 1 << 16, 64
BYTES = (
    "awvalid awready awlen awsize awburst awid arvalid arready arlen arsize arburst arid "
    "wvalid wready wlast bvalid bready bresp rvalid rready rlast rresp"
).split()


class Signals(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_uint64) for name in ("awaddr", "araddr")),
        *((name, ctypes.c_uint8) for name in BYTES),
        *((name, ctypes.c_uint8 * size) for name, size in (("wstrb", 8), ("wdata", 64))),
        ("rdata", ctypes.c_uint8 * 64),
    ]


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    require("g++")
    built = tmp_path_factory.mktemp("shim") / "shim.so"
    source = Path(__file__).with_name("memory_shim.cpp")
    command = ["g++", "-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
    subprocess.run([*command, f"-I{files('sim.card')}", "-o", built, source], check=True)
    library = ctypes.CDLL(str(built))
    library.shim_open.restype = ctypes.c_void_p
    library.shim_signals.restype = ctypes.POINTER(Signals)
    library.shim_violation.restype = ctypes.c_char_p
    return library


class Bench:
    """The memory of one master over ``SIZE`` random bytes, clocked by hand."""

    def __init__(self, library, *, readable=1, writable=1, **settings):
        self.library = library
        self.bytes = np.random.default_rng(0).integers(0, 256, SIZE, dtype=np.uint8)
        values = dict(read_latency=20, write_latency=10, outstanding=64, bandwidth=65536) | settings
        buffer = _Buffer(BASE, SIZE, self.bytes.ctypes.data, readable, writable)
        opened = library.shim_open(ctypes.byref(_Settings(**values)), ctypes.byref(buffer))
        self.shim = ctypes.c_void_p(opened)
        self.s = library.shim_signals(self.shim).contents
        self.s.arsize = self.s.awsize = 6
        self.s.arburst = self.s.awburst = 1
        self.s.wstrb[:] = [255] * 8
        self.cycle = 0

    def clock(self):
        self.library.shim_clock(self.shim)
        self.cycle += 1

    @property
    def violation(self):
        return self.library.shim_violation(self.shim).decode()

    def read_all(self, bursts, gap=0.0, seed=0):
        """Issue ``(address, beats)`` as fast as AR allows; the beats' bytes and their cycles."""
        rng, s, data, seen = random.Random(seed), self.s, [], []
        waiting, want = list(bursts), sum(beats for _, beats in bursts)
        for _ in range(200_000):
            if len(data) == want:
                return data, seen
            if not s.arvalid and waiting and rng.random() >= gap:
                s.araddr, s.arlen, s.arvalid = waiting[0][0], waiting[0][1] - 1, 1
            s.rready = rng.random() >= gap
            if s.rvalid and s.rready:
                data.append((bytes(s.rdata), s.rlast))
                seen.append(self.cycle)
            taken = s.arvalid and s.arready
            self.clock()
            if taken:
                waiting.pop(0)
                s.arvalid = 0
                if not gap and waiting:
                    s.araddr, s.arlen, s.arvalid = waiting[0][0], waiting[0][1] - 1, 1
            assert not self.violation
        raise AssertionError(f"R stands still after {len(data)} of {want} beats")

    def write_all(self, bursts, data, gap=0.0, seed=0):
        """Write ``(address, beats)``; the cycles of the answers. The beats come from ``data``."""
        rng, s, answers, beat = random.Random(seed), self.s, [], 0
        waiting, words = list(bursts), [n for _, n in bursts]
        for _ in range(200_000):
            if len(answers) == len(bursts):
                return answers
            if not s.awvalid and waiting and rng.random() >= gap:
                s.awaddr, s.awlen, s.awvalid = waiting[0][0], waiting[0][1] - 1, 1
            s.wvalid = bool(words)
            if words:
                s.wdata[:] = data[0]
                s.wlast = beat + 1 == words[0]
            s.bready = rng.random() >= gap
            if s.bvalid and s.bready:
                answers.append((self.cycle, s.bresp))
            address, word = s.awvalid and s.awready, s.wvalid and s.wready
            self.clock()
            if address:
                waiting.pop(0)
                s.awvalid = 0
            if word:
                data = data[1:]
                beat += 1
                if beat == words[0]:
                    words.pop(0)
                    beat = 0
            assert not self.violation
        raise AssertionError(f"B stands still after {len(answers)} of {len(bursts)} bursts")


def beats_of(memory, bursts):
    return [
        (memory[a - BASE + k * BEAT :][:BEAT].tobytes(), int(k == n - 1))
        for a, n in bursts
        for k in range(n)
    ]


def random_bursts(count, seed):
    rng = random.Random(seed)
    bursts = []
    for _ in range(count):
        page, first = rng.randrange(SIZE // 4096), rng.randrange(64)
        bursts.append((BASE + 4096 * page + BEAT * first, rng.randint(1, 64 - first)))
    return bursts


def test_single_beat_reads_flow_one_a_clock(library):
    bench = Bench(library)
    bursts = [(BASE + BEAT * (37 * k % 1024), 1) for k in range(500)]
    data, seen = bench.read_all(bursts)
    assert data == beats_of(bench.bytes, bursts)
    # Taken in clock 0, shown read_latency clocks later, then one a clock.
    assert seen == list(range(20, 520))


def test_outstanding_bounds_the_reads_in_flight(library):
    bench = Bench(library, outstanding=5)
    seen = bench.read_all([(BASE, 1)] * 50)[1]
    assert 50 * 20 / 5 <= seen[-1] <= 50 * 22 / 5 + 20


def test_long_reads_have_no_gaps_and_bandwidth_makes_them(library):
    bursts = [(BASE + 4096 * k, 64) for k in range(16)]
    full = Bench(library).read_all(bursts)[1]
    assert full == list(range(20, 20 + 1024))
    half = Bench(library, bandwidth=32768).read_all(bursts)[1]
    assert half == list(range(20, 20 + 2048, 2))


@pytest.mark.parametrize("gap", [0.0, 0.5])
@pytest.mark.parametrize("stall", [0, 20000])
def test_random_reads(library, gap, stall):
    bench = Bench(library, stall=stall, seed=7)
    bursts = random_bursts(100, seed=1)
    assert bench.read_all(bursts, gap)[0] == beats_of(bench.bytes, bursts)


@pytest.mark.parametrize("gap", [0.0, 0.5])
@pytest.mark.parametrize("stall", [0, 20000])
def test_random_writes(library, gap, stall):
    bench = Bench(library, stall=stall, seed=7)
    bursts = random_bursts(100, seed=2)
    data = np.random.default_rng(3).integers(0, 256, (sum(n for _, n in bursts), BEAT), np.uint8)
    expected, rest = bench.bytes.copy(), data
    for address, beats in bursts:
        expected[address - BASE :][: beats * BEAT] = rest[:beats].reshape(-1)
        rest = rest[beats:]
    answers = bench.write_all(bursts, [bytes(word) for word in data], gap)
    assert (bench.bytes == expected).all()
    assert {response for _, response in answers} == {0}
    if not gap and not stall:
        # One clock for the first address, then a beat a clock; the answer to the last follows.
        assert answers[-1][0] == len(data) + 10


CASES = [
    ({}, dict(addr=BASE + 4096 - BEAT, len=1), "burst must not cross 4 KB"),
    ({}, dict(addr=BASE + SIZE), "access must stay inside one buffer"),
    ({}, dict(addr=BASE - BEAT), "access must stay inside one buffer"),
    ({}, dict(addr=BASE + 32), "address must be aligned"),
    ({}, dict(size=5), "beats must be as wide as the bus"),
    ({}, dict(burst=0), "bursts must be INCR"),
    ({}, dict(burst=2), "bursts must be INCR"),
    ({}, dict(id=1), "id must be 0"),
    (dict(readable=0, writable=0), {}, "buffer must not be "),
]


@pytest.mark.parametrize("x", ["ar", "aw"])
@pytest.mark.parametrize("buffer, fields, rule", CASES, ids=[str(case[1]) for case in CASES])
def test_address_rules(library, x, buffer, fields, rule):
    bench = Bench(library, **buffer)
    setattr(bench.s, f"{x}addr", BASE)
    for name, value in fields.items():
        setattr(bench.s, x + name, value)
    setattr(bench.s, x + "valid", 1)
    bench.clock()
    assert bench.violation.startswith(f"cycle 0: m_axi_test {x.upper()}: {rule}")


@pytest.mark.parametrize("first, second", [("aw", "ar"), ("ar", "aw")])
@pytest.mark.parametrize("distance, broken", [(0, True), (7, True), (8, False), (-1, False)])
def test_overlap_of_reads_and_writes_in_flight(library, first, second, distance, broken):
    bench = Bench(library)
    start = BASE + 1024
    setattr(bench.s, first + "addr", start)
    setattr(bench.s, first + "len", 7)
    setattr(bench.s, first + "valid", 1)
    bench.clock()
    setattr(bench.s, first + "valid", 0)
    setattr(bench.s, second + "addr", start + distance * BEAT)
    setattr(bench.s, second + "valid", 1)
    bench.clock()
    assert ("must wait for" in bench.violation) == broken


def test_write_data_rules(library):
    for fields, rule in (
        (dict(wlast=1), "last must be 0 on beat 1 of 2, not 1"),
        (dict(strobe=254), "strobes must be all ones"),
        (dict(gap=1), "valid must not pause inside a burst"),
        (dict(late=1), "last must be 1 on beat 2 of 2, not 0"),
    ):
        bench = Bench(library)
        bench.s.awaddr, bench.s.awlen, bench.s.awvalid = BASE, 1, 1
        bench.clock()
        bench.s.awvalid, bench.s.wvalid = 0, 1
        bench.s.wlast = fields.get("wlast", 0)
        bench.s.wstrb[7] = fields.get("strobe", 255)
        bench.clock()
        bench.s.wvalid = not fields.get("gap", 0)
        bench.clock()
        assert rule in bench.violation


@pytest.mark.parametrize("channel", ["ar", "aw", "w"])
def test_valid_stays_until_ready(library, channel):
    bench = Bench(library, stall=65535)
    bench.clock()
    assert not getattr(bench.s, f"{channel}ready")
    setattr(bench.s, f"{channel}valid", 1)
    bench.clock()
    assert not bench.violation
    setattr(bench.s, f"{channel}valid", 0)
    bench.clock()
    assert f"{channel.upper()}: valid fell before ready" in bench.violation

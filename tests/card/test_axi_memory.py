"""sim/card/memory.hpp by itself: many bursts in flight, timing, and every rule on AR and AW."""

import random

import numpy as np
import pytest
from card.memory_shim import BASE, BEAT, SIZE, Bench


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
    data, seen, _ = bench.read_all(bursts)
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


@pytest.mark.parametrize("share", [0.25, 0.6, 0.75, 0.9, 0.99])
def test_any_share_of_the_bandwidth_is_what_it_says(library, share):
    bursts = [(BASE + 4096 * k, 64) for k in range(16)]
    seen = Bench(library, bandwidth=round(share * 65536)).read_all(bursts)[1]
    assert 1023 / share - 2 <= seen[-1] - seen[0] <= 1023 / share + 2


@pytest.mark.parametrize("gap", [0.0, 0.5])
@pytest.mark.parametrize("stall", [0, 20000])
def test_random_reads(library, gap, stall):
    bench = Bench(library, stall=stall, seed=7)
    bursts = random_bursts(100, seed=1)
    data, _, answers = bench.read_all(bursts, gap)
    assert data == beats_of(bench.bytes, bursts)
    assert {*answers} == {0}


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
    assert bench.violation.startswith(f"clock 0: m_axi_test {x.upper()}: {rule}")


@pytest.mark.parametrize("first, second", [("aw", "ar"), ("ar", "aw")])
@pytest.mark.parametrize(
    "distance, beats, broken",
    [
        *((0, 1, True), (7, 1, True), (8, 1, False), (-1, 1, False)),
        # Bursts that begin before the first one: up to it, into it, and past its end.
        *((-2, 2, False), (-1, 2, True), (-1, 10, True), (-7, 7, False), (-7, 8, True)),
        *((0, 8, True), (7, 2, True), (8, 2, False)),
    ],
)
def test_overlap_of_reads_and_writes_in_flight(library, first, second, distance, beats, broken):
    """A second burst of ``beats``, ``distance`` beats after the start of a first one of 8."""
    bench = Bench(library)
    start = BASE + 1024
    setattr(bench.s, first + "addr", start)
    setattr(bench.s, first + "len", 7)
    setattr(bench.s, first + "valid", 1)
    bench.clock()
    setattr(bench.s, first + "valid", 0)
    setattr(bench.s, second + "addr", start + distance * BEAT)
    setattr(bench.s, second + "len", beats - 1)
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

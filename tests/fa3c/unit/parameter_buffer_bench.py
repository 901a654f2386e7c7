"""Runs inside the simulator; started by test_parameter_buffer.py.

A pass is ``(segments, total, offsets)``; ``offsets`` is None for a pass that is not resident.
"""

import json
import os
import random

import cocotb
from cocotb.triggers import RisingEdge
from driving import Watch, clocks, pulse, start, within
from paces import Gaps
from shell.interconnect_drive import contiguous
from shell.port_memory import Phases, ReadMemory, word_at
from streams import get_all, put_all

from hw.fa3c.config import Fa3cConfig
from hw.fa3c.unit.parameter_buffer import PASS, SEGMENT, ParameterBuffer

CASE = json.loads(os.environ["CASE"])
CONFIG = Fa3cConfig.from_dict(CASE["config"])
RING = CONFIG.parameter_rows
BYTES = 64


def segment(base, rows, counts=(1, 1), strides=(0, 0), turns=1):
    return {
        "base": base,
        "count_a": counts[0],
        "count_b": counts[1],
        "stride_a": strides[0],
        "stride_b": strides[1],
        "rows": rows,
        "turns": turns,
    }


def runs(segments):
    """First row and rows of each run."""
    for s in segments:
        for a in range(s["count_a"]):
            for b in range(s["count_b"]):
                for _ in range(s["turns"]):
                    yield s["base"] + a * s["stride_a"] + b * s["stride_b"], s["rows"]


def rows_of(segments):
    return [first + n for first, rows in runs(segments) for n in range(rows)]


def pieces(segments):
    """Requests ``(address, beats)``."""
    for first, rows in runs(segments):
        for n in range(0, rows, 16):
            yield (first + n) * BYTES, min(16, rows - n)


def packed(layout, value):
    return layout.const(value).as_value().value


class Bench:
    """``pauses``: paces of requests and of data, and the longest pause of memory."""

    def __init__(self, dut, passes, pauses=("steady", "steady", 0), latency=3):
        self.dut, self.passes, self.pauses, self.latency = dut, passes, pauses, latency

    async def begin(self):
        """The memory; segments on their way."""
        await start(self.dut, ParameterBuffer(CONFIG))
        source, _, longest = self.pauses
        self.memory = ReadMemory(
            self.dut, BYTES, latency=self.latency, pauses=Phases(1, longest), port="read"
        )
        self.watch = Watch(self.dut, streams=["request", "data"])
        segments = [packed(SEGMENT, s) for each, _, _ in self.passes for s in each]
        cocotb.start_soon(put_all(self.dut, "segments", segments, Gaps(source, 2), 0.5))

    def words(self):
        """What leaves, of all passes."""
        result = []
        for segments, total, offsets in self.passes:
            rows = rows_of(segments)
            assert len(rows) == total
            result += rows if offsets is None else [rows[offset] for offset in offsets]
        return [word_at(row * BYTES, 513) % (1 << 512) for row in result]

    async def control(self):
        """Pass after pass; each is done in the clock after its last request."""
        source, _, _ = self.pauses
        for number, (_, total, offsets) in enumerate(self.passes):
            one = packed(PASS, {"total": total, "resident": offsets is not None})
            await put_all(self.dut, "passes", [one], random)
            asked = range(total) if offsets is None else offsets
            await put_all(self.dut, "request", asked, Gaps(source, 10 + number), 0.5)
            await pulse(self.dut, "done")

    async def finish(self):
        _, sink, _ = self.pauses
        cocotb.start_soon(self.control())
        want = self.words()
        got = get_all(self.dut, "data", len(want), Gaps(sink, 3), 0.5)
        got = await within(got, 60 * len(want) + 3000, "last row")
        assert [word for (word,) in got] == want
        await clocks(self.dut, 40)
        assert len(self.watch.high["data"]) == len(want), "a row too many"
        asked = [piece for segments, _, _ in self.passes for piece in pieces(segments)]
        assert self.memory.taken == asked


def corner_passes(rng):
    """Whole rings, single rows, more than the ring, rows that nobody reads, nests of runs."""
    full = [segment(5 * RING, RING)]
    nest = [
        segment(7, 5, (2, 3), (1000, 100)),
        segment(1 << 31, 1),
        segment(90, 17, (1, 2), (0, 9)),
    ]
    again = [
        ([segment(8, 16, (3, 2), (16, 640), 4), segment(5, 17, (1, 2), (0, 99), 3)], 486, None),
        ([segment(8, 3, turns=16)], 48, None),
    ]
    return [
        *(again if CONFIG.layout == "alt1" else []),
        (full, RING, [0]),  # over before its other rows have come
        (full, RING, [RING - 1, 0, *rng.choices(range(RING), k=20)]),
        ([segment(3, 1)], 1, None),
        ([segment(4, 1)], 1, [0, 0, 0]),
        ([segment(16, RING - 1)], RING - 1, [RING - 3]),  # the last row is padding
        (full, RING, list(range(RING))),
        ([segment(0, 2 * RING + 3)], 2 * RING + 3, None),
        (nest, 65, None),
        (nest[:1], 30, [29, 0, *rng.choices(range(30), k=9)]),
        ([segment(8, 16, (3, 2), (16, 640))], 96, None),
    ]


@cocotb.test(timeout_time=5, timeout_unit="ms")
@cocotb.parametrize(pauses=CASE["pauses"])
async def matches_memory(dut, pauses):
    bench = Bench(dut, corner_passes(random.Random(1)), pauses)
    await bench.begin()
    await bench.finish()


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def asks_for_what_fits(dut):
    """Without a pass the ring is filled, and no further; a row that is read makes place for one."""
    bench = Bench(dut, [([segment(0, 3 * RING)], 3 * RING, None)])
    await bench.begin()
    await clocks(dut, 2 * RING)
    whole = RING // 16
    assert len(bench.memory.taken) == whole
    dut.data__ready.value = 1
    await put_all(dut, "passes", [packed(PASS, {"total": 3 * RING, "resident": 0})], random)
    for count, asked in ((15 - RING % 16, whole), (1, whole + 1), (15, whole + 1), (1, whole + 2)):
        await put_all(dut, "request", range(count), random)
        await clocks(dut, 20)
        assert len(bench.memory.taken) == asked, f"after {count} rows more"


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def waits_for_its_row(dut):
    """A request whose row has not come keeps all behind it waiting, and gets it at once then."""
    bench = Bench(dut, [([segment(0, 32)], 32, [20])], latency=2)
    await bench.begin()
    bench.memory.answering = False
    done = cocotb.start_soon(bench.finish())
    await clocks(dut, 60)
    assert bench.watch.high["request"] and not bench.watch.high["data"]
    bench.memory.answering = True
    await within(done, 200, "row")
    # Memory shows a row in one clock, the ring counts it in the next, which fetches it.
    assert bench.watch.high["data"] == [bench.memory.clocks["data"][20] + 2]


@cocotb.test(skip=RING < 140, timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(latency=[64, 100])
async def keeps_pace(dut, latency):
    """A row a clock in and out, though memory is ``latency`` clocks away."""
    passes = [([segment(0, 150)], 150, None), ([segment(500, 16, (5, 6), (16, 992))], 480, None)]
    bench = Bench(dut, passes, latency=latency)
    await bench.begin()
    await clocks(dut, latency + RING)
    await bench.finish()
    left = bench.watch.high["data"]
    for part in (left[:150], left[150:]):
        assert contiguous(part), part
    assert left == [clock + ParameterBuffer.LATENCY for clock in bench.watch.high["request"]]
    turn = bench.watch.high["request"][150] - bench.watch.high["request"][149]
    assert turn == 1 + ParameterBuffer.TURN
    assert contiguous(bench.memory.clocks["data"][: RING // 16 * 16])
    late = bench.memory.clocks["data"][2 * RING :]
    assert late[-1] - late[0] <= len(late) + 8, "memory is not read at a row a clock"


@cocotb.test(skip=RING < 140, timeout_time=1, timeout_unit="ms")
async def resident_pace(dut):
    """A row a clock in any order, once they are there."""
    offsets = random.Random(1).choices(range(RING), k=300)
    bench = Bench(dut, [([segment(0, RING)], RING, offsets)], latency=64)
    await bench.begin()
    await clocks(dut, 2 * RING)
    await bench.finish()
    assert contiguous(bench.watch.high["data"])


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def done_frees_all(dut):
    """The place of a resident pass, and not before it is done; then the next pass's rows come."""
    bench = Bench(dut, [([segment(0, RING)], RING, [0]), ([segment(900, 16)], 16, None)])
    await bench.begin()
    await put_all(dut, "passes", [packed(PASS, {"total": RING, "resident": 1})], random)
    dut.data__ready.value = 1
    await put_all(dut, "request", range(RING), random)
    await clocks(dut, 30)
    assert bench.memory.taken == list(pieces([segment(0, RING)]))
    await pulse(dut, "done")
    await clocks(dut, 5)
    assert bench.memory.taken[-1] == (900 * BYTES, 16)
    await RisingEdge(dut.clk)

"""Runs inside the simulator; started by test_feature_buffer.py."""

import json
import os
import random

import cocotb
from cocotb.triggers import RisingEdge
from driving import Watch, clocks, start, within
from paces import Gaps
from shell.interconnect_drive import contiguous
from shell.port_memory import word_at
from streams import get_all, put_all

from hw.fa3c.config import Fa3cConfig
from hw.fa3c.rows import ROW_WIDTH
from hw.fa3c.unit.feature_buffer import FeatureBuffer, feature_write

CASE = json.loads(os.environ["CASE"])
CONFIG = Fa3cConfig.from_dict(CASE["config"])
ROWS = CONFIG.feature_rows
READS, WRITES = range(FeatureBuffer.READS), range(FeatureBuffer.WRITES)
WRITE = feature_write(CONFIG)
REQUESTS = [f"reads__{port}__request" for port in READS]
DATA = [f"reads__{port}__data" for port in READS]


def row_of(row, version):
    return word_at(version * ROWS + row, ROW_WIDTH)


def packed(row, version):
    return WRITE.const({"row": row, "data": row_of(row, version)}).as_value().value


class Bench:
    """What drivers do, all together; ``pace`` of both sides."""

    def __init__(self, dut, source="steady", sink="steady"):
        self.dut, self.source, self.sink, self.seed = dut, source, sink, 0

    def _gaps(self, pace):
        self.seed += 1
        return Gaps(pace, self.seed), 0.5

    def write(self, port, rows, version=0):
        words = [packed(row, version) for row in rows]
        return cocotb.start_soon(
            put_all(self.dut, f"writes__{port}", words, *self._gaps(self.source))
        )

    def read(self, port, rows, version=0, *, take=True):
        """A task that ends when all rows have come and are right."""
        cocotb.start_soon(put_all(self.dut, REQUESTS[port], rows, *self._gaps(self.source)))

        async def check():
            got = await get_all(self.dut, DATA[port], len(rows), *self._gaps(self.sink))
            assert [word for (word,) in got] == [row_of(r, version) for r in rows], f"port {port}"

        return cocotb.start_soon(check()) if take else None

    async def done(self, tasks, what):
        for task in tasks:
            await within(task, 60 * (ROWS + 100), what)


async def filled(dut, **paces):
    """A bench whose buffer holds version 0 of every row."""
    await start(dut, FeatureBuffer(CONFIG))
    bench = Bench(dut, **paces)
    await bench.done([bench.write(p, range(p, ROWS, 2)) for p in WRITES], "end of writes")
    return bench


@cocotb.test(timeout_time=5, timeout_unit="ms")
@cocotb.parametrize(paces=CASE["paces"])
async def matches_memory(dut, paces):
    """Rows of one half are read, in any order, while the other half is written anew."""
    rng = random.Random(1)
    bench = await filled(dut, source=paces[0], sink=paces[1])
    halves = [range(ROWS // 2), range(ROWS // 2, ROWS)]
    held = [0, 0]
    for version in (1, 2):
        old, new = version % 2, 1 - version % 2
        corners = [halves[old][0], halves[old][-1]]
        tasks = [bench.read(p, corners + rng.choices(halves[old], k=30), held[old]) for p in READS]
        tasks += [bench.write(p, halves[new][p::2], version) for p in WRITES]
        await bench.done(tasks, f"end of version {version}")
        held[new] = version
    await bench.done([bench.read(0, halves[0], held[0])], "first half")
    await bench.done([bench.read(3, halves[1], held[1])], "second half")


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def first_comes_first(dut):
    """A row a clock; a port has it only in clocks in which none before it wants it."""
    bench = await filled(dut)
    watch = Watch(dut, streams=[*REQUESTS, *DATA, "writes__0", "writes__1"])
    half = ROWS // 2
    tasks = [bench.read(port, [port] * 20) for port in READS]
    tasks += [bench.write(port, [half + port] * 20) for port in WRITES]
    await bench.done(tasks, "row")
    asked = [watch.high[name] for name in REQUESTS]
    assert contiguous(sum(asked, [])), asked
    for name, request in zip(DATA, asked, strict=True):
        assert watch.high[name] == [clock + FeatureBuffer.LATENCY for clock in request], name
    written = watch.high["writes__0"] + watch.high["writes__1"]
    assert contiguous(written) and len(written) == 40, written


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(stalled=list(READS))
async def port_stalls(dut, stalled):
    """One takes no rows: four are kept for it, and the others have their row a clock."""
    bench = await filled(dut)
    watch = Watch(dut, streams=REQUESTS)
    bench.read(stalled, [stalled] * 30, take=False)
    await clocks(dut, 20)
    assert len(watch.high[REQUESTS[stalled]]) == 4
    others = [port for port in READS if port != stalled]
    await bench.done([bench.read(port, [port] * 20) for port in others], "row")
    assert contiguous(sum((watch.high[REQUESTS[port]] for port in others), []))
    assert len(watch.high[REQUESTS[stalled]]) == 4


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(port=list(WRITES))
async def new_row_in_the_next_clock(dut, port):
    """A row is read in the clock after its write."""
    bench = await filled(dut)
    bench.write(port, [ROWS - 1], 5)
    await RisingEdge(dut.clk)
    await bench.done([bench.read(2, [ROWS - 1], 5)], "row")

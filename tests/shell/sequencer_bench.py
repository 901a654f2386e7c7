"""Runs inside the simulator: launches of any length and end, the bench being memory and core.

See test_sequencer.py.
"""

import json
import os
import random

import cocotb
from cocotb.triggers import ReadOnly, RisingEdge
from driving import Watch, clocks, pulse, start, until
from paces import CROSSED, Gaps
from shell.port_memory import ReadMemory, WriteMemory, word_at

from hw.shell.errors import ShellError
from hw.shell.program import OUTCOME
from hw.shell.sequencer import Sequencer
from hw.shell.status_block import STATUS

CASE = json.loads(os.environ["CASE"])
WIDTH, POINTERS = CASE["data_width"], CASE["pointers"]
STATUS_BYTES, HASH = CASE["status_bytes"], CASE["config_hash"]
BYTES, BEATS = WIDTH // 8, 512 // WIDTH
#: Of the program, whose commands from the 16th on lie behind a multiple of 4 GiB (survivor 33), and
#: of the status block.
PROGRAM, ADDRESS = (1 << 40) - 16 * 64, (1 << 50) + 64
ROOM = 64 + STATUS_BYTES
#: What the core's port must not see of the sequencer while a command runs.
SILENT = ("read__request__valid", "read__data__ready", "write__request__valid",
          "write__data__valid", "write__done__ready")  # fmt: skip


class Bench:
    """``outcomes``: position of a command -> error and detail; ``bad``: beats that failed."""

    def __init__(self, dut, source="steady", sink="steady"):
        self.dut, self.rng = dut, random.Random(1)
        self.gaps = Gaps(source, 1), Gaps(sink, 2), Gaps(source, 3)
        self.outcomes, self.bad, self.commands, self.block = {}, set(), [], 0

    async def begin(self):
        dut, (reads, writes, _) = self.dut, self.gaps
        unit = Sequencer(
            data_width=WIDTH, status_bytes=STATUS_BYTES, config_hash=HASH, pointers=POINTERS
        )
        await start(dut, unit)
        options = dict(latency=3, pauses=writes)
        self.writes = WriteMemory(dut, BYTES, port="write", lag=None, **options)
        options = dict(latency=3, pauses=reads)
        self.reads = ReadMemory(dut, BYTES, port="read", waits=True, holds=self.beat, **options)
        self.watch = Watch(dut, "start", "done", "running", streams=("command", "outcome"))
        cocotb.start_soon(self.core())
        cocotb.start_soon(self.silent())

    def beat(self, address, _):
        return word_at(address, WIDTH) | (address in self.bad) << WIDTH

    def command(self, k):
        """Of the program, as in memory."""
        first = PROGRAM + 64 * k
        return sum(word_at(first + j * BYTES, WIDTH) << WIDTH * j for j in range(BEATS))

    async def core(self):
        """Takes a command, answers it some clocks later; its status changes meanwhile."""
        dut, gaps = self.dut, self.gaps[2]
        while True:
            dut.command__ready.value = ready = int(gaps.random() >= 0.5)
            await ReadOnly()
            taken = ready and int(dut.command__valid.value)
            command = int(dut.command__payload.value)
            await RisingEdge(dut.clk)
            if taken:
                dut.command__ready.value = 0
                position = len(self.commands)
                self.commands.append(command)
                await self.answer(*self.outcomes.get(position, (0, self.rng.getrandbits(9))))

    async def answer(self, error, detail):
        dut, outcome = self.dut, OUTCOME.const(dict(error=error, detail=detail))
        for _ in range(self.rng.choice([1, 1, 2, 20])):
            dut.status.value = self.block = self.rng.getrandbits(8 * STATUS_BYTES)
            await RisingEdge(dut.clk)
        dut.outcome__payload.value, dut.outcome__valid.value = outcome.as_value().value, 1
        await until(dut, "outcome__ready", 10)
        dut.outcome__valid.value = 0

    async def silent(self):
        while True:
            await ReadOnly()
            if int(self.dut.running.value):
                for name in SILENT:
                    assert not int(getattr(self.dut, name).value), f"{name} while a command runs"
            await RisingEdge(self.dut.clk)

    async def launch(self, count, *, outcomes=(), bad=(), **arguments):
        """A launch to its end; ``bad``: pairs of a command and a beat of it that memory failed.

        Without ``arguments`` all of it is as it should be. Returns the header of the status.
        """
        dut, self.outcomes = self.dut, dict(outcomes)
        self.bad = {PROGRAM + 64 * k + beat * BYTES for k, beat in bad}
        usual = dict(program_bytes=64 * count, status_room=ROOM, status_address=ADDRESS)
        usual |= dict(misaligned=0, program=PROGRAM, command_count=count)
        for name, value in (usual | arguments).items():
            getattr(dut, name).value = value
        self.commands.clear(), self.reads.taken.clear()
        self.writes.taken.clear(), self.writes.written.clear()
        self.watch.forget()
        await pulse(dut, "start")
        await until(dut, "done", 400 + 200 * count)
        await clocks(dut, 5)
        assert len(self.watch.high["done"]) == 1, "done once"
        return self.header() if self.writes.taken else None

    def header(self):
        """The status block is where it should be, and whole; its head."""
        assert self.writes.taken == [(ADDRESS, ROOM // BYTES)]
        words = [self.writes.written.pop(ADDRESS + k) for k in range(0, ROOM, BYTES)]
        assert not self.writes.written
        block = sum(word << WIDTH * k for k, word in enumerate(words))
        assert block >> 512 == self.block, "the block of the design"
        header = STATUS.unpack((block % (1 << 512)).to_bytes(64, "little"))
        assert (header["magic"], header["config_hash"]) == (0x524C4641, HASH)
        assert block % (1 << 512) >> 8 * STATUS.used == 0 == header["reserved"]
        # From the clock behind start to the one in which the block is announced.
        begin, end = self.watch.high["start"][0], self.writes.clocks["request"][-1]
        assert header["cycles"] == end - begin - 1
        assert self.watch.high["done"] == [self.writes.clocks["done"][-1]]
        return header

    async def check(self, count, ends=None, error=0, detail=0, **launch):
        """A launch executes what comes before the command ``ends``, all if it is None."""
        header = await self.launch(count, **launch)
        expected = dict(executed=count if ends is None else ends, error=error, error_detail=detail)
        expected["error_command"] = ends or 0
        assert {name: header[name] for name in expected} == expected, (count, launch)
        # One that memory failed is not shown to the core; one that the core refuses is.
        shown = expected["executed"] + (ends is not None and error != ShellError.AXI)
        assert self.commands == [self.command(k) for k in range(shown)], (count, launch)
        needed = count if ends is None else ends + 1
        fetched = range(0, needed, 16)
        assert self.reads.taken == [
            (PROGRAM + 64 * k, min(16, count - k) * BEATS) for k in fetched
        ], (count, launch)


@cocotb.test(timeout_time=10, timeout_unit="ms")
@cocotb.parametrize(paces=CROSSED)
async def programs(dut, paces):
    """Every command once and in order, sixteen in a fetch; none but the status of none."""
    bench = Bench(dut, *paces)
    await bench.begin()
    for count in (0, 1, 2, 15, 16, 17, 33) if paces == CROSSED[0] else (0, 1, 17):
        await bench.check(count)
    await bench.check(0)


@cocotb.test(timeout_time=10, timeout_unit="ms")
@cocotb.parametrize(pace=["steady", "random"])
async def first_error_ends(dut, pace):
    """Those behind it are neither executed nor fetched; the next launch knows nothing of it."""
    bench = Bench(dut, pace, pace)
    await bench.begin()
    for count, ends in ((1, 0), (2, 0), (16, 15), (17, 15), (17, 16), (33, 5), (33, 20), (40, 39)):
        later = {k: (99, 1) for k in range(ends + 1, count)}
        error = 17, 0xFFFF_FFFF if ends % 2 else ends
        await bench.check(count, ends, *error, outcomes={ends: error} | later)
        await bench.check(3)


@cocotb.test(timeout_time=10, timeout_unit="ms")
@cocotb.parametrize(pace=["steady", "random"])
async def memory_fails_commands(dut, pace):
    """Any beat of one: those before it are executed, it is not, and no detail is left of others."""
    bench = Bench(dut, pace, pace)
    await bench.begin()
    for beat in range(BEATS):
        await bench.check(3, 1, ShellError.AXI, bad=[(1, beat)])
        await bench.check(2)
    for count, ends in ((1, 0), (17, 15), (17, 16), (33, 31), (33, 32)):
        bad = [(k, 0) for k in range(ends, count)]
        await bench.check(count, ends, ShellError.AXI, bad=bad)
    # The core's error of a command before it, in the same fetch.
    await bench.check(5, 2, 18, 7, outcomes={2: (18, 7)}, bad=[(3, BEATS - 1)])
    await bench.check(5, 2, ShellError.AXI, outcomes={2: (18, 7)}, bad=[(2, 0)])
    await bench.check(2)


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def refused_as_a_whole(dut):
    """A program that is not there, pointers: nothing is read or executed, the status says why."""
    bench = Bench(dut)
    await bench.begin()

    async def refused(error, detail, count, **arguments):
        header = await bench.launch(count, **arguments)
        got = header["executed"], header["error"], header["error_command"], header["error_detail"]
        assert got == (0, error, 0, detail), arguments
        assert not bench.commands and not bench.reads.taken

    await bench.check(3, program_bytes=64 * 3 + 63)
    await refused(ShellError.PROGRAM, 0, 3, program_bytes=64 * 3 - 1)
    await refused(ShellError.PROGRAM, 0, 1, program_bytes=0)
    # Bytes of so many are none in 32 bits.
    await refused(ShellError.PROGRAM, 0, 0, command_count=1 << 26, program_bytes=0)
    await refused(
        ShellError.PROGRAM, 0, 0, command_count=(1 << 32) - 1, program_bytes=(1 << 32) - 1
    )
    for bit, number in enumerate(POINTERS):
        await refused(ShellError.POINTER, number, 2, misaligned=1 << bit)
    # The first of several, and before the program.
    every = (1 << len(POINTERS)) - 1
    await refused(ShellError.POINTER, POINTERS[0], 2, misaligned=every, program_bytes=0)
    await refused(ShellError.POINTER, POINTERS[1], 0, misaligned=every - 1)
    await bench.check(2)


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def cannot_tell(dut):
    """A status buffer too small, or at no multiple of 64: done in the next clock, and no more."""
    bench = Bench(dut)
    await bench.begin()
    every = (1 << len(POINTERS)) - 1
    for arguments in (
        dict(status_room=ROOM - 1),
        dict(status_room=0),
        dict(status_address=ADDRESS + 1),
        dict(status_address=ADDRESS + 32),
        dict(status_room=0, misaligned=every, program_bytes=0),
    ):
        assert await bench.launch(3, **arguments) is None
        assert bench.watch.high["done"] == [bench.watch.high["start"][0] + 1]
        assert not bench.commands and not bench.reads.taken
        await bench.check(1)
    await bench.check(1, status_room=(1 << 32) - 1)


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def waits_for_the_status(dut):
    """Done when memory has answered, not before."""
    bench = Bench(dut)
    await bench.begin()
    bench.writes.answering = False
    launch = cocotb.start_soon(bench.check(1))
    await clocks(dut, 150)
    assert bench.writes.taken and not bench.watch.high["done"]
    bench.writes.answering = True
    await launch

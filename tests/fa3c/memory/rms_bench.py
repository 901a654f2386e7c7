"""Runs inside the simulator; started by test_rms.py."""

import json
import os
from pathlib import Path

import cocotb
from driving import Watch, clocks, start, within
from fa3c.memory.rms_program import BASES
from fa3c.memory.rms_top import INTERCONNECT, RmsTop
from shell.port_memory import Phases, ReadMemory, WriteMemory
from streams import get_all, put_all

from hw.fa3c.config import Fa3cConfig
from hw.fa3c.rows import ROW_BYTES
from hw.stream.queue import Queue

CASE = json.loads(os.environ["CASE"])
CONFIG = Fa3cConfig(**CASE["config"])
PROGRAM = json.loads(Path(CASE["program"]).read_text())
COMMANDS = [int(command, 16) for command in PROGRAM["commands"]]
LATENCY = CASE["latency"]


def rows(pairs):
    return {int(address): int(word, 16) for address, word in pairs}


class LateWrites(WriteMemory):
    """``held`` is what memory has acknowledged: the rows of a burst appear there with the answer to
    it."""

    def __init__(self, *arguments, held, **options):
        self.held, self.answered = held, 0
        super().__init__(*arguments, **options)

    def _sample(self):
        super()._sample()
        while self.answered < len(self.clocks["done"]):
            first, beats = self.taken[self.answered]
            for address in range(first, first + beats * ROW_BYTES, ROW_BYTES):
                self.held[address] = self.written[address]
            self.answered += 1


class EarlyReads(ReadMemory):
    """A burst gets the rows that ``held`` has in the clock of its request."""

    def __init__(self, *arguments, held, **options):
        self.held, self.caught = held, {}
        super().__init__(*arguments, holds=lambda address, _: self.caught[address], **options)

    def _request(self):
        taken = super()._request()
        if taken:
            first, beats = self.taken[-1]
            for address in range(first, first + beats * ROW_BYTES, ROW_BYTES):
                self.caught[address] = self.held[address]
        return taken


class Bench:
    """The module, its memories, and drivers for all its streams."""

    def __init__(self, dut, latency):
        self.dut, self.latency, self.held = dut, latency, rows(PROGRAM["start"])

    async def begin(self, pauses=(0, 0, 0), seed=0):
        """Of sources, memories and sinks."""
        dut, (source, memory, sink) = self.dut, pauses
        await start(dut, RmsTop(CONFIG))
        dut.theta.value, dut.squares.value = BASES["theta"], BASES["squares"]
        options = dict(latency=self.latency, held=self.held)
        self.reads = EarlyReads(
            dut, ROW_BYTES, pauses=Phases(f"{seed} reads", memory), port="reads", **options
        )
        self.writes = LateWrites(
            dut,
            ROW_BYTES,
            pauses=Phases(f"{seed} writes", memory),
            port="writes",
            lag=Queue.latency_of(INTERCONNECT.bursts),
            **options,
        )
        self.snapshots = WriteMemory(
            dut,
            ROW_BYTES,
            latency=self.latency,
            pauses=Phases(f"{seed} snapshots", memory),
            port="snapshot_write",
            lag=None,
        )
        self.watch = Watch(dut, "done", streams=("command",))
        lists = {f"gradients__{k}": words for k, words in enumerate(PROGRAM["gradients"])}
        self.sources = [
            cocotb.start_soon(put_all(dut, name, words, Phases(f"{seed} {name}", source), 0.5))
            for name, words in [
                ("command", COMMANDS),
                ("words", [int(word, 16) for word in PROGRAM["words"]]),
                *((name, [int(word, 16) for word in words]) for name, words in lists.items()),
            ]
        ]
        count = len(PROGRAM["reply"])
        phases = Phases(f"{seed} reply", sink)
        self.reply = cocotb.start_soon(get_all(dut, "reply", count, phases, 0.5))

    async def finish(self, limit):
        """All commands are done, each once; memory, snapshots and reply are the twin's."""
        for number in range(len(COMMANDS)):
            for _ in range(limit):
                if len(self.watch.high["done"]) > number:
                    break
                await clocks(self.dut, 1)
            else:
                raise AssertionError(f"command {number}, {PROGRAM['kinds'][number]}, is not done")
        await clocks(self.dut, 5)
        for source in self.sources:
            await within(source, 5, "end of what goes in")
        got = [word for (word,) in await within(self.reply, 5, "whole reply")]
        assert got == [int(word, 16) for word in PROGRAM["reply"]]
        same(self.held, rows(PROGRAM["end"]), "theta and squares")
        same(self.snapshots.written, rows(PROGRAM["snapshots"]), "snapshots")
        assert len(self.watch.high["done"]) == len(self.watch.high["command"]) == len(COMMANDS)


def same(got, expected, what):
    assert got.keys() == expected.keys(), f"{what}: other rows"
    for address, word in expected.items():
        assert got[address] == word, f"{what} at {address:#x}: {got[address]:#x}, not {word:#x}"


@cocotb.test(skip="random" not in CASE["kinds"], timeout_time=10, timeout_unit="ms")
@cocotb.parametrize(pauses=CASE["pauses"])
async def matches_twin(dut, pauses):
    """Every row of memory, whoever waits for whom, and memory as late as it may be."""
    bench = Bench(dut, 7)
    await bench.begin(pauses, seed=1)
    await bench.finish(20_000)


@cocotb.test(skip="pace" not in CASE["kinds"], timeout_time=10, timeout_unit="ms")
async def clocks_as_estimated(dut):
    """From the taking of each command to its ``done``."""
    bench = Bench(dut, LATENCY)
    await bench.begin()
    await bench.finish(20_000)
    taken, done = bench.watch.high["command"], bench.watch.high["done"]
    got = [end - begin for begin, end in zip(taken, done, strict=True)]
    assert got == CASE["cycles"], PROGRAM["kinds"]


@cocotb.test(skip="waits" not in CASE["kinds"], timeout_time=10, timeout_unit="ms")
async def reads_wait_for_answers(dut):
    """A memory that does not answer a write: the next command is not taken, and nothing read; theta
    and squares first, then snapshots."""
    bench = Bench(dut, 7)
    await bench.begin(CASE["pauses"][-1], seed=1)
    silent = {"writes": "UPDATE", "snapshots": "SYNC"}
    for name in silent:
        getattr(bench, name).answering = False
    for name, kind in silent.items():
        await clocks(dut, CASE["clocks"][name])
        memory = getattr(bench, name)
        assert memory.written and not memory.clocks["done"]
        number = len(bench.watch.high["done"])
        assert PROGRAM["kinds"][number][0] == kind
        assert len(bench.watch.high["command"]) == number + 1
        assert sum(beats for _, beats in bench.reads.taken) == CASE["read"][name]
        memory.answering = True
    await bench.finish(20_000)

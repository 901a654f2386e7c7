"""What jobs_bench.py drives: a ``JobReplayCore`` whose every job and command its twin does too.

Experiences and lists are in a Python memory, batches and items on the streams of the core.
"""

import json
import os
import random
from types import SimpleNamespace

import cocotb
import numpy as np
from driving import Watch, clocks, seen, start, within
from paces import Gaps
from programs import bits_of
from replay.kernels import kernel_config
from replay.programs import CLOCKS
from shell.port_memory import ReadMemory, WriteMemory, word_at
from streams import get_all, put_all

from hw.replay.commands import COMMANDS, Given, Opcode
from hw.replay.job_core import JobReplayCore
from hw.replay.job_dispatcher import JOB
from hw.replay.records import GRANULE_BYTES, HEADER, ITEM, REPLAY_STATUS, Error
from hw.shell.program import OUTCOME, PAGE_BYTES
from sim.card.memory import Memory
from sim.model.replay.kernel import ReplayCore

__all__ = ["CAPACITY", "CASE", "CONFIG", "COUNTS", "GRANULES", "NAN", "WHOLE", "Bench"]

CASE = json.loads(os.environ["CASE"])
CONFIG = kernel_config(CASE["data_width"], **CASE["config"])
WIDTH, BYTES = CASE["data_width"], CASE["data_width"] // 8
CAPACITY, GRANULES = CONFIG.replay.capacity, CASE["granules"]
OPERANDS, RESULTS, STORAGE = (1 << 40) + (3 << 12), (1 << 41) + (5 << 12), (1 << 50) + (7 << 12)
WHOLE = 1 << 48
NAN = 0x7FC0_0000
#: One, about a beat of items, about two, as many as there are.
COUNTS = sorted({1, BYTES // 8 - 1, BYTES // 8 + 1, 2 * BYTES // 8, CAPACITY - 1} - {0})
HOST = [f"host_{port}__{stream}__valid" for port, stream in
        (("read", "request"), ("write", "request"), ("write", "data"))]  # fmt: skip


class Bench:
    """``dut`` between memories; what it gives or takes pauses at these paces."""

    def __init__(self, dut, source="steady", sink="steady"):
        self.dut, self.rng, self.source, self.sink = dut, random.Random(1), source, sink
        self.numbers, self.bad = np.random.default_rng(1), set()
        self.buffers = {
            name: SimpleNamespace(address=address, data=np.zeros(size, np.uint8))
            for name, address, size in (
                ("operands", OPERANDS, 4 * PAGE_BYTES),
                ("results", RESULTS, 4 * PAGE_BYTES),
                ("storage", STORAGE, 4 * PAGE_BYTES),
            )
        }
        self.twin, self.memory = ReplayCore(CONFIG), Memory([*self.buffers.values()])
        self.arguments = {name: buffer.address for name, buffer in self.buffers.items()}
        self.arguments |= dict(operands_bytes=1 << 14, results_bytes=1 << 14, storage_pages=4)
        self.twin.arguments, self.twin.memory = self.arguments, self.memory
        self.clock = 0

    async def begin(self, fill=True):
        dut = self.dut
        await start(dut, JobReplayCore(CONFIG))
        for name, value in self.arguments.items():
            getattr(dut, name).value = value
        options = dict(pauses=Gaps(self.sink, 3), latency=3)
        self.host = ReadMemory(
            dut, BYTES, port="host_read", waits=True, holds=self.operand, **options
        )
        self.results = WriteMemory(dut, BYTES, port="host_write", lag=None, waits=True, **options)
        self.stored = WriteMemory(dut, BYTES, port="storage_write", lag=None, waits=True, **options)
        self.storage = ReadMemory(
            dut, BYTES, port="storage_read", waits=True, holds=self.experience, **options
        )
        self.watch = Watch(dut, *HOST, "batch__valid", "items__ready")
        await self.command(Opcode.SETUP, capacity=CAPACITY, granules=GRANULES, priority=9)
        if fill:
            await self.command(Opcode.SEED, state=[self.rng.getrandbits(64) for _ in range(4)])
            await self.insert(CAPACITY - 2)

    def operand(self, address, _):
        data = self.buffers["operands"].data[address - OPERANDS :][:BYTES]
        return int.from_bytes(data.tobytes(), "little") | (address in self.bad) << WIDTH

    def experience(self, address, _):
        known = self.stored.written.get(address)
        return (word_at(address, WIDTH) if known is None else known) | (
            address in self.bad
        ) << WIDTH

    def gaps(self, pace, name):
        self.clock += 1
        return Gaps(pace, f"{name} {self.clock}")

    def outcome(self, name):
        get = get_all(self.dut, name, 1, self.gaps(self.sink, name), 0.5)
        return cocotb.start_soon(within(get, 20_000, name))

    async def ended(self, outcome, expected, what):
        ((word,),) = await outcome
        for name in ("job_outcome", "outcome"):
            getattr(self.dut, f"{name}__ready").value = 0
        got = OUTCOME.from_bits(word)
        assert (got.error, got.detail if expected[1] is not None else None) == expected, what
        await clocks(self.dut, 1)
        if expected[0] != Error.AXI:
            self.check_status(what)

    def check_status(self, what):
        block = int(self.dut.status.value).to_bytes(REPLAY_STATUS.size, "little")
        got, expected = (np.frombuffer(b, REPLAY_STATUS.dtype)[0] for b in
                         (block, bytes(self.twin.status())))  # fmt: skip
        for name in REPLAY_STATUS.dtype.names:
            assert name in CLOCKS or (got[name] == expected[name]).all(), f"{what}: {name}"

    async def command(self, opcode, **fields):
        raw = bits_of(COMMANDS, opcode, **fields)
        expected = self.twin.execute(raw.to_bytes(64, "little"), self.arguments, self.memory)
        outcome = self.outcome("outcome")
        put = put_all(self.dut, "command", [raw], self.gaps(self.source, "command"), 0.5)
        await within(put, 100, f"ready for {opcode.name}")
        await self.ended(outcome, tuple(map(int, expected)), opcode.name)

    async def job(self, opcode, expected, batch=None, items=(), reads=(), **fields):
        """``expected``: error and detail, which is not looked at if it is None. ``batch``: beats
        that leave, or None. ``items``: beats that come. ``reads``: places and bytes in operands."""
        reads = [(OPERANDS + place, -(-size // BYTES)) for place, size in reads]
        dut, what = self.dut, f"{opcode.name} {fields}"
        self.watch.forget()
        self.host.taken.clear()
        fields = {"opcode": opcode.value, "count": 1, **fields}
        raw = sum(int(value) << JOB[name].offset for name, value in fields.items())
        tasks = [put_all(dut, "job", [raw], self.gaps(self.source, "job"), 0.5)]
        if len(items):
            tasks.append(put_all(dut, "items", items, self.gaps(self.source, "items"), 0.5))
        beats = len(batch) if batch is not None else 0
        left = cocotb.start_soon(get_all(dut, "batch", beats, self.gaps(self.sink, "batch"), 0.5))
        outcome, tasks = self.outcome("job_outcome"), [cocotb.start_soon(task) for task in tasks]
        ((_,),) = await outcome
        # All has moved by the time the outcome has, and nothing more than that.
        assert left.done(), f"{what}: a beat of the batch is missing"
        if batch is not None:
            got = [beat for (beat,) in left.result()]
            assert got == batch, f"{what}: another batch"
        dut.batch__ready.value = 1
        assert self.host.taken == reads, f"{what}: other operands"
        assert all(task.done() for task in tasks), f"{what}: an item, or the job, was not taken"
        await self.ended(outcome, expected, what)
        await clocks(dut, 3)
        assert not await seen(dut, "batch__valid"), f"{what}: a beat more"
        dut.batch__ready.value = 0
        silent = HOST if opcode is not Opcode.INSERT else HOST[1:]
        silent = [
            *silent,
            *(["batch__valid"] * (not beats)),
            *(["items__ready"] * (not len(items))),
        ]
        for name in silent:
            assert not self.watch.high[name], f"{what}: {name}"

    async def draw(self, count, failed=False, **fields):
        """A SAMPLE; one that is refused has no batch."""
        fields = dict(count=count, stratum_width=WHOLE, beta=1 << 14) | fields
        size = -(-count * (HEADER.size + GRANULES * GRANULE_BYTES) // BYTES) * BYTES
        batch = np.zeros(size // 4, np.uint32)
        error, detail = self.twin.draw(batch, **fields)
        beats = [int.from_bytes(part.tobytes(), "little") for part in batch.reshape(-1, BYTES // 4)]
        if failed:  # what it holds is of no use; it comes all the same
            return await self.job(Opcode.SAMPLE, (Error.AXI, None), beats, **fields)
        await self.job(Opcode.SAMPLE, (error, detail), None if error else beats, **fields)

    async def update(self, pairs, **fields):
        items = np.zeros(-(-len(pairs) * 8 // BYTES) * BYTES // 8, ITEM.dtype)
        items["index"][: len(pairs)], items["value"][: len(pairs)] = zip(*pairs, strict=True)
        fields = dict(count=len(pairs), alpha=19661, epsilon=7) | fields
        expected = self.twin.update(items.view(np.uint32), **fields)
        words = items.view(np.uint8).reshape(-1, BYTES)
        beats = [int.from_bytes(word.tobytes(), "little") for word in words]
        await self.job(Opcode.UPDATE, tuple(map(int, expected)), items=beats, **fields)

    async def insert(self, count, values=(), given=Given.NOTHING, failed=None, **fields):
        """An INSERT with a list of ``values``; memory fails the operand at ``failed``."""
        operands = self.buffers["operands"].data
        operands[:] = self.numbers.integers(0, 256, len(operands))
        fields = (
            dict(
                count=count,
                source=64 * self.rng.randrange(32),
                transfer=count * GRANULES,
                given=given,
                priorities=(1 << 13) + 64 * self.rng.randrange(32),
                alpha=19661,
                epsilon=7,
            )
            | fields
        )
        if len(values):
            items = np.zeros(count, ITEM.dtype)
            items["value"] = values
            operands[fields["priorities"] :][: items.nbytes] = items.view(np.uint8)
        reads = [(fields["source"], count * GRANULES * GRANULE_BYTES)]
        if given and failed != "source":
            reads.append((fields["priorities"], count * ITEM.size))
        own = {name: value for name, value in fields.items() if name != "transfer"}
        if failed is not None:
            self.bad = {OPERANDS + fields[failed]}
            twin = self.twin
            twin.manager.fill(twin.position, count, CAPACITY, 0)
            await self.job(Opcode.INSERT, (Error.AXI, None), reads=reads, **fields)
            self.bad = set()
            return self.check_status(f"after {failed} failed")
        expected = self.twin.insert(**own | dict(given=given.value))
        await self.job(Opcode.INSERT, tuple(map(int, expected)), reads=reads, **fields)

    def check_memory(self):
        for address, beat in (*self.stored.written.items(), *self.results.written.items()):
            own = self.memory.view(address, BYTES)
            assert beat == int.from_bytes(own.tobytes(), "little"), f"memory at {address:#x}"

    def td(self, count):
        return self.numbers.standard_normal(count).astype(np.float32).view(np.uint32).tolist()

    def pairs(self, count):
        indexes = [self.rng.randrange(self.twin.fill) for _ in range(count)]
        return list(zip(indexes, self.td(count), strict=True))

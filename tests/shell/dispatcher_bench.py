"""Runs inside the simulator: commands of the small table, the bench being the design.

See test_dispatcher.py; memories are behind the host's ports, the others' answers are made here.
"""

import random

import cocotb
from driving import Watch, clocks, pulse, seen, start, until, within
from paces import CROSSED, Gaps
from shell.decoder_cases import SIZE, Cases
from shell.dispatcher_top import DispatcherTop
from shell.port_memory import ReadMemory, WriteMemory, word_at
from shell.small_table import CONFIG, STATE, TABLE, Small, buffers
from streams import get_all, put_all

from hw.shell.errors import ShellError
from hw.shell.program import OUTCOME

BYTES = 16  # of a beat of the host
START = len(TABLE.stages) + 2  # clocks from a command to its start
OPERANDS, RESULTS = (1 << 40) + (3 << 12), (1 << 50) + (5 << 12)
QUIET = dict(fill=0, level=0, locked=0)
ALL = dict(operands=SIZE, results=SIZE, heap=SIZE, scratch=SIZE)
MOVE = dict(count=9, width=10, listed=1, source=128, list=4096, destination=192)


class Bench:
    """``bad``: addresses of operands that memory fails, and of results."""

    def __init__(self, dut, source="steady", sink="steady"):
        self.dut, self.rng, self.source, self.sink = dut, random.Random(1), source, sink
        self.bad = set()
        self.cases = Cases(TABLE, CONFIG, STATE, buffers(BYTES))

    async def begin(self):
        await start(self.dut, DispatcherTop())
        self.dut.operands.value, self.dut.results.value = OPERANDS, RESULTS
        options = dict(pauses=Gaps(self.sink, 3), latency=4)
        self.reads = ReadMemory(
            self.dut, BYTES, port="host_read", waits=True, holds=self.word, **options
        )
        self.writes = WriteMemory(self.dut, BYTES, port="host_write", lag=None, **options)
        lines = ("start", "failed", "replied", "finish", "outcome__valid")
        self.watch = Watch(self.dut, *lines, streams=("command", "outcome", "words"))

    def word(self, address, _):
        return word_at(address, 128) | (address in self.bad) << 128

    def gaps(self, name):
        return Gaps(self.source, f"{name} {self.watch.clock}")

    async def run(self, opcode, fields=(), *, state=(), sizes=(), wrong=None, error=0, **faults):
        """One command from taking to outcome; returns the error and the detail of that.

        ``error``: the core's own; ``wrong``: the raw command, if it is none of the table.
        """
        dut, state, sizes = self.dut, QUIET | dict(state), ALL | dict(sizes)
        raw = self.cases.bits(TABLE[opcode], dict(fields)) if wrong is None else wrong
        command, c, refused, detail = self.cases.check(raw, state, sizes)
        dut.state.value = STATE.const(state).as_value().value
        for name, size in sizes.items():
            getattr(dut, self.cases.buffers[name][0].size_name).value = size
        self.reads.taken.clear(), self.writes.taken.clear(), self.writes.written.clear()
        self.watch.forget()
        await within(put_all(dut, "command", [raw], self.gaps("command"), 0.5), 100, "ready")
        if not refused:
            detail = self.rng.getrandbits(32)
            await until(dut, "start", 30)
            moved = {n: c.beats[n] if opcode in TABLE.movers(n) else 0 for n in c.beats}
            await self.design(raw, c, moved, error, detail, **faults)
        outcome = get_all(dut, "outcome", 1, self.gaps("outcome"), 0.5)
        ((word,),) = await within(outcome, 60, "outcome")
        dut.outcome__ready.value = 0
        self.check_clocks(bool(refused))
        outcome = OUTCOME.from_bits(word)
        expected = (refused, detail) if refused else (outcome.error, detail)
        assert (outcome.error, outcome.detail) == expected
        return outcome.error

    def check_clocks(self, refused):
        high = self.watch.high
        (taken,) = high["command"]
        #: Clocks of this command in which it had failed.
        self.failed = [clock for clock in high["failed"] if clock > taken]
        if refused:
            assert not high["start"] and not self.failed, "a refused command starts"
            assert high["outcome__valid"][0] == taken + START + 1
            assert not self.reads.taken and not self.writes.taken, "a refused command moves"
        else:
            assert high["start"] == [taken + START]
            assert high["outcome__valid"][0] == high["finish"][-1] + 1
        assert high["outcome"] == high["outcome__valid"][-1:]
        got = high["outcome__valid"]
        assert got == list(range(got[0], got[-1] + 1)), "an outcome stays"

    async def design(self, raw, c, moved, error, detail, fault=None, finish=None):
        """What the small table's design does: takes operands, the list, writes results."""
        dut = self.dut
        assert await seen(dut, "raw") == raw
        assert not await seen(dut, "replied")
        if count := moved.get("source", 0):
            await self.take(count, OPERANDS + c.source)
        else:
            await clocks(dut, self.rng.choice([0, 10]))
        if count := moved.get("list", 0):
            await pulse(dut, "fetch", 1)
            await self.take(count, OPERANDS + c.list)
        if count := moved.get("destination", 0):
            await self.write(count, RESULTS + c.destination)
        if fault:
            await fault()
        await clocks(dut, self.rng.choice([0, 3]))
        assert len(self.reads.taken) == sum(moved.get(n, 0) > 0 for n in ("source", "list"))
        assert len(self.writes.taken) == (moved.get("destination", 0) > 0)
        await self.finish(error, detail, finish)

    async def finish(self, error, detail, beside=None):
        """The end; ``beside``: an input that is 1 in the same clock."""
        dut = self.dut
        dut.error.value, dut.detail.value, dut.finish.value = error, detail, 1
        if beside:
            getattr(dut, beside).value = 1
        await pulse(dut, "finish")
        if beside:
            getattr(dut, beside).value = 0
        dut.error.value, dut.detail.value = self.rng.getrandbits(4), self.rng.getrandbits(32)

    async def take(self, count, address):
        """Beats of operands, as memory has them, and whether it failed them."""
        got = get_all(self.dut, "words", count, self.gaps("words"), 0.5)
        got = await within(got, 60 * count + 200, f"{count} words")
        self.dut.words__ready.value = 0
        assert self.reads.taken[-1] == (address, count)
        assert [w for (w,) in got] == [self.word(address + k * BYTES, 129) for k in range(count)]

    async def write(self, count, address):
        """Results, and memory's answer."""
        dut, words = self.dut, [self.rng.getrandbits(128) for _ in range(count)]
        put = put_all(dut, "reply_words", words, self.gaps("reply"), 0.5)
        put = cocotb.start_soon(put)
        await clocks(dut, self.rng.choice([0, 5]))
        await pulse(dut, "reply")
        await until(dut, "replied", 60 * count + 200)
        assert put.done() and self.writes.taken == [(address, count)]
        assert self.watch.high["replied"][0] == self.writes.clocks["done"][-1] + 1
        expected = {address + k * BYTES: word for k, word in enumerate(words)}
        assert self.writes.written == expected


def pins(dut, name, flag):
    """``valid`` of another memory's answer, which is ``flag`` an error, and anything else."""
    payload = getattr(dut, f"{name}__payload")
    width = len(payload)
    payload.value = flag << (width - 1)
    return f"{name}__valid"


@cocotb.test(timeout_time=10, timeout_unit="ms")
@cocotb.parametrize(paces=CROSSED)
async def commands(dut, paces):
    """Operands and results as a whole or not at all; refused commands between."""
    bench = Bench(dut, *paces)
    await bench.begin()
    for _ in range(2):
        assert await bench.run(Small.MOVE, MOVE) == 0
        assert await bench.run(Small.PING) == 0
        assert await bench.run(Small.MOVE, MOVE | dict(listed=0)) == 0
        # Nothing of the three; of operands nothing; of results nothing; a beat of each.
        assert await bench.run(Small.MOVE, MOVE | dict(count=0)) == 0
        assert await bench.run(Small.MOVE, MOVE | dict(count=1, width=0)) == 0
        assert await bench.run(Small.MOVE, MOVE | dict(count=1, width=1), error=17) == 17
        assert await bench.run(Small.MOVE, MOVE | dict(count=201)) == ShellError.FIELD
        assert await bench.run(Small.MOVE, MOVE, sizes=dict(results=191)) == ShellError.RESULTS
        assert await bench.run(Small.PING, wrong=0) == ShellError.OPCODE
        assert await bench.run(Small.LOCK, dict(count=4, source=64)) == 0
        assert await bench.run(Small.LOCK, dict(count=4), state=dict(locked=1)) == 28
        # What the core reaches by itself is never asked for here.
        reach = dict(count=3, span=100, pages=1, source=64, destination=64)
        assert await bench.run(Small.REACH, reach, error=99) == 99


#: Where memory's error comes from, and what it makes of a command that has or has no own error.
FAULTS = ["source", "list", "result", "heap_read__data", "scratch_read__data",
          "heap_write__done", "scratch_write__done"]  # fmt: skip


@cocotb.test(timeout_time=10, timeout_unit="ms")
@cocotb.parametrize(where=FAULTS, error=[0, 17])
async def memory_fails(dut, where, error):
    """AXI, whatever else the core found; the next command begins anew."""
    bench = Bench(dut, "random", "random")
    await bench.begin()
    dut.taking.value = 1
    places = dict(source=OPERANDS + 128, list=OPERANDS + 4096 + 2 * BYTES, result=RESULTS + 192)

    async def answer():
        await pulse(dut, pins(dut, where, 1))

    for fails in (True, False, True, True, False):
        if where == "result":
            bench.writes.bad = {places[where]} if fails else set()
        elif where in places:
            bench.bad = {places[where]} if fails else set()
        fault = answer if fails and where not in places else None
        got = await bench.run(Small.MOVE, MOVE, error=error, fault=fault)
        assert got == (ShellError.AXI if fails else error)
        assert bool(bench.failed) == fails
        if fails:
            end = bench.watch.high["outcome"][-1] + 1
            assert bench.failed == list(range(bench.failed[0], end)), "failed until the end"
        # One that is refused, or has no memory to do with, is not concerned.
        assert await bench.run(Small.PING, error=error) == error
        assert await bench.run(Small.MOVE, MOVE | dict(count=201)) == ShellError.FIELD


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def memory_fails_at_the_end(dut):
    """It counts in the clock of ``finish``; one that nobody takes, or a good one, does not."""
    bench = Bench(dut)
    await bench.begin()
    for name in FAULTS[3:]:
        for taking, flag in ((1, 1), (0, 1), (1, 0), (1, 1)):
            dut.taking.value = taking
            got = await bench.run(Small.LOCK, dict(count=1), finish=pins(dut, name, flag), error=5)
            assert got == (ShellError.AXI if taking and flag else 5), (name, taking, flag)
            (finish,) = bench.watch.high["finish"]
            assert bench.failed[:1] == ([finish + 1] if taking and flag else [])


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def failed_is_known_a_clock_later(dut):
    """Than the beat that failed, and in every clock behind it."""
    bench = Bench(dut)
    await bench.begin()
    for beat in range(4):
        bench.bad = {OPERANDS + beat * BYTES}
        words = len(bench.reads.clocks["data"])
        assert await bench.run(Small.LOCK, dict(count=1)) == ShellError.AXI
        assert bench.failed[0] == bench.reads.clocks["data"][words + beat] + 1


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def one_at_a_time(dut):
    """The next is offered all the while, and taken after the outcome of the one before."""
    bench = Bench(dut)
    await bench.begin()
    raws = [bench.cases.bits(TABLE[Small.PING], {}) for _ in range(3)]
    put = cocotb.start_soon(put_all(dut, "command", raws, random.Random(0)))
    for _ in raws:
        await until(dut, "start", 30)
        await clocks(dut, 20)
        await bench.finish(0, 0)
        await clocks(dut, 20)
        assert len(bench.watch.high["command"]) == len(bench.watch.high["outcome"]) + 1
        await pulse(dut, "outcome__ready")
    assert put.done()
    taken = bench.watch.high["command"][1:]
    assert taken == [clock + 1 for clock in bench.watch.high["outcome"][:2]]

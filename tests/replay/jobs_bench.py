"""Runs inside the simulator: a ``JobReplayCore`` does what its twin does; see test_jobs.py."""

import cocotb
from driving import Watch
from replay.job_driver import CAPACITY, CASE, CONFIG, COUNTS, GRANULES, NAN, WHOLE, Bench

from hw.replay.commands import Given, Opcode
from hw.replay.records import Error


@cocotb.test(timeout_time=100, timeout_unit="ms")
@cocotb.parametrize(paces=[tuple(pair) for pair in CASE["paces"]])
async def as_the_twin(dut, paces):
    """Draws, items and insertions of every size, in turn. Commands between them leave nothing that
    a job could take for its own: no priority, no batch of headers alone."""
    bench = Bench(dut, *paces)
    await bench.begin()
    sizes = COUNTS if set(paces) == {"steady"} else bench.rng.sample(COUNTS, 2)
    for count in sizes:
        await bench.command(Opcode.GET, count=count, destination=64)
        await bench.draw(min(count, bench.twin.fill), beta=bench.rng.choice([0, 0xFFFF]))
        await bench.update(bench.pairs(count))
        await bench.command(Opcode.INSERT, count=1, priority=3)
        await bench.insert(count)
        await bench.draw(count, stratum_width=WHOLE // count)
        await bench.command(Opcode.SAMPLE, count=count, stratum_width=WHOLE, destination=64)
        await bench.insert(count, bench.td(count), Given.TD_ERRORS)
        await bench.insert(count, range(count), Given.PRIORITIES)
    bench.check_memory()


@cocotb.test(timeout_time=100, timeout_unit="ms")
async def refused(dut):
    """By the limits and rules of the command, whoever gives the job; then nothing has moved."""
    bench = Bench(dut)
    await bench.begin(fill=False)
    count = Error.COUNT
    await bench.draw(1)  # of nothing
    await bench.command(Opcode.RESTORE, position=5, fill=5)
    await bench.draw(5)  # of priorities that are all 0
    await bench.insert(3)
    for bit in range(16, 32):
        await bench.draw(2, beta=1 << bit | 5)
    await bench.draw(9)
    await bench.draw(8)
    for opcode, error, fields in (
        (Opcode.SAMPLE, (count, 0), dict(count=0)),
        (Opcode.SAMPLE, (Error.FIELD, 16), dict(count=2, stratum_width=WHOLE + 1)),
        (Opcode.UPDATE, (count, 0), dict(count=0)),
        (Opcode.INSERT, (count, 0), dict(count=0)),
        (Opcode.INSERT, (count, 0), dict(count=CAPACITY + 1)),
        (Opcode.INSERT, (Error.FIELD, 24), dict(count=1, given=3)),
    ):
        await bench.job(opcode, error, **fields)
    # A launch with another storage than that of SETUP.
    for pages in (0, 4):
        dut.storage_pages.value = bench.arguments["storage_pages"] = pages
        await bench.draw(2)
        if not pages:
            await bench.job(Opcode.INSERT, (Error.BUFFER, 0), count=1, transfer=GRANULES)
    # A launch with nothing but storage: batch and items need no buffer.
    for name in ("operands_bytes", "results_bytes"):
        getattr(dut, name).value = bench.arguments[name] = 0
    await bench.draw(2)
    await bench.update(bench.pairs(2))
    bench.check_memory()


@cocotb.test(timeout_time=100, timeout_unit="ms")
async def items_that_are_bad(dut):
    """They are left out and reported, the first of them; the others count."""
    bench = Bench(dut, "random", "random")
    await bench.begin()
    fill, count = bench.twin.fill, min(9, CAPACITY)
    for wrong in ({2: (fill, 0)}, {0: (1, NAN), 5: (fill, 0)}, {count - 1: (1 << 31, NAN)}):
        await bench.update([wrong.get(k, pair) for k, pair in enumerate(bench.pairs(count))])
    limit = CONFIG.replay.priority_limit
    await bench.insert(3, [limit, limit + 1, 5], Given.PRIORITIES)
    await bench.insert(3, [NAN, 0, NAN], Given.TD_ERRORS)
    await bench.draw(count)


@cocotb.test(timeout_time=100, timeout_unit="ms")
async def memory_that_fails(dut):
    """AXI: a batch comes whole all the same; an insertion is as if it had not been."""
    bench = Bench(dut, "random", "random")
    await bench.begin()
    # Noise of one stored experience fails every draw of it.
    bench.bad = set(bench.stored.written)
    written = dict(bench.stored.written)
    await bench.draw(5, failed=True)
    bench.bad = set()
    assert bench.stored.written == written
    await bench.draw(5)
    await bench.insert(2, failed="source")
    await bench.insert(2, [3, 4], Given.PRIORITIES, failed="priorities")
    await bench.insert(2)
    await bench.draw(5)


@cocotb.test(timeout_time=100, timeout_unit="ms")
async def clocks_of_a_job(dut):
    """It starts a clock after it comes, a command three; its outcome follows its last beat by
    three clocks."""
    bench, read = Bench(dut), "storage_read__request__valid"
    await bench.begin()
    lines = ("job__valid", "job_outcome__valid", "command__valid", read)
    watch = Watch(dut, *lines, streams=("batch",))
    await bench.draw(5)
    high = watch.high
    asked = high[read][0] - high["job__valid"][0]
    assert high["job_outcome__valid"] == [high["batch"][-1] + 3] == [high["job__valid"][-1]]
    watch.forget()
    await bench.command(Opcode.SAMPLE, count=5, stratum_width=WHOLE, beta=1 << 14)
    assert watch.high[read][0] - watch.high["command__valid"][-1] == asked + 2

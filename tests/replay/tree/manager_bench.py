"""Runs inside the simulator; started by test_manager.py."""

import itertools
import json
import os
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge
from pauses import SOLID, SOLID_TOO, pauses
from replay.tree.operations import SEED, expected, random_operations, request_words, response

from hw.replay.config import ReplayConfig
from hw.replay.tree.manager import ReplayManager
from sim.model.replay.tree.manager import FIND, GET, SAMPLE, UNIFORM

CASE = json.loads(os.environ["CASE"])
CONFIG = ReplayConfig(**CASE["config"])


async def start(dut):
    """Clock, reset, wait for the sweep that clears the memories, load the generator."""
    dut.request__valid.value = dut.response__ready.value = dut.clear.value = 0
    dut.load.value = 0
    dut.stratum_width.value = UNIFORM
    cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
    dut.rst.value = 1
    for _ in range(2):
        await RisingEdge(dut.clk)
    dut.rst.value = 0
    await wait_idle(dut)
    dut.seed.value = sum(word << 64 * k for k, word in enumerate(SEED))
    dut.load.value = 1
    await RisingEdge(dut.clk)
    dut.load.value = 0
    await RisingEdge(dut.clk)
    await RisingEdge(dut.clk)


async def wait_idle(dut):
    limit = 3 * CONFIG.capacity + 1000
    await RisingEdge(dut.clk)
    for _ in range(limit // 100 + 1):
        await ReadOnly()
        if int(dut.idle.value):
            await RisingEdge(dut.clk)
            return
        for _ in range(100):
            await RisingEdge(dut.clk)
    raise TimeoutError(f"idle did not rise within {limit} clocks")


async def run(dut, operations, rng, source_gap=0.0, sink_gap=0.0):
    """Send and receive everything; return responses and clocks from first request to the last."""
    words = request_words(CONFIG, operations)
    answers, sent, clocks, idle, held = [], 0, 0, 0, None
    payload, valid, ready = dut.request__payload, dut.request__valid, dut.request__ready
    presented = False
    source_pause, sink_pause = pauses(source_gap, rng), pauses(sink_gap, rng)
    while len(answers) < len(words):
        if not presented and sent < len(words) and not next(source_pause):
            payload.value, valid.value, presented = words[sent], 1, True
        take = not next(sink_pause)
        dut.response__ready.value = int(take)
        await ReadOnly()
        moved = False
        accepted = presented and int(ready.value)
        if int(dut.response__valid.value):
            word = int(dut.response__payload.value)
            assert held in (None, word), "response changed while stalled"
            held = word
            if take:
                held, moved = None, True
                answers.append(response(CONFIG, word))
        else:
            assert held is None, "response vanished while stalled"
        await RisingEdge(dut.clk)
        clocks += sent > 0 or accepted
        if accepted:
            sent += 1
            presented = False
            valid.value = 0
        idle = 0 if moved or accepted else idle + 1
        assert idle < 1000, f"response stands still after {len(answers)} of {len(words)}"
    dut.response__ready.value = 0
    return answers, clocks


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def equals_the_twin(dut):
    rng = random.Random(1)
    gaps = [(0, 0), (0.5, 0), (0, 0.5), (0.3, 0.3), (SOLID_TOO, SOLID)]
    operations = random_operations(CONFIG, CASE["operations"], rng)
    step = UNIFORM // 37
    wanted, twin = expected(CONFIG, operations, step)
    await start(dut)
    dut.stratum_width.value = step
    got, part = [], len(operations) // 10 + 1
    # Most of it back to back, where forwarding works hardest.
    for begin, gap in zip(
        range(0, len(operations), part), itertools.cycle([gaps[0], *gaps]), strict=False
    ):
        answers, clocks = await run(dut, operations[begin : begin + part], rng, *gap)
        got += answers
        if gap == (0, 0):
            assert clocks == len(answers) + ReplayManager(CONFIG).latency
    for k, (answer, want) in enumerate(zip(got, wanted, strict=True)):
        assert answer == want, f"operation {k} {operations[k]}: {answer}, not {want}"
    await ReadOnly()
    assert int(dut.total.value) == twin.total
    assert int(dut.maximum.value) == twin.maximum
    assert int(dut.state.value) == sum(int(w) << 64 * k for k, w in enumerate(twin.state))
    await RisingEdge(dut.clk)

    # Clear: as after reset, but for the generator.
    dut.clear.value = 1
    await RisingEdge(dut.clk)
    dut.clear.value = 0
    await wait_idle(dut)
    some = [(GET, index, 0) for index in {o[1] for o in operations[-50:]}]
    answers, _ = await run(dut, [*some, (SAMPLE, 0, 0), (FIND, 0, 0)], rng)
    assert all(priority == 0 for _, priority, _ in answers)
    assert [error for _, _, error in answers[-2:]] == [1, 1]
    await ReadOnly()
    assert int(dut.total.value) == int(dut.maximum.value) == 0

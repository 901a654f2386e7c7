"""Runs inside the simulator; started by test_manager.py."""
import itertools
import json
import os
import random

import cocotb
import numpy as np
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge

from hw.replay.config import ReplayConfig
from hw.replay.manager import ReplayManager
from sim.model.replay.manager import FIND, GET, SAMPLE, SET, UNIFORM
from sim.model.replay.manager import ReplayManager as Twin

CASE = json.loads(os.environ["CASE"])
CONFIG = ReplayConfig(**CASE["config"])
SEED = [0x0123456789ABCDEF, 0xFEDCBA9876543210, 0xDEADBEEF01234567, 99]


def random_operations(count, rng):
    """``(operation, index, value)``: corners, repeats of one leaf, neighbours in one word."""
    limit, last = CONFIG.priority_limit, CONFIG.capacity - 1
    over = min((1 << CONFIG.index_width) - 1, last + 1)  # may be one past the end
    priorities, total, recent, operations = {}, 0, 0, []
    for _ in range(count):
        operation = rng.choices([GET, SET, SAMPLE, FIND], [2, 5, 3, 2])[0]
        index = rng.choice([recent, recent, rng.randint(0, last), recent ^ 1, 0, last,
                            (recent & -CONFIG.fanout) + rng.randrange(CONFIG.fanout),
                            (recent + CONFIG.fanout) % (last + 1)])
        index = over if rng.random() < 0.002 else min(index, last)
        value = 0
        if operation == SET:
            value = rng.choice([0, 1, limit, rng.randint(0, limit), rng.randint(0, limit),
                                rng.randint(0, min(99, limit))])
            if index <= last:
                recent = index
                total += value - priorities.get(index, 0)
                priorities[index] = value
        elif operation == FIND:
            value = rng.choice([0, max(0, total - 1), rng.randint(0, max(0, total - 1)), total])
        operations.append((operation, index, value))
    return operations


def expected(operations, step):
    """Responses ``(index, priority, error)`` of the twin."""
    twin = Twin(CONFIG)
    twin.seed(SEED)
    answers = []
    for operation, run in itertools.groupby(operations, key=lambda o: o[0]):
        _, indexes, values = map(list, zip(*run, strict=True))
        if operation == GET:
            found, errors = twin.get(indexes)
        elif operation == SET:
            errors = twin.set(indexes, values)
            found = np.array(values)
        elif operation == SAMPLE:
            indexes, found, errors = twin.sample(len(indexes), step=step, first=False)
        else:
            indexes, found, errors = twin.find(values)
        answers += [(0, 0, 1) if e else (int(i), int(p), 0)
                    for i, p, e in zip(indexes, found, errors, strict=True)]
    return answers, twin


async def start(dut):
    """Clock, reset, wait for the sweep that clears the memories, load the generator."""
    dut.request__valid.value = dut.response__ready.value = dut.clear.value = 0
    dut.load.value = 0
    dut.step.value = UNIFORM
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
    shape_index, shape_priority = CONFIG.index_width, CONFIG.priority_width
    words = [operation | index << 3 | value << 3 + shape_index
             for operation, index, value in operations]
    answers, sent, clocks, idle, held = [], 0, 0, 0, None
    payload, valid, ready = dut.request__payload, dut.request__valid, dut.request__ready
    presented = False
    while len(answers) < len(words):
        if not presented and sent < len(words) and (not source_gap or rng.random() >= source_gap):
            payload.value, valid.value, presented = words[sent], 1, True
        take = not sink_gap or rng.random() >= sink_gap
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
                answers.append((word & (1 << shape_index) - 1,
                                word >> shape_index & (1 << shape_priority) - 1,
                                word >> shape_index + shape_priority))
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


@cocotb.test()
async def equals_the_twin(dut):
    rng = random.Random(1)
    gaps = [(0, 0), (0.5, 0), (0, 0.5), (0.3, 0.3)]
    operations = random_operations(CASE["operations"], rng)
    step = UNIFORM // 37
    wanted, twin = expected(operations, step)
    await start(dut)
    dut.step.value = step
    got, part = [], len(operations) // 10 + 1
    # Most of it back to back, where forwarding works hardest.
    for begin, gap in zip(range(0, len(operations), part), itertools.cycle([gaps[0], *gaps]),
                          strict=False):
        answers, clocks = await run(dut, operations[begin:begin + part], rng, *gap)
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

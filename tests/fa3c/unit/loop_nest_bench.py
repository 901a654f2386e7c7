"""Runs inside the simulator; started by test_loop_nest.py."""

import json
import os
import random
from itertools import product

import cocotb
from cocotb.triggers import RisingEdge
from driving import seen, start, within
from streams import get_all

from hw.fa3c.unit.loop_nest import LoopNest, Loops

CASE = json.loads(os.environ["CASE"])
PASSES = [
    Loops(**{name: value for name, value in case.items() if name != "levels"})
    for case in CASE["loops"]
]
NEST = LoopNest(PASSES, CASE["names"], CASE["batch"])


def tap_rows(loops, row):
    """Every ``(error row, tap row)`` of an input row, by the definition."""
    kernel, stride, height = loops.taps
    pairs = [((row - ky) // stride, ky) for ky in range(kernel) if (row - ky) % stride == 0]
    return [(y, ky) for y, ky in pairs if 0 <= y < height]


def expected(loops, batch):
    """``(addresses, first, last, index)`` of each turn."""
    counts = [count or batch for count in loops.counts]
    for outer in product(*(range(count) for count in counts[:3])):
        if loops.taps:
            counts[3] = len(tap_rows(loops, outer[1]))
        for middle in product(*(range(count) for count in counts[3:-1])):
            turns = counts[-1]
            if outer[2] == counts[2] - 1:
                turns = loops.last or turns
                turns += loops.extra and outer[1] == counts[1] - 1
            for inner in range(turns):
                index = (*outer, *middle, inner)
                first = [i == 0 for i in index]
                last = [i == n - 1 for i, n in zip(index, [*counts[:-1], turns], strict=True)]
                yield (
                    [address(loops, place, index) for place in range(len(NEST.names))],
                    first,
                    last,
                    index,
                )


def address(loops, place, index):
    strides, base = loops.addresses[place]
    moves = [i * stride for i, stride in zip(index, strides, strict=True)]
    if loops.taps:
        _, stride, _ = loops.taps
        later, wrapped = loops.rows[place]
        y, ky = tap_rows(loops, index[1])[index[3]]
        moves[1], moves[3] = y * (wrapped + (stride - 1) * later), ky * later
    return base + sum(moves)


def packed(turn):
    addresses, first, last, index = turn
    return (
        dict(zip(NEST.names, addresses, strict=True))
        | {"first": sum(bit << n for n, bit in enumerate(first))}
        | {"last": sum(bit << n for n, bit in enumerate(last))}
        | {"index": {f"level_{n}": i for n, i in enumerate(index)}}
    )


@cocotb.test(timeout_time=50, timeout_unit="ms")
async def matches_loops(dut):
    """Each pass, of one sample and of the most, one after the other; a turn a clock."""
    await start(dut, NEST)
    for number, loops in enumerate(PASSES):
        for batch in sorted({1, CASE["batch"]}):
            turns = [packed(turn) for turn in expected(loops, batch)]
            words = [NEST.turn.const(turn).as_value().value for turn in turns]
            dut.number.value, dut.batch.value, dut.start.value = number, batch, 1
            await RisingEdge(dut.clk)
            dut.start.value = 0
            bound = (3 if CASE["gap"] else 1) * len(words) + 50
            task = cocotb.start_soon(
                get_all(dut, "o", len(words), random.Random(number), CASE["gap"])
            )
            got = [word for (word,) in await within(task, bound, f"turns of pass {number}")]
            for position, (one, other) in enumerate(zip(got, words, strict=True)):
                assert one == other, (
                    f"pass {number}, batch {batch}, turn {position}: "
                    f"{NEST.turn.from_bits(one)} is not {turns[position]}"
                )
            assert not await seen(dut, "busy"), f"pass {number} goes on"

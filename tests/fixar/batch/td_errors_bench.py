"""Runs inside the simulator; started by test_errors.py."""

import json
import os
import random
from pathlib import Path

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge
from driving import clocks, pulse, within
from streams import flagged, get_all, reset

CASE = json.loads(os.environ["CASE"])
BATCHES = json.loads(Path(CASE["batches"]).read_text())


def fields(value, *widths):
    """Numbers of these widths, the lowest first."""
    for width in widths:
        yield value & (1 << width) - 1
        value >>= width


class Memories:
    """The batch memory, a clock behind its address, and the Q values, four behind theirs."""

    def __init__(self, dut, core_width):
        self.dut, self.core_width, self.case = dut, core_width, None
        cocotb.start_soon(self._run())

    async def _run(self):
        dut, late = self.dut, [0] * 4
        while True:
            await ReadOnly()
            address, q_address = int(dut.address.value), int(dut.q_address.value)
            await RisingEdge(dut.clk)
            late = [*late[1:], q_address]
            if self.case:
                words = self.case["words"]
                dut.word.value = words[address] if address < len(words) else 0x7F800000
                core, place = late[0] & (1 << self.core_width) - 1, late[0] >> self.core_width
                for name in ("q", "q_next"):
                    table = self.case[name]
                    pair = table[core][place] if place < len(table[core]) else (0, 0)
                    getattr(dut, name).value = pair[0] | pair[1] << 32


async def watch(dut, case, seen):
    core_width = seen["core_width"]
    width, word_width = CASE["width"], len(dut.error) - 1 - core_width - 2 - 2 * CASE["width"]
    while True:
        await ReadOnly()
        if flagged(dut.error):
            text = str(dut.error.value).replace("x", "0").replace("X", "0")
            row = [*fields(int(text, 2) >> 1, core_width, word_width, 2, width, width)]
            seen["errors"].append(row if case["inputs"]["pair"] else [*row[:4], None])
        seen["saturations"] += int(dut.saturated.value)
        if not int(dut.done.value):
            seen["clocks"] += 1
        await RisingEdge(dut.clk)


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def batches_match(dut):
    cores = max(row[0] for case in BATCHES for row in case["errors"]) + 1
    core_width = (cores - 1).bit_length()
    for name in ("start", "word", "q", "q_next", "td__ready", *BATCHES[0]["inputs"]):
        getattr(dut, name).value = 0
    cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
    await reset(dut)
    memories = Memories(dut, core_width)
    for number, case in enumerate(BATCHES):
        for name, value in case["inputs"].items():
            getattr(dut, name).value = value
        memories.case = case
        items = cocotb.start_soon(
            get_all(dut, "td", len(case["td"]), random.Random(number), case["gap"])
        )
        await pulse(dut, "start")
        seen = dict(errors=[], saturations=0, clocks=1, core_width=core_width)
        watcher = cocotb.start_soon(watch(dut, case, seen))
        limit = 1000 + 60 * len(case["td"])
        got = await within(items, limit, f"all items of batch {number}")
        assert [word for (word,) in got] == case["td"], f"items of batch {number}"
        for _ in range(limit):
            await ReadOnly()
            if int(dut.done.value):
                break
            await RisingEdge(dut.clk)
        else:
            raise AssertionError(f"batch {number} is not done within {limit} clocks")
        assert seen["errors"] == case["errors"], f"errors of batch {number}"
        ended = seen["clocks"]
        await clocks(dut, CASE["fold"])
        await ReadOnly()
        for name, expected in case["final"].items():
            value = int(getattr(dut, name).value)
            assert value == expected, f"{name} of batch {number}: {value:#x}, not {expected:#x}"
        assert seen["saturations"] == case["saturations"], f"batch {number}"
        if not case["gap"]:
            assert ended == case["clocks"], f"{ended} clocks of {number}"
        await clocks(dut, 1)
        watcher.cancel()

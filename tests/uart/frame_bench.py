"""Runs inside the simulator; started by test_frame.py."""

import json
import os
import random
from pathlib import Path

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import with_timeout
from streams import get_all, put_all, reset

CASE = json.loads(os.environ["CASE"])
WORDS = json.loads(Path(CASE["words"]).read_text())


def known(item):
    """An item of the decoder: what does not count left out."""
    end, good = item >> 8 & 1, item >> 9
    return (end, good) if end else (end, item & 0xFF)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def words_match(dut):
    rng = random.Random(CASE["seed"])
    dut.i__valid.value = dut.o__ready.value = 0
    cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
    await reset(dut)
    cocotb.start_soon(put_all(dut, "i", WORDS["i"], rng, CASE["source_gap"]))
    count = len(WORDS["o"])
    got = await with_timeout(get_all(dut, "o", count, rng, CASE["sink_gap"]), 300 * count, "ns")
    got, expected = [word for (word,) in got], WORDS["o"]
    if CASE["decoder"]:
        got, expected = map(known, got), map(known, expected)
    assert list(got) == list(expected)

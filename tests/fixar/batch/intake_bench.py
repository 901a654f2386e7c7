"""Runs inside the simulator: batches one after the other, every write; see test_intake.py."""

import json
import os

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge
from streams import reset

CASE = json.loads(os.environ["CASE"])
WIDTH = 32 * CASE["words"]


async def memory(dut, rows):
    """A row one clock after its address; what nothing has written is ones."""
    while True:
        await ReadOnly()
        address = dut.address.value
        await RisingEdge(dut.clk)
        row = int(address) // CASE["words"] if address.is_resolvable else -1
        dut.beat.value = rows[row] if 0 <= row < len(rows) else (1 << WIDTH) - 1


async def run(dut, batch):
    """Writes of a batch, and the clock of ``done``."""
    writes, clock = [], 0
    limit = CASE["steps"][batch["acting"]] * batch["count"] + CASE["latency"]
    reader = cocotb.start_soon(memory(dut, batch["rows"]))
    for name in ("acting", "half", "shift", "cut"):
        getattr(dut, name).value = batch[name]
    dut.batch.value, dut.start.value = batch["count"], 1
    while True:
        await ReadOnly()
        for core in range(CASE["cores"]):
            bits = getattr(dut, f"write__{core}").value
            if str(bits)[-1] == "1":
                writes.append([core, int(bits)])
            else:
                assert str(bits)[-1] == "0", f"core {core}: {bits}"
        if clock and int(dut.done.value):
            break
        assert clock < limit, f"not done within {limit} clocks"
        await RisingEdge(dut.clk)
        dut.start.value, clock = 0, clock + 1
    reader.cancel()
    assert clock == limit, f"done after {clock} clocks, not {limit}"
    return writes


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def batches(dut):
    cocotb.start_soon(Clock(dut.clk, 10, "ns").start())
    for name in ("start", "batch", "acting", "half", "shift", "cut"):
        getattr(dut, name).value = 0
    await reset(dut)
    for number, batch in enumerate(CASE["batches"]):
        writes = await run(dut, batch)
        for k, (got, expected) in enumerate(zip(writes, batch["writes"], strict=False)):
            assert got == expected, f"batch {number}, write {k}: {got[1]:x}, not {expected[1]:x}"
        assert len(writes) == len(batch["writes"]), f"batch {number}"
        assert int(dut.saturations.value) == batch["saturations"], f"batch {number}"
        got = [dut.low.value.to_signed(), dut.high.value.to_signed()]
        assert got == [batch["low"], batch["high"]], f"batch {number}"
        await RisingEdge(dut.clk)

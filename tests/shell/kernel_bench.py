"""Runs inside the simulator; started by test_kernel.py: a whole kernel around its reset."""

import json
import os

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, ReadOnly

CASE = json.loads(os.environ["CASE"])
LATENCY = CASE["latency"]
#: A register that can be written and read, and what is written.
OFFSET, VALUE = CASE["offset"], 0x1234_5678


def pin(dut, name):
    return getattr(dut, f"s_axi_control_{name}")


async def begin(dut):
    cocotb.start_soon(Clock(dut.ap_clk, 10, "ns").start())
    for name, value in (("awaddr", OFFSET), ("wdata", VALUE), ("wstrb", 15), ("araddr", OFFSET)):
        pin(dut, name).value = value
    for name in ("awvalid", "wvalid", "arvalid"):
        pin(dut, name).value = 0
    for name in ("bready", "rready"):
        pin(dut, name).value = 1
    dut.ap_rst_n.value = 0


class Count:
    """Handshakes of every channel of the control slave."""

    def __init__(self, dut):
        self.dut, self.counts = dut, dict.fromkeys(("aw", "w", "b", "ar", "r"), 0)
        cocotb.start_soon(self._watch())

    async def _watch(self):
        while True:
            # What is driven changes with the falling edge, and then stays beyond the rising one.
            await FallingEdge(self.dut.ap_clk)
            await ReadOnly()
            for name in self.counts:
                both = (int(pin(self.dut, f"{name}{part}").value) for part in ("valid", "ready"))
                self.counts[name] += all(both)


@cocotb.test(timeout_time=10, timeout_unit="us")
async def offers_wait_for_the_inside(dut):
    """A write and a read on offer from the first clock are taken once, and not before
    ``LATENCY`` clocks after the reset has ended."""
    await begin(dut)
    for name in ("awvalid", "wvalid"):
        pin(dut, name).value = 1
    count = Count(dut)
    for _ in range(LATENCY + 3):
        await FallingEdge(dut.ap_clk)
        assert not any(int(pin(dut, f"{name}ready").value) for name in ("aw", "w", "ar"))
    dut.ap_rst_n.value = 1
    for _ in range(LATENCY - 1):
        await FallingEdge(dut.ap_clk)
        assert not any(int(pin(dut, f"{name}ready").value) for name in ("aw", "w", "ar"))
    await FallingEdge(dut.ap_clk)
    assert all(int(pin(dut, f"{name}ready").value) for name in ("aw", "w"))
    await FallingEdge(dut.ap_clk)
    pin(dut, "awvalid").value = pin(dut, "wvalid").value = 0
    for _ in range(10):
        await FallingEdge(dut.ap_clk)
    pin(dut, "arvalid").value = 1
    while not int(pin(dut, "arready").value):
        await FallingEdge(dut.ap_clk)
    await FallingEdge(dut.ap_clk)
    pin(dut, "arvalid").value = 0
    while not int(pin(dut, "rvalid").value):
        await FallingEdge(dut.ap_clk)
    assert int(pin(dut, "rdata").value) == VALUE
    await FallingEdge(dut.ap_clk)
    assert count.counts == dict.fromkeys(("aw", "w", "b", "ar", "r"), 1)


@cocotb.test(timeout_time=20, timeout_unit="us")
async def no_handshake_is_lost_in_a_reset(dut):
    """Reads are on offer all the time, also while a reset of one clock travels to the inside: each
    that is taken from two clocks after it on is answered."""
    await begin(dut)
    for _ in range(LATENCY + 2):
        await FallingEdge(dut.ap_clk)
    dut.ap_rst_n.value = 1
    count = Count(dut)
    for gap in range(12):
        pin(dut, "arvalid").value = 0
        for _ in range(8 + gap):
            await FallingEdge(dut.ap_clk)
        dut.ap_rst_n.value = 0
        await FallingEdge(dut.ap_clk)
        dut.ap_rst_n.value = 1
        for _ in range(LATENCY - 1):
            await FallingEdge(dut.ap_clk)
        # The reset is inside in this clock, and what is offered now must wait.
        before = dict(count.counts)
        pin(dut, "arvalid").value = 1
        for _ in range(20):
            await FallingEdge(dut.ap_clk)
        pin(dut, "arvalid").value = 0
        for _ in range(8):
            await FallingEdge(dut.ap_clk)
        taken, answered = (count.counts[name] - before[name] for name in ("ar", "r"))
        assert taken == answered > 3, (gap, taken, answered)

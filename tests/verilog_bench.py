"""Runs inside the simulator: parts that no input changes; see test_verilog.py."""

import cocotb
from cocotb.triggers import Timer


@cocotb.test(timeout_time=1, timeout_unit="us")
async def parts(dut):
    for i, choose in ((9, 0), (9, 1), (3, 1), (3, 0)):
        dut.i.value, dut.choose.value = i, choose
        await Timer(1, "ns")
        assert str(dut.o.value) == f"0000{i:04b}0101{i * choose:04b}"

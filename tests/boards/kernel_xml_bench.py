"""Runs inside the simulator; started by test_kernel_xml.py: the kernel as its kernel.xml says."""

import json
import os
import random
import xml.etree.ElementTree as ElementTree

import cocotb
import numpy as np
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge, with_timeout
from cocotbext.axi import AxiLiteBus, AxiLiteMaster, AxiResp
from shell.memories import memories

from hw.shell.control_map import CONTROL, CTRL, GIER, IP_IER
from hw.shell.status_block import MAGIC, STATUS

CASE = json.loads(os.environ["CASE"])
KERNEL = ElementTree.fromstring(CASE["xml"]).find("kernel")
PORTS = {port.get("name"): port for port in KERNEL.iter("port")}
ARGUMENTS = list(KERNEL.iter("arg"))


def number(element, name):
    return int(element.get(name), 0)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def ports_are_those_of_the_kernel(dut):
    """Names, widths and the range of the registers; no AXI interface besides."""
    pins = {name for name in dir(dut) if "_axi_" in name}
    interfaces = {name.rsplit("_", 1)[0] for name in pins if name.endswith("_awaddr")}
    assert interfaces == set(PORTS)
    for name, port in PORTS.items():
        assert len(getattr(dut, f"{name}_wdata")) == number(port, "dataWidth")
        addresses = 1 << len(getattr(dut, f"{name}_awaddr"))
        span = addresses if port.get("mode") == "slave" else addresses - 1
        assert span == number(port, "range")


class Host:
    """The slave's master, with bounded waits, and a memory behind every master of the kernel."""

    def __init__(self, dut):
        self.dut = dut
        cocotb.start_soon(Clock(dut.ap_clk, 10, "ns").start())
        reset = dict(reset=dut.ap_rst_n, reset_active_level=False)
        (slave,) = (name for name, port in PORTS.items() if port.get("mode") == "slave")
        self.bus = AxiLiteMaster(AxiLiteBus.from_prefix(dut, slave), dut.ap_clk, **reset)
        masters = [name for name in PORTS if name != slave]
        self.memories, _ = memories(dut, masters, gap=0.5, seed=3)

    async def reset(self):
        self.dut.ap_rst_n.value = 0
        for _ in range(4):
            await RisingEdge(self.dut.ap_clk)
        self.dut.ap_rst_n.value = 1

    async def write(self, offset, value, size=4):
        data = value.to_bytes(size, "little")
        answer = await with_timeout(self.bus.write(offset, data), 5, "us")
        assert answer.resp == AxiResp.OKAY

    async def read(self, offset, size=4):
        answer = await with_timeout(self.bus.read(offset, size), 5, "us")
        assert answer.resp == AxiResp.OKAY
        return int.from_bytes(answer.data, "little")


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def an_empty_launch_writes_its_status(dut):
    """Where the argument ``status`` says, through its port; every channel pauses at random."""
    host = Host(dut)
    await host.reset()
    address, status = {}, None
    for argument in ARGUMENTS:
        pointer = argument.get("addressQualifier") == "1"
        name = argument.get("name")
        # Scalars but the count of commands are sizes: of status alone it matters.
        size = 0 if name == "command_count" else 4096
        value = ((0x21 + len(address) << 56) + 4096) if pointer else size
        address[name] = value
        if name == "status":
            status = argument
        await host.write(number(argument, "offset"), value, number(argument, "size"))
    await host.write(IP_IER.offset, 1)
    await host.write(GIER.offset, 1)
    await host.write(CTRL.offset, 1 << CTRL.bit("ap_start"))
    await with_timeout(RisingEdge(dut.interrupt), 100, "us")
    assert await host.read(CTRL.offset) >> CTRL.bit("ap_done") & 1
    data = host.memories[status.get("port")].read(address["status"], STATUS.size)
    got = np.frombuffer(bytes(data), STATUS.dtype)[0]
    assert got["magic"] == MAGIC and got["executed"] == got["error"] == 0
    assert got["config_hash"] == int(CASE["config_hash"])


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def registers_are_where_they_are_declared(dut):
    """Each argument takes all bits of its size, and nothing else changes with it."""
    host, rng = Host(dut), random.Random(4)
    write, read = host.write, host.read
    await host.reset()
    sizes = {argument: number(argument, "size") for argument in ARGUMENTS}
    offsets = {argument: number(argument, "offset") for argument in ARGUMENTS}
    values = dict.fromkeys(ARGUMENTS, 0)
    for fill in (None, ~0, 0):
        for changed in ARGUMENTS:
            bits = 8 * sizes[changed]
            values[changed] = rng.getrandbits(bits) if fill is None else fill % (1 << bits)
            await write(offsets[changed], values[changed], sizes[changed])
            for argument in ARGUMENTS:
                got = await read(offsets[argument], sizes[argument])
                assert got == values[argument], f"{argument.get('name')} reads {got:#x}"
    # What is between them and behind them takes a write, and reads 0.
    used = {o + k for a, o in offsets.items() for k in range(0, sizes[a], 4)}
    end = max(used) + 8
    for offset in set(range(0x10, end, 4)) - used:
        await write(offset, 0xFFFFFFFF)
        assert await read(offset) == 0
    for register in CONTROL:
        writable = sum(1 << bit.bit for bit in register.bits)
        if register in (GIER, IP_IER):
            await write(register.offset, 0xFFFFFFFF)
            assert await read(register.offset) == writable

"""Runs inside the simulator; started by test_kernel.py: the whole kernel among strangers' models.

AXI4-Lite master and memories are those of cocotbext-axi; every channel pauses at random.
"""

import json
import os
import random

import cocotb
import numpy as np
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge, with_timeout
from cocotbext.axi import AxiBus, AxiLiteBus, AxiLiteMaster, AxiRam
from replay.programs import BLANK, STATUS_BYTES, masked, status_of, tour
from shell.axi_rules import Rules
from shell.kernel_pins import Pins

from hw.designs import DESIGNS
from hw.replay.commands import Error
from hw.replay.config import ReplayKernelConfig
from sim.card.memory import Buffer, Memory
from sim.model.replay.kernel import ReplayKernel

CASE = json.loads(os.environ["CASE"])
CONFIG = ReplayKernelConfig.from_dict(CASE["config"])
DESCRIPTION = DESIGNS["replay"].describe(CONFIG)
CTRL, GIER, IER, ISR = 0x0, 0x4, 0x8, 0xC
START, DONE, IDLE = 1, 2, 4
SIZE = 1 << 14  # of a buffer
ADDRESSES = (1 << 63) - 1  # more than AxiRam can count


class Host:
    """The kernel with its memories, and the twin with buffers of its own."""

    def __init__(self, dut, gap):
        self.dut, rng = dut, random.Random(gap)
        reset = dict(reset=dut.ap_rst_n, reset_active_level=False)
        self.bus = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axi_control"), dut.ap_clk, **reset)
        self.memories = {}
        for master in DESCRIPTION.masters:
            Rules(Pins(dut), prefix=master.name)
            bus = AxiBus.from_prefix(dut, master.name)
            self.memories[master.name] = memory = AxiRam(bus, dut.ap_clk, size=ADDRESSES, **reset)
            write, read = memory.write_if, memory.read_if
            for channel in (
                write.aw_channel,
                write.w_channel,
                write.b_channel,
                read.ar_channel,
                read.r_channel,
            ):
                channel.set_pause_generator(iter(lambda: rng.random() < gap, None))
        self.twin, self.buffers = ReplayKernel(DESCRIPTION), {}
        # Addresses use their upper bits, and beats that are not the first of a page.
        for k, a in enumerate(a for a in DESCRIPTION.arguments if a.kind == "pointer"):
            address = (0x25 + k << 56) + (k << 32) + 64 * k
            self.buffers[a.name] = Buffer(a.master, address, np.full(SIZE, BLANK, np.uint8))

    async def write(self, offset, value, size=4):
        await with_timeout(self.bus.write(offset, value.to_bytes(size, "little")), 50, "us")

    async def read(self, offset):
        answer = await with_timeout(self.bus.read(offset, 4), 50, "us")
        return int.from_bytes(answer.data, "little")

    def place(self, launch):
        """The launch's bytes, on both sides."""
        for name in ("results", "status"):
            self.buffers[name].data[:] = BLANK
        for name in ("program", "operands"):
            data = getattr(launch, name).reshape(-1)
            self.buffers[name].data[: data.nbytes] = data
        for name, buffer in self.buffers.items():
            if name != "storage":
                self.memories[buffer.master].write(buffer.address, buffer.data.tobytes())

    async def launch(self, launch):
        """Run it on both, compare every buffer; return the two status records."""
        self.place(launch)
        values = {name: buffer.address for name, buffer in self.buffers.items()}
        values |= {
            name: getattr(launch, name)
            for name in ("command_count", "operands_bytes", "results_bytes")
        }
        self.twin.execute(values, Memory(self.buffers.values()))
        for argument in DESCRIPTION.arguments:
            await self.write(argument.offset, values[argument.name], argument.size)
        await self.write(CTRL, START)
        assert not await self.read(CTRL) & (DONE | IDLE)
        await with_timeout(RisingEdge(self.dut.interrupt), 400, "us")
        assert await self.read(CTRL) & (DONE | IDLE) == DONE | IDLE
        await self.write(ISR, await self.read(ISR))
        for name, buffer in self.buffers.items():
            data = self.memories[buffer.master].read(buffer.address, SIZE)
            got = np.frombuffer(bytes(data), np.uint8)
            if name == "status":
                assert status_of(got)[0]["cycles"] > 0
                got = masked(got)
            different = np.flatnonzero(got != buffer.data)
            assert not len(different), f"{name} differs from byte {different[0]:#x} on"
        return status_of(self.buffers["status"].data[:STATUS_BYTES])


@cocotb.test()
async def buffers_equal_the_twins(dut):
    dut.ap_rst_n.value = 0
    cocotb.start_soon(Clock(dut.ap_clk, 10, "ns").start())
    host = Host(dut, CASE["gap"])
    storage = host.buffers["storage"]
    host.memories[storage.master].write(storage.address, storage.data.tobytes())
    for _ in range(4):
        await RisingEdge(dut.ap_clk)
    dut.ap_rst_n.value = 1
    await host.write(GIER, 1)
    await host.write(IER, 1)
    errors = []
    for launch in tour(CONFIG, CASE["granules"]):
        shell, _ = await host.launch(launch)
        errors.append((shell["executed"], shell["error"], shell["error_detail"]))
    assert errors == [(4, 0, 0), (7, 0, 0), (0, Error.INDEX, 1), (4, 0, 0), (0, 0, 0)]

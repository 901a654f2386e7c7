"""Runs inside the simulator; started by ``axi.run``: a whole kernel among strangers' models.

AXI4-Lite master and memories are those of cocotbext-axi; every channel pauses at random. What the
kernel wrote, and when, goes into a file ``written-*.json``.
"""

import importlib
import json
import os
from pathlib import Path

import cocotb
import numpy as np
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge, with_timeout
from cocotbext.axi import AxiLiteBus, AxiLiteMaster
from programs import BLANK, Launch, masked, status_of
from shell.known import watch
from shell.memories import memories

from hw.designs import DESIGNS
from sim.card.memory import Buffer, Memory
from sim.model.kernels import twin_of

CASE = json.loads(os.environ["CASE"])
if CASE["register"]:
    importlib.import_module(CASE["register"]).register()
DESIGN = DESIGNS[CASE["design"]]
DESCRIPTION = DESIGN.describe(DESIGN.config_type.from_dict(CASE["config"]))
CTRL, GIER, IER, ISR = 0x0, 0x4, 0x8, 0xC
START, DONE, IDLE = 1, 2, 4
SIZE = 1 << 14  # of a buffer


class Host:
    """The kernel with its memories, and the twin with buffers of its own."""

    def __init__(self, dut, gap):
        self.dut = dut
        reset = dict(reset=dut.ap_rst_n, reset_active_level=False)
        self.bus = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axi_control"), dut.ap_clk, **reset)
        masters = [master.name for master in DESCRIPTION.masters]
        self.memories, self.rules = memories(dut, masters, gap=gap, seed=gap)
        cocotb.start_soon(watch(dut, masters))
        self.twin, self.buffers = twin_of(DESCRIPTION), {}
        # Addresses use their upper bits, and beats that are not the first of a page.
        for k, a in enumerate(a for a in DESCRIPTION.arguments if a.kind == "pointer"):
            address = (0x25 + k << 56) + (k << 32) + 64 * k
            self.buffers[a.name] = Buffer(a.master, address, np.full(SIZE, BLANK, np.uint8))
            self.send(a.name)

    def send(self, name):
        buffer = self.buffers[name]
        self.memories[buffer.master].write(buffer.address, buffer.data.tobytes())

    async def write(self, offset, value, size=4):
        await with_timeout(self.bus.write(offset, value.to_bytes(size, "little")), 50, "us")

    async def read(self, offset):
        answer = await with_timeout(self.bus.read(offset, 4), 50, "us")
        return int.from_bytes(answer.data, "little")

    def place(self, launch):
        """The launch's bytes, on both sides."""
        for name in ("results", "status"):
            self.buffers[name].data[:] = BLANK
        filled = {"program": launch.program.reshape(-1), "operands": launch.operands, **launch.own}
        for name, data in filled.items():
            self.buffers[name].data[: data.nbytes] = data
        for name in ("results", "status", *filled):
            self.send(name)

    async def launch(self, launch, unknown):
        """Run it on both, compare every buffer; the shell's record. ``unknown``: 16 bytes each of
        results that count clocks."""
        self.place(launch)
        values = {name: buffer.address for name, buffer in self.buffers.items()}
        values |= {a.name: SIZE // a.unit for a in DESCRIPTION.arguments if a.buffer}
        values |= {
            name: getattr(launch, name)
            for name in ("command_count", "operands_bytes", "results_bytes")
        }
        values |= launch.sizes
        self.twin.execute(values, Memory(self.buffers.values()))
        for argument in DESCRIPTION.arguments:
            await self.write(argument.offset, values[argument.name], argument.size)
        await self.write(CTRL, START)
        assert not await self.read(CTRL) & (DONE | IDLE)
        await with_timeout(RisingEdge(self.dut.interrupt), CASE["limit_us"], "us")
        assert await self.read(CTRL) & (DONE | IDLE) == DONE | IDLE
        await self.write(ISR, await self.read(ISR))
        for name, buffer in self.buffers.items():
            data = self.memories[buffer.master].read(buffer.address, SIZE)
            got = np.frombuffer(bytes(data), np.uint8).copy()
            if name == "status":
                assert status_of(got, DESIGN.status)[0]["cycles"] > 0
                got = masked(got, DESIGN.status, CASE["clocks"])
            if name == "results":
                for place in unknown:
                    got[place : place + 16] = buffer.data[place : place + 16]
            different = np.flatnonzero(got != buffer.data)
            assert not len(different), f"{name} differs from byte {different[0]:#x} on"
        return status_of(self.buffers["status"].data, DESIGN.status)[0]


def launches():
    """Those of the file, with the places of their clock counts."""
    with np.load(CASE["launches"]) as file:
        for k, unknown in enumerate(CASE["unknown"]):
            sizes, prefix = (int(size) for size in file[f"sizes_{k}"]), f"own_{k}_"
            own = {n.removeprefix(prefix): file[n] for n in file.files if n.startswith(prefix)}
            launch = Launch(file[f"program_{k}"], file[f"operands_{k}"], *sizes, own)
            launch.sizes.update(CASE["own"][k])
            yield launch, unknown


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def buffers_equal_the_twins(dut):
    dut.ap_rst_n.value = 0
    cocotb.start_soon(Clock(dut.ap_clk, 10, "ns").start())
    host = Host(dut, CASE["gap"])
    for _ in range(4):
        await RisingEdge(dut.ap_clk)
    dut.ap_rst_n.value = 1
    await host.write(GIER, 1)
    await host.write(IER, 1)
    outcomes = []
    for launch, unknown in launches():
        assert max(launch.operands_bytes, launch.results_bytes, launch.program.nbytes) <= SIZE
        shell = await host.launch(launch, unknown)
        outcomes.append([int(shell[name]) for name in ("executed", "error")])
    assert outcomes == CASE["outcomes"]
    written = {
        name: [rules.clocks["w"], rules.bursts["aw"], list(map(hex, rules.words))]
        for name, rules in host.rules.items()
    }
    count = len(list(Path().glob("written-*.json")))
    Path(f"written-{count}.json").write_text(json.dumps(written))

"""The smallest kernel on the shell's contract: copies operands to results, then writes its status.

Bursts are stored whole, then forwarded: AR, R, AW, W, B in turn. AXI rules that the simulated card
checks can be broken on purpose: the top byte of ``operands_bytes`` selects one of ``BREACHES``.
"""

from dataclasses import dataclass

import numpy as np
from amaranth import *
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out
from card.copy_ports import elaborate_control, master_members, slave_members

from hw.config import ConfigBase
from hw.shell.buffers import Buffer
from hw.shell.description import (
    HOST_MASTER,
    KernelDescription,
    master_descriptions,
    standard_arguments,
)
from hw.shell.status_block import MAGIC, STATUS
from hw.verilog import to_verilog

__all__ = [
    "BREACHES",
    "CopyConfig",
    "CopyKernel",
    "CopyTwin",
    "breach",
    "describe",
    "generate",
    "prepared",
]

BREACHES = (
    "none boundary outside unaligned size burst id valid payload "
    "wlast_missing wlast_early strobe gap w_payload access hazard no_done"
).split()


def breach(name):
    """What to add to ``operands_bytes`` for the kernel to break this rule."""
    return BREACHES.index(name) << 24


@dataclass(frozen=True, kw_only=True)
class CopyConfig(ConfigBase):
    """With ``storage`` the copy goes to the buffer of a second master instead of results."""

    data_width: int = 512
    burst: int = 16
    storage: bool = False


def describe(config):
    extra = (Buffer(name="storage", master="storage", large=True),) if config.storage else ()
    return KernelDescription(
        name="copy",
        config=config.to_dict(),
        config_hash=config.hash64,
        arguments=standard_arguments(extra),
        masters=master_descriptions(extra, lambda master: config.data_width),
        verilog="copy.v",
    )


def generate(directory, config=None):
    """Write Verilog and description into ``directory``; return the description's path."""
    description = describe(config or CopyConfig())
    kernel = CopyKernel(config or CopyConfig())
    (directory / description.verilog).write_text(to_verilog(kernel, name=description.name))
    path = directory / "copy.json"
    path.write_text(description.to_json())
    return path


class CopyTwin:
    """The same bytes as ``CopyKernel``, but for the clock count, which is 0."""

    def __init__(self, description):
        self.description = description

    def execute(self, arguments, memory):
        size = (arguments["operands_bytes"] & 0xFFFFFF) if arguments["command_count"] else 0
        if size:
            target = arguments["storage" if "storage" in arguments else "results"]
            memory.view(target, size)[:] = memory.view(arguments["operands"], size)
        status = np.zeros((), STATUS.dtype)
        status["magic"], status["config_hash"] = MAGIC, self.description.config_hash
        status["executed"] = arguments["command_count"]
        memory.view(arguments["status"], STATUS.size)[:] = np.frombuffer(status.tobytes(), np.uint8)


class CopyKernel(wiring.Component):
    """Ports as every kernel has them; see ``hw.shell.description`` for the registers."""

    def __init__(self, config):
        self.config, self.description = config, describe(config)
        members = {"ap_clk": In(1), "ap_rst_n": In(1), "interrupt": Out(1)}
        members |= slave_members("s_axi_control")
        for master in self.description.masters:
            members |= master_members(master.name, master.data_width)
        super().__init__(members)

    def elaborate(self, platform):
        m = Module()
        m.domains.sync = domain = ClockDomain()
        m.d.comb += [domain.clk.eq(self.ap_clk), domain.rst.eq(~self.ap_rst_n)]
        arguments, start, done = elaborate_control(m, self, self.description.arguments)
        config = self.config
        beat = config.data_width // 8
        m.submodules.store = store = memory.Memory(
            shape=config.data_width, depth=config.burst, init=[]
        )
        store_write, store_read = store.write_port(), store.read_port(domain="comb")
        index, length, final = Signal(8), Signal(9), Signal()
        source, target, remaining = Signal(64), Signal(64), Signal(24)
        cycles, toggle = Signal(64), Signal()
        selected = arguments["operands_bytes"][24:]

        def broken(name):
            return selected == BREACHES.index(name)

        status = Signal(STATUS.shape)
        m.d.comb += [
            status.magic.eq(MAGIC),
            status.executed.eq(arguments["command_count"]),
            status.config_hash.eq(config.hash64),
            status.cycles.eq(cycles),
        ]

        # Host and storage share one set of wires; the writes' way depends on what is written.
        out = {
            name: Signal(shape.shape, name=f"out_{name}")
            for name, shape in master_members("", config.data_width).items()
        }
        host, copy = (self.port(p) for p in (HOST_MASTER, self.description.masters[-1].name))
        for name, wire in out.items():
            channel = name[1:3] if name[1] == "a" else name[1]
            way = host if channel in ("ar", "r") else copy
            if channel in ("ar", "r") or not config.storage:
                pair = (host[name], wire)
                m.d.comb += pair[0].eq(pair[1]) if self.drives(name) else pair[1].eq(pair[0])
            elif self.drives(name):
                gated = name.endswith(("valid", "ready"))
                m.d.comb += [
                    way[name].eq(wire & ~final if gated else wire),
                    host[name].eq(wire & final if gated else wire),
                ]
            else:
                m.d.comb += wire.eq(Mux(final, host[name], way[name]))
        if config.storage:
            m.d.comb += [copy["_arburst"].eq(1)]

        m.d.sync += [cycles.eq(cycles + 1), toggle.eq(~toggle)]
        size = C(beat.bit_length() - 1, 3)
        m.d.comb += [
            out["_arsize"].eq(size - broken("size")),
            out["_awsize"].eq(size),
            out["_arburst"].eq(~broken("burst")),
            out["_awburst"].eq(1),
            out["_arid"].eq(broken("id")),
            out["_arlen"].eq(length - 1),
            out["_awlen"].eq(length - 1),
            out["_awaddr"].eq(Mux(broken("access") & ~final, arguments["operands"], target)),
            out["_wdata"].eq(store_read.data ^ (broken("w_payload") & toggle)),
            out["_wstrb"].eq(C(-1, beat) ^ broken("strobe")),
            out["_wlast"].eq(
                ((index == length - 1) & ~broken("wlast_missing"))
                | (broken("wlast_early") & (index == 0))
            ),
            out["_araddr"].eq(
                source
                + Mux(broken("boundary"), 4096 - beat, 0)
                + Mux(broken("outside"), 1 << 20, 0)
                + Mux(broken("unaligned"), 4, 0)
                + Mux(broken("payload") & toggle, beat, 0)
            ),
            store_read.addr.eq(index),
            store_write.addr.eq(index),
            store_write.data.eq(
                Mux(final, status.as_value().word_select(index, config.data_width), out["_rdata"])
            ),
        ]

        with m.FSM():
            with m.State("IDLE"):
                m.d.sync += [final.eq(0), index.eq(0)]
                with m.If(start & ~done):
                    m.d.sync += [
                        source.eq(arguments["operands"]),
                        target.eq(arguments["storage" if config.storage else "results"]),
                        remaining.eq(
                            Mux(
                                arguments["command_count"] == 0,
                                0,
                                arguments["operands_bytes"][:24] // beat,
                            )
                        ),
                        cycles.eq(0),
                    ]
                    m.next = "NEXT"
            with m.State("NEXT"):
                m.d.sync += index.eq(0)
                with m.If(final & broken("no_done")):
                    m.next = "NEXT"
                with m.Elif(final):
                    m.d.comb += done.eq(1)
                    m.next = "IDLE"
                with m.Elif(remaining == 0):
                    m.d.sync += [final.eq(1), length.eq(64 // beat), target.eq(arguments["status"])]
                    m.next = "FILL"
                with m.Else():
                    m.d.sync += length.eq(Mux(remaining < config.burst, remaining, config.burst))
                    m.next = "AR"
            with m.State("AR"):
                m.d.comb += out["_arvalid"].eq(~(broken("valid") & toggle))
                with m.If(out["_arvalid"] & out["_arready"]):
                    m.next = "R"
            with m.State("R"):
                m.d.comb += [out["_rready"].eq(1), store_write.en.eq(out["_rvalid"])]
                with m.If(out["_rvalid"]):
                    m.d.sync += index.eq(index + 1)
                    with m.If(out["_rlast"]):
                        m.d.sync += index.eq(0)
                        m.next = "AW"
            with m.State("FILL"):
                m.d.comb += store_write.en.eq(1)
                m.d.sync += index.eq(index + 1)
                with m.If(index == length - 1):
                    m.d.sync += index.eq(0)
                    m.next = "AW"
            with m.State("AW"):
                m.d.comb += out["_awvalid"].eq(1)
                with m.If(out["_awready"]):
                    m.next = "W"
            with m.State("W"):
                m.d.comb += out["_wvalid"].eq(~(broken("gap") & toggle))
                with m.If(out["_wvalid"] & out["_wready"]):
                    m.d.sync += index.eq(index + 1)
                    with m.If(index == length - 1):
                        m.next = "B"
            with m.State("B"):
                m.d.comb += out["_bready"].eq(1)
                m.d.comb += out["_arvalid"].eq(broken("hazard"))
                with m.If(out["_bvalid"]):
                    m.d.sync += [
                        source.eq(source + length * beat),
                        target.eq(target + length * beat),
                    ]
                    m.d.sync += remaining.eq(remaining - length)
                    m.next = "NEXT"

        return m

    def port(self, master):
        return {name: getattr(self, master + name) for name in master_members("", 8)}

    @staticmethod
    def drives(name):
        return master_members("", 8)[name].flow is Out


def prepared(card, path, size=4096):
    """Kernel, random operands and all arguments of a copy of ``size`` bytes."""
    kernel = card.load(path)
    pointers = [a.name for a in kernel.description.arguments if a.kind == "pointer"]
    buffers = {name: kernel.buffer(name, size) for name in pointers}
    data = np.random.default_rng(1).integers(0, 2**32, size // 4, dtype=np.uint32)
    buffers["operands"].write(data)
    # The size of operands is what `breach` adds to; others are their buffers' own.
    return kernel, data, {**buffers, "command_count": 1, "operands_bytes": size}

"""A kernel on a board with nothing but a serial line: block RAM behind its masters, and a bridge.

Addresses are those of ``hw.uart.protocol``: a pointer that the host writes into a register is the
address at which it wrote the bytes.
"""

import numpy as np
from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect

from hw.errors import UsageError
from hw.shell.axi import slave_members
from hw.shell.core import LIGHTS
from hw.stream.queue import Queue
from hw.stream.skid import SkidBuffer
from hw.uart.bridge import Bridge
from hw.uart.identity import Identity
from hw.uart.lite import LiteMaster
from hw.uart.memory import AxiMemory
from hw.uart.protocol import BANK_TARGET, CONTROL_TARGET, IDENTITY, IDENTITY_TARGET, MAGIC, VERSION
from hw.uart.receiver import Receiver
from hw.uart.transmitter import Transmitter

__all__ = ["System", "identity"]


def identity(config, description):
    """The bytes of the IDENTITY record of a ``System``.

    ``config`` is its ``UartConfig``, ``description`` its kernel's ``KernelDescription``.
    """
    record = np.zeros((), IDENTITY.dtype)
    values = {
        "magic": MAGIC,
        "version": VERSION,
        "config_hash": description.config_hash,
        "clock_hz": config.clock_hz,
        "payload": config.payload,
        "backlog": config.backlog,
        "bank_count": len(config.banks),
    }
    for name, value in values.items():
        record[name] = value
    record["banks"][: len(config.banks)] = config.banks
    return record.tobytes()


class System(wiring.Component):
    """A kernel with its memories and its bridge between ``rx`` and ``tx``.

    Parameters
    ----------
    kernel : hw.shell.kernel.Kernel
        The kernel of the board.
    config : UartConfig
        ValueError unless it has a bank for each of the kernel's masters.

    Members
    -------
    rx : In(1), tx : Out(1)
        The serial line to the board and from it; 1 while idle.
    leds : Out(LIGHTS)
        The ``lights`` of the kernel's core.
    """

    def __init__(self, kernel, config):
        masters = kernel.description.masters
        if len(config.banks) != len(masters):
            raise UsageError(
                f"banks must be {len(masters)}, one for each master, not {config.banks!r}"
            )
        self.kernel, self.config = kernel, config
        super().__init__({"rx": In(1, init=1), "tx": Out(1, init=1), "leds": Out(LIGHTS)})

    def elaborate(self, platform):
        m = Module()
        config, kernel = self.config, self.kernel
        m.submodules.receiver = receiver = Receiver(config.divisor)
        m.submodules.transmitter = transmitter = Transmitter(config.divisor)
        m.submodules.backlog = backlog = Queue(8, config.backlog, "block")
        m.submodules.bridge = bridge = Bridge(config.payload)
        m.d.comb += [receiver.rx.eq(self.rx), self.tx.eq(transmitter.tx)]
        # A byte of block RAM comes too late in its clock to be decoded in the same; a byte that is
        # encoded comes too late to ask whether the line is free.
        m.submodules.skid_i, m.submodules.skid_o = skid_i, skid_o = SkidBuffer(8), SkidBuffer(8)
        connect(m, receiver.o, backlog.i)
        connect(m, backlog.o, skid_i.i)
        connect(m, skid_i.o, bridge.i)
        connect(m, bridge.o, skid_o.i)
        connect(m, skid_o.o, transmitter.i)

        # RESET reaches the kernel and all that the port reaches, not the bridge itself.
        reset = Signal()
        m.d.sync += reset.eq(bridge.reset)
        # Its clock domain is its own, and called as this one: Amaranth wants another name for it.
        m.submodules.kernel = DomainRenamer("kernel")(kernel)
        kernel.core.lights = Signal(LIGHTS)
        m.d.comb += [
            self.leds.eq(kernel.core.lights),
            kernel.ap_clk.eq(ClockSignal()),
            kernel.ap_rst_n.eq(~(ResetSignal() | reset)),
        ]
        lite = LiteMaster()
        targets = {
            CONTROL_TARGET: lite,
            IDENTITY_TARGET: Identity(identity(config, kernel.description)),
        }
        m.submodules.lite = ResetInserter(reset)(lite)
        m.submodules.identity = ResetInserter(reset)(targets[IDENTITY_TARGET])
        for name in slave_members("axi"):
            inner, outer = getattr(lite, name), getattr(kernel, f"s_axi_control{name[3:]}")
            m.d.comb += (
                outer.eq(inner) if lite.signature.members[name].flow == Out else inner.eq(outer)
            )
        for bank, master in enumerate(kernel.description.masters):
            memory = AxiMemory(
                size=config.banks[bank], base=config.bases[bank], data_width=master.data_width
            )
            m.submodules[f"bank_{bank}"] = ResetInserter(reset)(memory)
            self._connect(m, memory, master.name)
            targets[BANK_TARGET + bank] = memory
        self._route(m, bridge, targets)
        return m

    def _connect(self, m, memory, prefix):
        """Tie the kernel's master ``prefix`` to ``memory``."""

        def pin(name):
            return getattr(self.kernel, f"{prefix}_{name}")

        for channel in ("ar", "aw"):
            address = getattr(memory, channel)
            m.d.comb += [address.p.addr.eq(pin(f"{channel}addr"))]
            m.d.comb += [address.p.len.eq(pin(f"{channel}len"))]
        m.d.comb += [
            memory.w.p.data.eq(pin("wdata")),
            memory.w.p.last.eq(pin("wlast")),
            pin("rdata").eq(memory.r.p.data),
            pin("rresp").eq(memory.r.p.resp),
            pin("rlast").eq(memory.r.p.last),
            pin("bresp").eq(memory.b.p.resp),
        ]
        for channel in ("ar", "aw", "w"):
            m.d.comb += getattr(memory, channel).valid.eq(pin(f"{channel}valid"))
            m.d.comb += pin(f"{channel}ready").eq(getattr(memory, channel).ready)
        for channel in ("r", "b"):
            m.d.comb += pin(f"{channel}valid").eq(getattr(memory, channel).valid)
            m.d.comb += getattr(memory, channel).ready.eq(pin(f"{channel}ready"))

    @staticmethod
    def _route(m, bridge, targets):
        """Wires the bridge's port to the target that a request names; a request to an unknown
        target fails at once."""
        request, response = bridge.port.request, bridge.port.response
        nowhere = Signal()
        with m.If(nowhere):
            m.d.comb += [response.valid.eq(1), response.p.failed.eq(1)]
            m.d.sync += nowhere.eq(~response.ready)
        with m.Switch(bridge.target):
            for number, target in targets.items():
                port = target.port
                m.d.comb += port.request.payload.eq(request.payload)
                with m.Case(number):
                    m.d.comb += [
                        port.request.valid.eq(request.valid),
                        request.ready.eq(port.request.ready),
                        response.payload.eq(port.response.payload),
                        response.valid.eq(port.response.valid),
                        port.response.ready.eq(response.ready),
                    ]
            with m.Default():
                m.d.comb += request.ready.eq(1)
                with m.If(request.valid):
                    m.d.sync += nowhere.eq(1)

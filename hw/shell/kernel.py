"""A kernel: any core behind AXI4-Lite control and one AXI4 master for each of its memories.

The core brings what is its own (``hw.shell.core.CommandCore``); registers, engines, program, status
and clocking are the same for every design.
"""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect

from hw.shell.axi import connect_master, engine_of, master_members, slave_members
from hw.shell.control import Control
from hw.shell.description import HOST_MASTER
from hw.shell.ports import mux_ports
from hw.shell.program import misaligned
from hw.shell.read_engine import ReadEngine
from hw.shell.reset import reset_tree
from hw.shell.sequencer import Sequencer
from hw.shell.write_engine import WriteEngine

__all__ = ["Kernel"]


class Kernel(wiring.Component):
    """A whole kernel around ``core``, with the pins ``ap_clk``, ``ap_rst_n``, ``interrupt``,
    ``s_axi_control_*`` (AXI4-Lite slave) and ``m_axi_<master>_*`` (AXI4 masters).

    The host master serves the sequencer between commands and the core during one. A master
    ``m_axi_x`` other than the host's serves the core's ports ``x_read`` and ``x_write``, as far as
    it has them; a direction that no buffer needs stays silent.

    As long as memory answers, a launch ends, and its status block says how: the first error ends
    the program, be it of a command, of memory (AXI) or of the launch's arguments (``Sequencer``).
    A launch whose status buffer cannot be used ends without one.

    One clock, ``ap_clk``, drives the whole kernel. ``ap_rst_n`` is synchronous, and low for at
    least one clock. ``RESET_LATENCY`` clocks later (``reset.py``) it resets control, queues and
    state machines, but no memories, and the control slave is not ready while it is reset; accesses
    to registers in the clocks between may be lost. A reset may come only while no AXI burst is
    under way, or together with a reset of the interconnect, because a kernel cannot tell beats that
    were asked for before a reset from beats asked for after it. Such a common reset lasts at least
    ``RESET_LATENCY + 1`` clocks, until the masters are silent.

    Parameters
    ----------
    description : KernelDescription
        Arguments, masters and the hash of the config.
    core : CommandCore
        The design, made for the same config.
    """

    def __init__(self, description, core):
        self.description, self.core = description, core
        members = {"ap_clk": In(1), "ap_rst_n": In(1), "interrupt": Out(1)}
        members |= slave_members("s_axi_control")
        for master in description.masters:
            members |= master_members(master.name, master.data_width)
        super().__init__(members)

    def elaborate(self, platform):
        m = Module()
        m.domains.sync = sync = ClockDomain()
        in_reset = reset_tree(m, ~self.ap_rst_n)
        m.d.comb += [sync.clk.eq(self.ap_clk), sync.rst.eq(in_reset)]

        core, arguments = self.core, self.description.arguments
        pointers = [argument for argument in arguments if argument.kind == "pointer"]
        m.submodules.core = core
        stops = "stop" in core.signature.members
        m.submodules.control = control = Control(arguments, stops)
        m.submodules.sequencer = sequencer = Sequencer(
            data_width=self.description.masters[0].data_width,
            status_bytes=core.STATUS.size,
            config_hash=self.description.config_hash,
            pointers=[pointer.id for pointer in pointers],
        )
        for name, member in slave_members("s_axi_control").items():
            pin, register = getattr(self, name), getattr(control, name)
            if name.endswith("ready") and member.flow == Out:
                m.d.comb += pin.eq(register & ~in_reset)
            else:
                m.d.comb += pin.eq(register) if member.flow == Out else register.eq(pin)
        m.d.comb += [
            self.interrupt.eq(control.interrupt),
            sequencer.start.eq(control.start),
            control.done.eq(sequencer.done),
            sequencer.program.eq(control.program),
            sequencer.status_address.eq(control.status),
            sequencer.command_count.eq(control.command_count),
            sequencer.program_bytes.eq(control.program_bytes),
            sequencer.status_room.eq(control.status_bytes),
            sequencer.misaligned.eq(
                Cat(misaligned(getattr(control, pointer.name)) for pointer in pointers)
            ),
            sequencer.status.eq(core.status),
        ]
        for buffer in core.buffers:
            for name in (buffer.name, buffer.size_name):
                m.d.comb += getattr(core, name).eq(getattr(control, name))
        if stops:
            m.d.comb += core.stop.eq(control.stop)
        connect(m, sequencer.command, core.command)
        connect(m, core.outcome, sequencer.outcome)
        for master in self.description.masters:
            self._master(m, master, sequencer)
        return m

    def _master(self, m, master, sequencer):
        """Engines for the directions that the core or the sequencer uses."""
        short = master.name.removeprefix("m_axi_")
        config = engine_of(self.core.config, short)
        engines = []
        for kind, direction, name, make in (
            ("r", "read", "reader", ReadEngine),
            ("w", "write", "writer", WriteEngine),
        ):
            if kind not in master.access:
                engines.append(None)
                continue
            engine = make(config)
            m.submodules[f"{short}_{name}"] = engine
            engines.append(engine)
            port = getattr(self.core, f"{short}_{direction}", None)
            if master.name == HOST_MASTER:
                running = sequencer.running
                mux_ports(m, engine, [(running, port), (~running, getattr(sequencer, direction))])
            else:
                mux_ports(m, engine, [(C(1), port)])
        connect_master(m, self, master.name, *engines)

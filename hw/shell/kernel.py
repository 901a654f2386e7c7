"""A kernel: any core behind AXI4-Lite control and one AXI4 master for each of its memories.

The core brings what is its own (see ``hw.replay.core.ReplayCore`` for the members); registers,
engines, program, status and clocking are the same for every design.
"""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect

from hw.shell.axi import connect_master, master_members, slave_members
from hw.shell.control import Control
from hw.shell.description import HOST_MASTER, KernelDescription, Master, standard_arguments
from hw.shell.ports import share
from hw.shell.read import ReadEngine
from hw.shell.sequencer import Sequencer
from hw.shell.write import WriteEngine

__all__ = ["Kernel", "describe"]


def describe(name, config, core):
    """``KernelDescription`` of the kernel around a core of class ``core`` with ``config``."""
    arguments = standard_arguments(core.POINTERS)
    masters = [HOST_MASTER, *dict.fromkeys(master for _, master in core.POINTERS)]
    return KernelDescription(
        name=name,
        config=config.to_dict(),
        config_hash=config.hash64,
        arguments=arguments,
        verilog=f"{name}.v",
        masters=tuple(
            Master(
                name=master,
                data_width=config.engine.data_width,
                arguments=tuple(a.name for a in arguments if a.master == master),
            )
            for master in masters
        ),
    )


class Kernel(wiring.Component):
    """``ap_clk``, ``ap_rst_n``, ``interrupt``, ``s_axi_control_*`` and ``m_axi_*`` around ``core``.

    The host master serves the sequencer between commands and the core during one. A master
    ``m_axi_x`` other than the host's serves the core's ports ``x_read`` and ``x_write``.

    Parameters
    ----------
    name : str
    core : component with the members of a core
    """

    def __init__(self, name, core):
        self.name, self.core = name, core
        self.description = describe(name, core.config, type(core))
        members = {"ap_clk": In(1), "ap_rst_n": In(1), "interrupt": Out(1)}
        members |= slave_members("s_axi_control")
        for master in self.description.masters:
            members |= master_members(master.name, master.data_width)
        super().__init__(members)

    def elaborate(self, platform):
        m = Module()
        m.domains.sync = sync = ClockDomain()
        # Not registered: a handshake right after ap_rst_n rises must not meet a reset inside.
        m.d.comb += [sync.clk.eq(self.ap_clk), sync.rst.eq(~self.ap_rst_n)]

        core, config = self.core, self.core.config
        m.submodules.core = core
        m.submodules.control = control = Control(self.description.arguments)
        m.submodules.sequencer = sequencer = Sequencer(
            data_width=config.engine.data_width,
            status_bytes=core.STATUS.size,
            config_hash=config.hash64,
        )
        for name, member in slave_members("s_axi_control").items():
            pin, register = getattr(self, name), getattr(control, name)
            m.d.comb += pin.eq(register) if member.flow == Out else register.eq(pin)
        m.d.comb += [
            self.interrupt.eq(control.interrupt),
            sequencer.start.eq(control.start),
            control.done.eq(sequencer.done),
            sequencer.program.eq(control.program),
            sequencer.status_address.eq(control.status),
            sequencer.command_count.eq(control.command_count),
            sequencer.status.eq(core.status),
        ]
        for name in (
            "operands",
            "results",
            "operands_bytes",
            "results_bytes",
            *(pointer for pointer, _ in core.POINTERS),
        ):
            m.d.comb += getattr(core, name).eq(getattr(control, name))
        connect(m, sequencer.command, core.command)
        connect(m, core.outcome, sequencer.outcome)

        errors = []
        for master in self.description.masters:
            short = master.name.removeprefix("m_axi_")
            reader, writer = ReadEngine(config.engine), WriteEngine(config.engine)
            m.submodules[f"{short}_reader"], m.submodules[f"{short}_writer"] = reader, writer
            connect_master(m, self, master.name, reader, writer)
            errors.append(reader.response)
            m.d.comb += reader.clear.eq(control.start)
            read, write = getattr(core, f"{short}_read"), getattr(core, f"{short}_write")
            if master.name == HOST_MASTER:
                running = sequencer.running
                share(m, reader, [(running, read), (~running, sequencer.read)])
                share(m, writer, [(running, write), (~running, sequencer.write)])
            else:
                connect(m, read.request, reader.request)
                connect(m, reader.data, read.data)
                connect(m, write.request, writer.request)
                connect(m, write.data, writer.data)
                connect(m, writer.done, write.done)
        m.d.comb += sequencer.axi_error.eq(Cat(errors).any())
        return m

"""The core of ``adder``: two vectors are fetched at the same time through one master, and added."""

from amaranth import *
from amaranth.lib import data
from amaranth.lib.wiring import connect, flipped
from design.adder.commands import BUFFERS, COMMANDS, Opcode
from design.adder.fetch import Fetch
from design.adder.records import ADDER_STATUS
from design.adder.sums import Sums

from hw.shell.core import CommandCore
from hw.shell.interconnect import ReadInterconnect

__all__ = ["AdderCore"]


class AdderCore(CommandCore):
    """
    Parameters
    ----------
    config : AdderConfig
    """

    COMMANDS, STATUS, BUFFERS = COMMANDS, ADDER_STATUS, BUFFERS

    @staticmethod
    def state_layout(config):
        return data.StructLayout({"given": 1})

    def execute(self, m, run):
        config, commands = self.config, self.views(run.raw)
        m.submodules.vectors = vectors = ReadInterconnect(config.interconnect)
        m.submodules.sums = sums = Sums(config)
        connect(m, vectors.memory, flipped(self.vectors_read))
        connect(m, sums.o, run.reply_words)

        add, bias = commands[Opcode.ADD], Signal(32)
        adding = Signal()
        m.d.comb += [
            adding.eq(run.start & run.selected.add),
            run.reply.eq(adding),
            sums.start.eq(adding),
            sums.count.eq(add.count),
            sums.bias.eq(bias),
        ]
        for port, name in zip(vectors.ports, ("x", "y"), strict=True):
            m.submodules[f"fetch_{name}"] = fetch = Fetch(config.vectors_engine.data_width)
            connect(m, fetch.port, port)
            connect(m, fetch.o, getattr(sums, name))
            m.d.comb += [
                fetch.start.eq(adding),
                fetch.run.address.eq(getattr(self, name) + getattr(add, name)),
                fetch.run.beats.eq(getattr(run.beats, name)),
            ]

        given, added, cycles = Signal(), Signal(64), Signal(32)
        status = data.View(ADDER_STATUS.shape, self.status)
        m.d.comb += [
            run.state.given.eq(given),
            status.added.eq(added),
            status.bias.eq(bias),
            status.given.eq(given),
            status.cycles.eq(cycles),
        ]
        with m.FSM():
            with m.State("IDLE"):
                with m.If(run.start & run.selected.bias):
                    m.d.sync += [bias.eq(commands[Opcode.BIAS].bias), given.eq(1)]
                    m.next = "END"
                with m.If(adding):
                    m.d.sync += cycles.eq(1)
                    m.next = "ADD"
            with m.State("ADD"):
                # The sums are in memory; so every beat of both vectors has come.
                m.d.sync += cycles.eq(cycles + 1)
                with m.If(run.replied):
                    m.next = "END"
            with m.State("END"):
                m.d.comb += run.finish.eq(1)
                with m.If(run.selected.add & ~run.failed):
                    m.d.sync += added.eq(added + add.count)
                m.next = "IDLE"

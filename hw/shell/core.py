"""The core that every design extends: its contract with the kernel around it, and the dispatcher.

A design gives tables and ``execute``; ``docs/adding_a_design.md`` is the walk.
"""

from functools import reduce
from operator import or_

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import connect, flipped

from hw.shell.axi import engine_of
from hw.shell.buffers import HOST, HOST_BUFFERS, masters_of
from hw.shell.dispatcher import Dispatcher
from hw.shell.ports import core_members

__all__ = ["LIGHTS", "CommandCore"]

#: acts, learns : a network acts; parameters change or move.
#: met, bar : of the returns of the last episodes, as of ``hw.learner.play.episodes.Episodes``.
LIGHTS = data.StructLayout({"acts": 1, "learns": 1, "met": 1, "bar": 4})


class CommandCore(wiring.Component):
    """Executes the commands of one design, one at a time; a command is never left unanswered.

    Parameters
    ----------
    config : the kernel's
        ``engine`` is the ``EngineConfig`` of its masters; one that differs has ``<master>_engine``.

    What a design gives
    -------------------
    COMMANDS : CommandTable
        Its commands.
    STATUS : Layout
        Its status block, a multiple of 64 bytes.
    BUFFERS : tuple of Buffer
        Beyond program, operands, results and status. A core whose buffers depend on its config
        has ``buffers_of`` instead, and ``commands_of`` if its commands do.
    state_layout(config) : data.Layout
        What the rules of COMMANDS read in ``s``.
    execute(m, run) :
        The design itself, added to the module ``m``. ``run`` is the ``Dispatcher``. ``execute``
        drives ``run.state``, begins a command in the clock of ``run.start``, and pulses
        ``run.finish`` when the command has ended.

    Members
    -------
    command : In(stream of 512 bits), outcome : Out(stream of OUTCOME)
        A command as in memory. After it has ended, one outcome: its error, 0 if there was none,
        and the number of the item that failed.
    status : Out
        The bits of STATUS; steady while no command runs.
    <buffer> : In(64), <size name> : In(32)
        For each of operands, results and BUFFERS: its byte address and its size (bytes, or pages
        of a ``large`` one), as the launch gives them.
    <master>_read, <master>_write : ports
        Of the directions that a buffer of the master needs. Requests are whole beats of at least
        one; a write's ``done`` token must be taken.
    """

    BUFFERS = ()
    #: A Signal(LIGHTS) that a board with LEDs gives the core before it is elaborated; ``execute``
    #: drives it by ``show``. None on other boards, whose kernels have nothing of it.
    lights = None

    @classmethod
    def buffers_of(cls, config):
        """``BUFFERS`` of a core with ``config``."""
        return cls.BUFFERS

    @classmethod
    def commands_of(cls, config):
        """``COMMANDS`` of a core with ``config``."""
        return cls.COMMANDS

    @property
    def table(self):
        """The commands that the dispatcher of this core takes."""
        return self.commands_of(self.config)

    def __init__(self, config):
        self.config = config
        self.buffers = (*HOST_BUFFERS[1:3], *self.buffers_of(config))
        super().__init__(
            core_members(
                self.buffers, lambda master: engine_of(config, master).data_width, self.STATUS
            )
            | self.own_members()
        )

    def own_members(self):
        """A dict of members beyond those of every core; empty unless a core that is part of
        another core overrides it."""
        return {}

    @staticmethod
    def state_layout(config):
        return data.StructLayout({})

    def faults(self):
        """Yields one bit for each direction of each master: in this clock, the core takes a beat or
        a token with an error from memory."""
        for master, access in masters_of(self.buffers).items():
            if "r" in access:
                beat = getattr(self, f"{master}_read").data
                yield beat.valid & beat.ready & beat.p.error
            if "w" in access:
                token = getattr(self, f"{master}_write").done
                yield token.valid & token.ready & token.payload

    def make_dispatcher(self):
        return Dispatcher(
            self.table,
            self.config,
            self.state_layout(self.config),
            {
                buffer.name: (buffer, engine_of(self.config, buffer.master).beat_bytes)
                for buffer in self._placed()
            },
            engine_of(self.config, HOST).data_width,
        )

    def _placed(self):
        """The buffers in which a command has a footprint."""
        places = {buffer for buffer, _ in self.table.footprints.values()}
        return [buffer for buffer in self.buffers if buffer.name in places]

    def elaborate(self, platform):
        m = Module()
        m.submodules.dispatcher = run = self.make_dispatcher()
        m.d.comb += [run.operands.eq(self.operands), run.results.eq(self.results)]
        for buffer in self._placed():
            m.d.comb += getattr(run, buffer.size_name).eq(getattr(self, buffer.size_name))
        m.d.comb += run.fault.eq(reduce(or_, self.faults()))
        self.attach(m, run)
        self.execute(m, run)
        return m

    def attach(self, m, run):
        """Wires commands, outcomes and the host's ports to the dispatcher ``run``, in ``m``.

        A design whose dispatcher shares them with another unit overrides this method.
        """
        connect(m, flipped(self.command), run.command)
        connect(m, run.outcome, flipped(self.outcome))
        connect(m, run.read, flipped(self.host_read))
        connect(m, run.write, flipped(self.host_write))

    def views(self, raw):
        """``{opcode: view}``: the 512 bits ``raw`` as the fields of each command of the design."""
        return {opcode: data.View(layout.shape, raw) for opcode, layout in self.COMMANDS.items()}

    def show(self, m, domain, **lights):
        """Drives the fields of LIGHTS named by ``lights`` in ``domain``, if the board has LEDs."""
        if self.lights is not None:
            m.d[domain] += [self.lights[name].eq(value) for name, value in lights.items()]

    def field(self, name, raw):
        """The field ``name`` of the command bits ``raw``: ``CommandTable.field``."""
        return self.table.field(name, raw)

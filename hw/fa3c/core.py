"""The core of ``a3c``: compute units, RMSProp and the rounds that give them work, on their masters.

One command runs at a time; inside a ROUND compute units and RMSProp work side by side. LOAD and
STORE move a row a clock.
"""

from types import SimpleNamespace

from amaranth import *
from amaranth.lib import data
from amaranth.lib.wiring import connect, flipped

from hw.fa3c.commands import COMMANDS, IMAGES, buffers_of, commands_of
from hw.fa3c.masters import AHEAD, Masters
from hw.fa3c.memory.gradient_queue import GradientQueue
from hw.fa3c.memory.rms import Rms
from hw.fa3c.memory.rms_command import RmsKind
from hw.fa3c.records import A3C_STATUS, UNIT_CLOCKS
from hw.fa3c.round.round import Round
from hw.fa3c.rows import ROW_WIDTH
from hw.fa3c.unit.compute_unit import ComputeUnit
from hw.shell.axi import engine_of
from hw.shell.buffers import HOST, masters_of
from hw.shell.core import CommandCore
from hw.shell.width_conversion import Downsizer, Upsizer

__all__ = ["A3cCore"]


class A3cCore(CommandCore):
    """Executes LOAD, STORE and ROUND.

    If memory fails while the tasks of a ROUND are executed, the rollouts of its agents are empty
    and the snapshots of its SYNCs are not made; if it has a TRAIN, theta and squares count as
    missing. If memory fails during a LOAD, its image counts as missing.

    Parameters
    ----------
    config : Fa3cConfig
    """

    COMMANDS, STATUS = COMMANDS, A3C_STATUS

    @classmethod
    def buffers_of(cls, config):
        return buffers_of(config)

    @classmethod
    def commands_of(cls, config):
        return commands_of(config.local_masters)

    @staticmethod
    def state_layout(config):
        return data.StructLayout({"loaded": 2})

    def make_unit(self, number):
        """The compute unit with this number in ``config.units``."""
        return ComputeUnit(self.config, number)

    def attach(self, m, run):
        """Connects the core's streams of commands and outcomes to ``run``. It leaves the host's
        master to ``execute``, since the compute units use this master too."""
        connect(m, flipped(self.command), run.command)
        connect(m, run.outcome, flipped(self.outcome))

    def execute(self, m, run):
        config = self.config
        m.submodules.round = round_ = Round(config)
        m.submodules.rms = rms = Rms(config)
        units = []
        for number in range(len(config.units)):
            m.submodules[f"unit_{number}"] = unit = self.make_unit(number)
            units.append(unit)
            connect(m, round_.tasks[number], unit.task)
            m.d.comb += round_.finished[number].eq(unit.done)
            if config.units[number] != "infer":
                m.submodules[f"gradients_{number}"] = queue = GradientQueue(config)
                connect(m, unit.gradients, queue.i)
                connect(m, queue.o, rms.gradients[number])
        self._masters(m, run, round_, rms, units)

        now = SimpleNamespace(
            loaded=Signal(2),
            loading=Signal(),
            overflow=Signal(2),
            clock=Signal(32),
            rounds=Signal(64),
            tasks=Signal(64),
            round_cycles=Signal(32),
            update_cycles=Signal(32),
            unit_cycles=Signal(data.ArrayLayout(32, UNIT_CLOCKS)),
        )
        m.d.comb += run.state.loaded.eq(now.loaded)
        self._words(m, run, round_, rms, now)
        self._updates(m, run, round_, rms, now)
        self._run(m, run, round_, rms, now)
        self._status(m, round_, rms, now)

    def _masters(self, m, run, round_, rms, units):
        """Connects every unit to the masters whose memory it uses."""
        masters, config = Masters(m, self.config), self.config
        bases = [getattr(self, name) for name in config.local_names]
        theta, squares = (each.master for each in self.buffers if each.name in IMAGES)
        masters.add_beats(HOST, "read", run.read)
        masters.add_beats(HOST, "write", run.write)
        masters.add(HOST, "read", "errors", round_.read)
        # A SYNC reads only theta, a row a clock, and inferences wait for it. So does an UPDATE of
        # each image that has its own master.
        masters.add(theta, "read", "theta", rms.theta_read, AHEAD)
        alone = AHEAD if squares != theta else None
        masters.add(squares, "read", "squares", rms.squares_read, alone)
        masters.add(theta, "write", "new_theta", rms.theta_write)
        masters.add(squares, "write", "new_squares", rms.squares_write)
        if config.transposed_rows:
            masters.add(theta, "write", "new_transposed", rms.transposed_write)
        masters.add_striped("write", "snapshot", rms.snapshot_write, bases)
        for number, (unit, role) in enumerate(zip(units, config.units, strict=True)):
            name = f"unit_{number}"
            masters.add(HOST, "read", f"{name}_screens", unit.screens)
            masters.add_striped("read", f"{name}_parameters", unit.parameters, bases)
            if role != "infer":
                masters.add_striped("read", f"{name}_features", unit.features, bases)
            if role != "train":
                masters.add_striped("write", f"{name}_rollout", unit.rollout, bases)
                masters.add(HOST, "write", f"{name}_outputs", unit.outputs)
        masters.join(
            {
                (master, direction): flipped(getattr(self, f"{master}_{direction}"))
                for master in masters_of(self.buffers)
                for direction in ("read", "write")
            }
        )

    def _words(self, m, run, round_, rms, now):
        """Operands and results as rows: tasks or an image come in, an image goes out."""
        width = engine_of(self.config, HOST).data_width
        m.submodules.upsizer = upsizer = Upsizer(ROW_WIDTH, width)
        m.submodules.downsizer = downsizer = Downsizer(ROW_WIDTH, width)
        connect(m, run.words, upsizer.i)
        connect(m, rms.reply, downsizer.i)
        connect(m, downsizer.o, run.reply_words)
        row = upsizer.o
        m.d.comb += [
            round_.i.payload.eq(row.p.data),
            round_.i.valid.eq(row.valid & ~now.loading),
            rms.words.payload.eq(row.p.data),
            rms.words.valid.eq(row.valid & now.loading),
            row.ready.eq(Mux(now.loading, rms.words.ready, round_.i.ready)),
        ]

    def _updates(self, m, run, round_, rms, now):
        """Commands of RMSProp: a ROUND sends many; a LOAD or STORE is one command."""
        command, update, moving = rms.command.p, round_.updates, Signal()
        with m.If(run.start & ~run.selected.round):
            m.d.sync += moving.eq(1)
        with m.Elif(rms.command.ready):
            m.d.sync += moving.eq(0)
        m.d.comb += [
            rms.theta.eq(self.theta),
            rms.squares.eq(self.squares),
            rms.command.valid.eq(moving | update.valid),
            update.ready.eq(rms.command.ready & ~moving),
            command.kind.eq(Mux(update.p.sync, RmsKind.SYNC, RmsKind.UPDATE)),
            command.squares.eq(self.field("image", run.raw)),
            *(
                command[name].eq(update.p[name])
                for name in ("unit", "layer", "rate", "decay", "gain", "epsilon", "snapshot")
            ),
            round_.updated.eq(rms.done),
        ]
        with m.If(moving):
            m.d.comb += command.kind.eq(Mux(run.selected.load, RmsKind.LOAD, RmsKind.STORE))

    def _run(self, m, run, round_, rms, now):
        image = self.field("image", run.raw)[0]
        m.d.comb += [
            round_.start.eq(run.start & run.selected.round),
            round_.count.eq(self.field("count", run.raw)),
            round_.failed.eq(run.failed),
            # Rollouts and snapshots belong to the theta that is replaced.
            round_.clear.eq(run.start & run.selected.load & (image == 0)),
            *(
                getattr(round_, name).eq(getattr(self, name))
                for name in ("operands", "results", "operands_bytes", "results_bytes")
            ),
            run.reply.eq(run.start & run.selected.store),
            run.error.eq(round_.error),
            run.detail.eq(round_.detail),
        ]
        m.d.sync += [
            now.clock.eq(now.clock + 1),
            now.overflow.eq(now.overflow | rms.overflow),
        ]
        with m.FSM() as fsm:
            m.d.comb += now.loading.eq(fsm.ongoing("LOAD"))
            with m.State("IDLE"):
                m.d.sync += now.clock.eq(1)
                with m.If(run.start & run.selected.load):
                    # Rows overwrite the only copy: before the last is written it is not whole.
                    m.d.sync += [
                        each.bit_select(image, 1).eq(0) for each in (now.loaded, now.overflow)
                    ]
                    m.next = "LOAD"
                with m.If(run.start & run.selected.store):
                    m.next = "STORE"
                with m.If(run.start & run.selected.round):
                    m.next = "ROUND"
            with m.State("LOAD"):
                with m.If(rms.done):
                    m.next = "LOADED"
            with m.State("LOADED"):
                m.d.comb += run.finish.eq(1)
                with m.If(~run.failed):
                    m.d.sync += now.loaded.bit_select(image, 1).eq(1)
                m.next = "IDLE"
            with m.State("STORE"):
                with m.If(run.replied):
                    m.d.comb += run.finish.eq(1)
                    m.next = "IDLE"
            with m.State("ROUND"):
                with m.If(round_.done):
                    m.d.comb += run.finish.eq(1)
                    m.next = "IDLE"
                    with m.If(run.failed):
                        with m.If(round_.trained):
                            m.d.sync += [now.loaded.eq(0), now.overflow.eq(0)]
                    with m.Elif(round_.started):
                        m.d.sync += [
                            now.rounds.eq(now.rounds + 1),
                            now.tasks.eq(now.tasks + round_.count),
                        ]

    def _status(self, m, round_, rms, now):
        """Fields of the status block; clocks are those of the last ROUND that was executed."""
        working = Signal()
        m.d.sync += working.eq(round_.working)
        with m.If(round_.working):
            with m.If(~working):
                m.d.sync += [now.update_cycles.eq(0), now.unit_cycles.as_value().eq(0)]
            with m.If(rms.done):
                m.d.sync += now.update_cycles.eq(now.clock)
            for number in range(min(UNIT_CLOCKS, len(self.config.units))):
                with m.If(round_.finished[number]):
                    m.d.sync += now.unit_cycles[number].eq(now.clock)
        with m.If(round_.done & round_.started):
            m.d.sync += now.round_cycles.eq(now.clock)
        status = data.View(A3C_STATUS.shape, self.status)
        names = ("loaded", "rounds", "tasks", "round_cycles", "update_cycles", "unit_cycles")
        names += ("overflow",)
        m.d.comb += [getattr(status, name).eq(getattr(now, name)) for name in names]
        m.d.comb += status.synced.eq(round_.synced)

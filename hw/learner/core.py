"""The learner's core: a replay core that feeds a learner, and the commands of both.

A command of the replay core passes without latency. An iteration of LEARN gives that core three
jobs: a SAMPLE, whose batch goes to the learner, an UPDATE, which takes the TD errors that the
learner sends back, and an INSERT. An iteration of TRAIN takes its batch from operands and writes
the TD errors to results.
LOAD and STORE move the parameter image at the learner's pace. ACT moves observations to the
learner, and the network's outputs back.
"""

from amaranth import *
from amaranth.lib import data
from amaranth.lib.wiring import connect, flipped

from hw.learner.commands import COMMANDS, LEARNING
from hw.learner.control.iteration import Iteration
from hw.learner.control.td_error_queue import TdErrorQueue
from hw.learner.network.trainer import Trainer
from hw.learner.records import LEARNER_STATUS, LearnError
from hw.replay.job_core import JobReplayCore
from hw.replay.records import REPLAY_STATUS
from hw.replay.replay_state import state_shapes
from hw.shell.core import CommandCore
from hw.shell.ports import mux_ports

__all__ = ["LearnerCore"]


class LearnerCore(CommandCore):
    """The core of the kernels ``dqn`` and ``ddpg``. It executes LEARN, TRAIN, LOAD, STORE and ACT,
    and passes all other commands to the replay core that it contains.

    A subclass may replace the method ``make_learner``, which returns the learner: any component
    with ``LearnerSignature``. A parameter set is missing until its LOAD has succeeded. LEARN and
    TRAIN need all sets, STORE the sets that it names, ACT the online parameters.

    Parameters
    ----------
    config : LearnerKernelConfig
    """

    COMMANDS = COMMANDS
    STATUS = LEARNER_STATUS
    BUFFERS = JobReplayCore.BUFFERS

    @property
    def table(self):
        return LEARNING

    def make_learner(self):
        return Trainer(self.config.learner, self.config.engine.data_width)

    def make_insert_check(self):
        """The ``InsertCheck`` of the replay core. Here it is None: experiences are checked only
        when they are drawn."""
        return None

    @staticmethod
    def state_layout(config):
        shapes = state_shapes(config.replay, config.engine.beat_bytes)
        names = ("capacity", "granules")
        return data.StructLayout(
            {
                **{name: shapes[name] for name in names},
                "missing": len(config.learner.parameter_sets),
            }
        )

    def attach(self, m, run):
        """Ports are shared with the inner replay core, so they are wired in ``execute``."""

    def execute(self, m, run):
        m.submodules.replay = replay = JobReplayCore(
            self.config.replay_kernel, self.make_insert_check()
        )
        m.submodules.learner = learner = self.make_learner()
        m.submodules.iteration = iteration = Iteration(self.config)
        m.submodules.td_errors = td_errors = TdErrorQueue(
            self.config.engine.data_width, self.config.learner.batch
        )
        state = data.View(REPLAY_STATUS.shape, replay.status)
        missing = Signal(len(self.config.learner.parameter_sets), init=~0)
        m.d.comb += [
            run.state.capacity.eq(state.capacity),
            run.state.granules.eq(state.granules),
            run.state.missing.eq(missing),
            iteration.raw.eq(run.raw),
            iteration.trains.eq(run.selected.train),
            iteration.run.eq(run.stages.run),
            iteration.operands.eq(self.operands),
            iteration.results.eq(self.results),
            iteration.status.eq(replay.status),
            learner.sets.eq(self.field("sets", run.raw)),
            td_errors.count.eq(self.field("batch", run.raw)),
            td_errors.start.eq(iteration.learner.train),
            td_errors.drop.eq(iteration.drop),
            iteration.complete.eq(td_errors.complete),
            iteration.empty.eq(td_errors.empty),
        ]  # fmt: skip
        connect(m, iteration.learner, learner.control)
        connect(m, iteration.job, replay.job)
        connect(m, replay.job_outcome, iteration.outcome)
        connect(m, learner.td, td_errors.td)

        modes = Signal(data.StructLayout({"learning": 1, "moving": 1, "acting": 1}))
        self._batches(m, run, replay, learner, iteration, td_errors, modes.acting)
        self._words(m, run, learner, modes.acting)
        self._commands(m, run, replay)
        self._memory(m, run, replay, iteration, modes)
        self._run(m, run, learner, iteration, missing, modes)
        status = {field.name: state[field.name] for field in REPLAY_STATUS.fields}
        status |= {"loaded": ~missing, "iterations": iteration.iterations}
        self.replay, self.iteration, self.missing = replay, iteration, missing
        self.show(m, "comb", acts=learner.acting, learns=learner.control.busy)
        m.d.comb += self.status.eq(self.STATUS.encode(**status, **self.extend(m, run, learner)))

    def extend(self, m, run, learner):
        """Hook for cores with more commands (FIXAR, PLAY): wires these commands, and returns a dict
        of further status fields, here empty. It is called last; ``self`` has the parts ``replay``,
        ``iteration`` and ``missing``, the sets that are missing. A command with ``at_once(run)``
        finishes one clock after its start."""
        return {}

    @staticmethod
    def at_once(run):
        """A Value that matters only when a command starts: 1 if the command finishes one clock
        later. Here it is 0; designs with such commands (FIXAR) replace it."""
        return Const(0)

    def _batches(self, m, run, replay, learner, iteration, td_errors, acting):
        """Wires batches to the learner and TD errors from it, to and from the replay core or, in a
        TRAIN, the iteration. In an ACT the batch is observations."""
        records, trains, items = learner.records, iteration.trains, td_errors.items
        m.d.comb += [
            records.payload.eq(Mux(trains, iteration.batch.payload, replay.batch.payload)),
            records.valid.eq(Mux(trains, iteration.batch.valid, replay.batch.valid)),
            iteration.batch.ready.eq(records.ready & trains),
            replay.batch.ready.eq(records.ready & ~trains),
            iteration.list.payload.eq(items.payload),
            iteration.list.valid.eq(items.valid & trains),
            replay.items.payload.eq(items.payload),
            replay.items.valid.eq(items.valid & ~trains),
            items.ready.eq(Mux(trains, iteration.list.ready, replay.items.ready)),
        ]
        with m.If(acting):
            m.d.comb += [records.payload.eq(run.words.p.data), records.valid.eq(run.words.valid)]

    def _words(self, m, run, learner, acting):
        """Wires incoming beats (an image, or observations) and outgoing beats (an image, or
        actions)."""
        count, batch = (self.field(name, run.raw) for name in ("count", "batch"))
        m.d.comb += [
            learner.batch.eq(Mux(learner.acting, count, batch)),
            learner.image_i.payload.eq(run.words.p.data),
            learner.image_i.valid.eq(run.words.valid & ~acting),
            run.words.ready.eq(Mux(acting, learner.records.ready, learner.image_i.ready)),
            run.reply_words.payload.eq(
                Mux(acting, learner.actions.payload, learner.image_o.payload)
            ),
            run.reply_words.valid.eq(Mux(acting, learner.actions.valid, learner.image_o.valid)),
            learner.actions.ready.eq(run.reply_words.ready & acting),
            learner.image_o.ready.eq(run.reply_words.ready & ~acting),
        ]

    def _commands(self, m, run, replay):
        """Passes commands to the dispatcher or to the replay core, and takes their outcomes."""
        arriving = self.field("opcode", self.command.payload)
        own = Signal()
        m.d.comb += [
            own.eq(Cat(arriving == opcode.value for opcode in self.table).any()),
            run.command.payload.eq(self.command.payload),
            run.command.valid.eq(self.command.valid & own),
            replay.command.payload.eq(self.command.payload),
            replay.command.valid.eq(self.command.valid & ~own),
            self.command.ready.eq(Mux(own, run.command.ready, replay.command.ready)),
            self.outcome.payload.eq(
                Mux(run.outcome.valid, run.outcome.payload, replay.outcome.payload)
            ),
            self.outcome.valid.eq(run.outcome.valid | replay.outcome.valid),
            run.outcome.ready.eq(self.outcome.ready),
            replay.outcome.ready.eq(self.outcome.ready),
        ]

    def _memory(self, m, run, replay, iteration, modes):
        """Replay core, iteration and dispatcher take turns at the host's port."""
        m.d.comb += [
            replay.operands.eq(self.operands),
            replay.operands_bytes.eq(self.operands_bytes),
            replay.results.eq(self.results),
            replay.results_bytes.eq(self.results_bytes),
            replay.storage.eq(self.storage),
            replay.storage_pages.eq(self.storage_pages),
        ]
        for name in ("storage_read", "storage_write"):
            connect(m, getattr(replay, name), flipped(getattr(self, name)))
        reads = [
            (~iteration.reading & ~modes.moving, replay.host_read),
            (iteration.reading, iteration.read),
            (modes.moving, run.read),
        ]
        writes = [
            (~modes.learning & ~modes.moving, replay.host_write),
            (modes.learning, iteration.write),
            (modes.moving, run.write),
        ]
        mux_ports(m, self.host_read, reads)
        mux_ports(m, self.host_write, writes)

    def _run(self, m, run, learner, iteration, missing, modes):
        acts = Signal()
        with m.FSM() as fsm:
            m.d.comb += [
                acts.eq(run.start & run.selected.act),
                modes.learning.eq(fsm.ongoing("LEARN")),
                # The first beat comes after the start: ports do not wait for ``start``.
                modes.acting.eq(fsm.ongoing("OBSERVE") | fsm.ongoing("ACT")),
                learner.acting.eq(acts | modes.acting),
                modes.moving.eq(modes.acting | fsm.ongoing("LOAD") | fsm.ongoing("STORE")),
            ]
            with m.State("IDLE"):
                m.d.comb += [
                    iteration.start.eq(run.start & (run.selected.learn | run.selected.train)),
                    learner.load.eq(run.start & run.selected.load),
                    learner.store.eq(run.start & run.selected.store),
                    run.reply.eq(learner.store),
                ]
                with m.If(run.start & self.at_once(run)):
                    m.next = "DONE"
                with m.If(acts):
                    m.d.comb += learner.control.begin.eq(1)
                    m.next = "OBSERVE"
                with m.If(learner.load):
                    # Words stream into the only copy: until the last is in, no copy is whole.
                    m.d.sync += missing.eq(missing | learner.sets)
                    m.next = "LOAD"
                with m.Elif(learner.store):
                    m.next = "STORE"
                with m.Elif(iteration.start):
                    m.next = "LEARN"
            with m.State("DONE"):
                m.d.comb += run.finish.eq(1)
                m.next = "IDLE"
            with m.State("LEARN"):
                m.d.comb += [
                    run.finish.eq(iteration.done),
                    run.error.eq(iteration.error),
                    run.detail.eq(iteration.detail),
                ]
                with m.If(iteration.done):
                    m.next = "IDLE"
            with m.State("LOAD"):
                with m.If(~learner.control.busy):
                    m.d.comb += run.finish.eq(1)
                    with m.If(~run.failed):
                        m.d.sync += missing.eq(missing & ~learner.sets)
                    m.next = "IDLE"
            with m.State("OBSERVE"):
                refused = run.failed | learner.control.bad
                m.d.comb += [
                    run.error.eq(LearnError.NUMBER),
                    run.detail.eq(learner.control.bad_index),
                ]
                with m.If(learner.control.loaded & refused):
                    m.d.comb += run.finish.eq(1)
                    m.next = "IDLE"
                with m.Elif(learner.control.loaded):
                    m.d.comb += [learner.act.eq(1), run.reply.eq(1)]
                    m.next = "ACT"
            with m.State("ACT"):
                with m.If(run.replied):
                    m.d.comb += run.finish.eq(1)
                    m.next = "IDLE"
            with m.State("STORE"):
                with m.If(run.replied & ~learner.control.busy):
                    m.d.comb += run.finish.eq(1)
                    m.next = "IDLE"

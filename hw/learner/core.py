"""The learner's core: the replay core with a learner behind it, and the commands of both.

A command of the replay core passes without latency. An iteration of LEARN is the replay core's
SAMPLE, whose batch goes to the learner, an UPDATE with what the learner sends back, and an INSERT.
LOAD and STORE move a beat of the parameter image as fast as the learner does.
"""

from amaranth import *
from amaranth.lib import data
from amaranth.lib.wiring import connect, flipped

from hw.learner.commands import COMMANDS, LEARNING, LearnOpcode
from hw.learner.config import PARAMETER_SETS
from hw.learner.control.batch_redirect import BatchRedirect
from hw.learner.control.iteration import LEARNER_FLAGS, LEARNER_NUMBERS, LEARNER_PULSES, Iteration
from hw.learner.network.trainer import Trainer
from hw.learner.records import LEARNER_STATUS
from hw.replay.core import ReplayCore
from hw.replay.records import ITEM, REPLAY_STATUS
from hw.replay.replay_state import state_shapes
from hw.shell.command import round_up
from hw.shell.core import CommandCore
from hw.shell.ports import mux_ports

__all__ = ["LearnerCore"]


class LearnerCore(CommandCore):
    """The core of the kernels ``dqn`` and ``ddpg``.

    Parameters
    ----------
    config : LearnerKernelConfig
    """

    COMMANDS = COMMANDS
    STATUS = LEARNER_STATUS
    BUFFERS = ReplayCore.BUFFERS

    @property
    def table(self):
        return LEARNING

    def make_learner(self):
        return Trainer(self.config.learner, self.config.engine.data_width)

    @staticmethod
    def state_layout(config):
        shapes = state_shapes(config.replay, config.engine.beat_bytes)
        names = ("capacity", "granules")
        return data.StructLayout(
            {**{name: shapes[name] for name in names}, "missing": len(PARAMETER_SETS)}
        )

    def attach(self, m, run):
        """The replay core has its part of them: ``execute``."""

    def execute(self, m, run):
        m.submodules.replay = replay = ReplayCore(self.config.replay_kernel)
        m.submodules.learner = learner = self.make_learner()
        m.submodules.iterate = iterate = Iteration(self.config)
        m.submodules.capture = capture = BatchRedirect(
            self.config.engine.data_width, self.config.learner.batch
        )
        command, state = self.views(run.raw), data.View(REPLAY_STATUS.shape, replay.status)
        learn, missing = command[LearnOpcode.LEARN], Signal(len(PARAMETER_SETS), init=~0)
        shared = 8 * LEARNER_STATUS.offsets["loaded"]
        m.d.comb += [
            run.state.capacity.eq(state.capacity),
            run.state.granules.eq(state.granules),
            run.state.missing.eq(missing),
            iterate.raw.eq(run.raw),
            iterate.advance.eq(round_up(run.stages.run, 64)),
            iterate.advance_list.eq(round_up(learn.inserts * ITEM.size, 64)),
            iterate.operands.eq(self.operands),
            iterate.results.eq(self.results),
            iterate.status.eq(replay.status),
            self.status.eq(
                Cat(replay.status[:shared], (~missing).as_unsigned()[: len(PARAMETER_SETS)],
                    C(0, 32 - len(PARAMETER_SETS)), iterate.iterations)
            ),
            learner.step.eq(iterate.step),
            learner.batch.eq(learn.batch),
            learner.sets.eq(command[LearnOpcode.LOAD].sets),
            *(getattr(learner, name).eq(getattr(iterate, name)) for name in LEARNER_PULSES),
            *(
                getattr(iterate, name).eq(getattr(learner, name))
                for name in (*LEARNER_FLAGS, *LEARNER_NUMBERS, "saturations")
            ),
            capture.batch.eq(learn.batch),
            capture.start.eq(iterate.begin),
            capture.drawing.eq(iterate.drawing),
            capture.giving.eq(iterate.giving),
            capture.drop.eq(iterate.drop),
            iterate.complete.eq(capture.complete),
            iterate.empty.eq(capture.empty),
            learner.image_i.payload.eq(run.words.p.data),
            learner.image_i.valid.eq(run.words.valid),
            run.words.ready.eq(learner.image_i.ready),
        ]  # fmt: skip
        connect(m, capture.records, learner.records)
        connect(m, learner.td, capture.td)
        connect(m, learner.image_o, run.reply_words)

        modes = Signal(data.StructLayout({"learning": 1, "loading": 1, "storing": 1}))
        self._commands(m, run, replay, iterate, modes.learning)
        self._memory(m, run, replay, capture, iterate, modes)
        self._run(m, run, learner, iterate, missing, modes)

    def _commands(self, m, run, replay, iterate, learning):
        """A command is the dispatcher's or the replay core's, or that of an iteration."""
        arriving = data.View(LEARNING[LearnOpcode.LEARN].shape, self.command.payload).opcode
        own = Signal()
        m.d.comb += [
            own.eq(Cat(arriving == opcode.value for opcode in LEARNING).any()),
            run.command.payload.eq(self.command.payload),
            run.command.valid.eq(self.command.valid & own),
            replay.command.payload.eq(Mux(learning, iterate.command.payload, self.command.payload)),
            replay.command.valid.eq(
                Mux(learning, iterate.command.valid, self.command.valid & ~own)
            ),
            iterate.command.ready.eq(replay.command.ready & learning),
            self.command.ready.eq(Mux(own, run.command.ready, replay.command.ready & ~learning)),
            iterate.outcome.payload.eq(replay.outcome.payload),
            iterate.outcome.valid.eq(replay.outcome.valid & learning),
            self.outcome.payload.eq(
                Mux(run.outcome.valid, run.outcome.payload, replay.outcome.payload)
            ),
            self.outcome.valid.eq(run.outcome.valid | (replay.outcome.valid & ~learning)),
            run.outcome.ready.eq(self.outcome.ready),
            replay.outcome.ready.eq(Mux(learning, iterate.outcome.ready, self.outcome.ready)),
        ]

    def _memory(self, m, run, replay, capture, iterate, modes):
        """Inside a LEARN the replay core's operands and results are checked already, or not there;
        it, the iteration and the dispatcher take turns at the host's port."""
        everything = C(0xFFFF_FFFF, 32)
        m.d.comb += [
            replay.operands.eq(self.operands),
            replay.results.eq(self.results),
            replay.storage.eq(self.storage),
            replay.storage_pages.eq(self.storage_pages),
            replay.operands_bytes.eq(Mux(modes.learning, everything, self.operands_bytes)),
            replay.results_bytes.eq(Mux(modes.learning, everything, self.results_bytes)),
        ]
        connect(m, replay.host_read, capture.replay_read)
        connect(m, replay.host_write, capture.replay_write)
        for name in ("storage_read", "storage_write"):
            connect(m, getattr(replay, name), flipped(getattr(self, name)))
        reads = [
            (~iterate.reading & ~modes.loading, capture.read),
            (iterate.reading, iterate.read),
            (modes.loading, run.read),
        ]
        writes = [
            (~modes.learning & ~modes.storing, capture.write),
            (modes.learning, iterate.write),
            (modes.storing, run.write),
        ]
        mux_ports(m, self.host_read, reads)
        mux_ports(m, self.host_write, writes)

    def _run(self, m, run, learner, iterate, missing, modes):
        sets = learner.sets
        with m.FSM() as fsm:
            m.d.comb += [
                modes.learning.eq(fsm.ongoing("LEARN")),
                modes.loading.eq(fsm.ongoing("LOAD")),
                modes.storing.eq(fsm.ongoing("STORE")),
            ]
            with m.State("IDLE"):
                m.d.comb += [
                    iterate.start.eq(run.start & run.selected.learn),
                    learner.load.eq(run.start & run.selected.load),
                    learner.store.eq(run.start & run.selected.store),
                    run.reply.eq(learner.store),
                ]
                with m.If(learner.load):
                    # Words stream into the only copy: until the last is right, there is none.
                    m.d.sync += missing.eq(missing | sets)
                    m.next = "LOAD"
                with m.Elif(learner.store):
                    m.next = "STORE"
                with m.Elif(iterate.start):
                    m.next = "LEARN"
            with m.State("LEARN"):
                m.d.comb += [
                    run.finish.eq(iterate.done),
                    run.error.eq(iterate.error),
                    run.detail.eq(iterate.detail),
                ]
                with m.If(iterate.done):
                    m.next = "IDLE"
            with m.State("LOAD"):
                with m.If(~learner.busy):
                    m.d.comb += run.finish.eq(1)
                    with m.If(~run.failed):
                        m.d.sync += missing.eq(missing & ~sets)
                    m.next = "IDLE"
            with m.State("STORE"):
                with m.If(run.replied & ~learner.busy):
                    m.d.comb += run.finish.eq(1)
                    m.next = "IDLE"

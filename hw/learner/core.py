"""The learner's core: the replay core with a learner behind it, and the commands of both.

A command of the replay core passes without latency. An iteration of LEARN is the replay core's
SAMPLE, whose batch goes to the learner, an UPDATE with what the learner sends back, and an INSERT.
LOAD and STORE move a beat of the parameter image as fast as the learner does.
"""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import connect, flipped

from hw.learner.capture import Capture
from hw.learner.commands import COMMANDS, LEARNER_STATUS, LearnOpcode
from hw.learner.decode import Decode
from hw.learner.iterate import LEARNER_FLAGS, LEARNER_NUMBERS, LEARNER_PULSES, Iterate
from hw.learner.learner import Learner
from hw.replay.commands import REPLAY_STATUS, Error
from hw.replay.core import ReplayCore
from hw.shell.ports import core_members, read_port, share, write_port
from hw.shell.program import COMMAND_BYTES

__all__ = ["LearnerCore"]


class LearnerCore(wiring.Component):
    """The core of the kernels ``dqn`` and ``ddpg``.

    An error inside an iteration ends the command; the iterations before it stand. With NUMBER
    nothing was learned from the batch, with DIVERGED neither priorities nor parameters have
    changed.

    Parameters
    ----------
    config : LearnerKernelConfig

    Members
    -------
    As ``hw.replay.core.ReplayCore``; ``status`` is LEARNER_STATUS.
    """

    POINTERS = ReplayCore.POINTERS
    STATUS = LEARNER_STATUS

    def __init__(self, config):
        self.config = config
        width = config.engine.data_width
        super().__init__(core_members(width, LEARNER_STATUS, ["storage"]))

    def make_learner(self):
        return Learner(self.config.learner, self.config.engine.data_width)

    def elaborate(self, platform):
        m = Module()
        width = self.config.engine.data_width
        m.submodules.replay = replay = ReplayCore(self.config.replay_kernel)
        m.submodules.learner = learner = self.make_learner()
        m.submodules.decode = decode = Decode(self.config)
        m.submodules.iterate = iterate = Iterate(self.config)
        m.submodules.capture = capture = Capture(width, self.config.learner.batch)

        raw = Signal(8 * COMMAND_BYTES, reset_less=True)
        learn = data.View(COMMANDS[LearnOpcode.LEARN].shape, raw)
        image = data.View(COMMANDS[LearnOpcode.LOAD].shape, raw)
        state = data.View(REPLAY_STATUS.shape, replay.status)
        shared = 8 * LEARNER_STATUS.offsets["reserved"]
        m.d.comb += [
            decode.raw.eq(raw),
            decode.capacity.eq(state.capacity),
            decode.granules.eq(state.granules),
            decode.image_beats.eq(learner.image_beats),
            decode.operands_bytes.eq(self.operands_bytes),
            decode.results_bytes.eq(self.results_bytes),
            iterate.raw.eq(raw),
            iterate.advance.eq(decode.advance),
            iterate.operands.eq(self.operands),
            iterate.results.eq(self.results),
            iterate.status.eq(replay.status),
            self.status.eq(Cat(replay.status[:shared], C(0, 32), iterate.iterations)),
        ]

        m.d.comb += [
            learner.step.eq(iterate.step),
            learner.batch.eq(learn.batch),
            learner.kinds.eq(image.kinds),
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
        ]
        connect(m, capture.records, learner.records)
        connect(m, learner.td, capture.td)

        # Inside a LEARN the replay core's operands and results are checked already, or not there.
        learning, loading, storing = Signal(), Signal(), Signal()
        everything = C(0xFFFF_FFFF, 32)
        m.d.comb += [
            replay.operands.eq(self.operands),
            replay.results.eq(self.results),
            replay.storage.eq(self.storage),
            replay.operands_bytes.eq(Mux(learning, everything, self.operands_bytes)),
            replay.results_bytes.eq(Mux(learning, everything, self.results_bytes)),
        ]
        image_read, image_write = read_port(width).create(), write_port(width).create()
        connect(m, replay.host_read, capture.replay_read)
        connect(m, replay.host_write, capture.replay_write)
        for name in ("storage_read", "storage_write"):
            connect(m, getattr(replay, name), flipped(getattr(self, name)))
        reads = [
            (~iterate.reading & ~loading, capture.read),
            (iterate.reading, iterate.read),
            (loading, image_read),
        ]
        writes = [
            (~learning & ~storing, capture.write),
            (learning, iterate.write),
            (storing, image_write),
        ]
        share(m, self.host_read, reads)
        share(m, self.host_write, writes)

        self._image(m, learner, image, image_read, image_write)
        modes, ports = (learning, loading, storing), (image_read, image_write)
        self._execute(m, replay, learner, decode, iterate, raw, modes, ports)
        return m

    def _image(self, m, learner, image, read, write):
        """The parameter image: the learner's beats are those of operands and results."""
        source, destination = Signal(64), Signal(64)
        m.d.comb += [
            source.eq(self.operands + image.source),
            destination.eq(self.results + image.destination),
            Value.cast(read.request.payload).eq(Cat(source, learner.image_beats)),
            Value.cast(write.request.payload).eq(Cat(destination, learner.image_beats)),
            learner.image_i.payload.eq(read.data.payload),
            learner.image_i.valid.eq(read.data.valid),
            read.data.ready.eq(learner.image_i.ready),
            write.data.payload.eq(learner.image_o.payload),
            write.data.valid.eq(learner.image_o.valid),
            learner.image_o.ready.eq(write.data.ready),
        ]

    def _execute(self, m, replay, learner, decode, iterate, raw, modes, ports):
        """A command is the replay core's, or decoded and executed here."""
        (learning, loading, storing), (read, write) = modes, ports
        layout = COMMANDS[LearnOpcode.LEARN]
        arriving = data.View(layout.shape, self.command.payload).opcode
        opcode = data.View(layout.shape, raw).opcode
        own = Signal()
        timer = Signal(range(Decode.LATENCY + 1))
        error, detail = Signal(32), Signal(32)
        m.d.comb += own.eq(Cat(arriving == o.value for o in LearnOpcode).any())

        with m.FSM() as fsm:
            m.d.comb += [
                learning.eq(fsm.ongoing("LEARN")),
                loading.eq(fsm.ongoing("LOAD") | fsm.ongoing("LOADING")),
                storing.eq(fsm.ongoing("STORE") | fsm.ongoing("STORING")),
                replay.command.payload.eq(
                    Mux(learning, iterate.command.payload, self.command.payload)
                ),
                iterate.command.ready.eq(replay.command.ready & learning),
                iterate.outcome.payload.eq(replay.outcome.payload),
                iterate.outcome.valid.eq(replay.outcome.valid & learning),
                self.outcome.p.error.eq(Mux(fsm.ongoing("PASS"), replay.outcome.p.error, error)),
                self.outcome.p.detail.eq(Mux(fsm.ongoing("PASS"), replay.outcome.p.detail, detail)),
            ]
            with m.State("IDLE"):
                m.d.comb += [
                    replay.command.valid.eq(self.command.valid & ~own),
                    self.command.ready.eq(own | replay.command.ready),
                ]
                m.d.sync += [raw.eq(self.command.payload), timer.eq(Decode.LATENCY), detail.eq(0)]
                with m.If(self.command.valid & own):
                    m.next = "DECODE"
                with m.Elif(self.command.valid & replay.command.ready):
                    m.next = "PASS"
            with m.State("PASS"):
                m.d.comb += [
                    self.outcome.valid.eq(replay.outcome.valid),
                    replay.outcome.ready.eq(self.outcome.ready),
                ]
                with m.If(replay.outcome.valid & self.outcome.ready):
                    m.next = "IDLE"
            with m.State("DECODE"):
                m.d.sync += [timer.eq(timer - 1), error.eq(decode.error)]
                with m.If(timer == 0):
                    with m.If(decode.error != Error.NONE):
                        m.next = "OUTCOME"
                    with m.Elif(opcode == LearnOpcode.LEARN.value):
                        m.d.comb += iterate.start.eq(1)
                        m.next = "LEARN"
                    with m.Elif(opcode == LearnOpcode.LOAD.value):
                        m.next = "LOAD"
                    with m.Else():
                        m.next = "STORE"
            with m.State("LEARN"):
                m.d.comb += [
                    replay.command.valid.eq(iterate.command.valid),
                    replay.outcome.ready.eq(iterate.outcome.ready),
                ]
                m.d.sync += [error.eq(iterate.error), detail.eq(iterate.detail)]
                with m.If(iterate.done):
                    m.next = "OUTCOME"
            with m.State("LOAD"):
                m.d.comb += [
                    read.request.valid.eq(1),
                    learner.load.eq(read.request.ready),
                ]
                with m.If(read.request.ready):
                    m.next = "LOADING"
            with m.State("LOADING"):
                with m.If(~learner.busy):
                    m.next = "OUTCOME"
            with m.State("STORE"):
                m.d.comb += [
                    write.request.valid.eq(1),
                    learner.store.eq(write.request.ready),
                ]
                with m.If(write.request.ready):
                    m.next = "STORING"
            with m.State("STORING"):
                m.d.comb += write.done.ready.eq(1)
                m.d.sync += error.eq(Mux(write.done.payload, Error.AXI, Error.NONE))
                with m.If(write.done.valid):
                    m.next = "OUTCOME"
            with m.State("OUTCOME"):
                m.d.comb += self.outcome.valid.eq(1)
                with m.If(self.outcome.ready):
                    m.next = "IDLE"

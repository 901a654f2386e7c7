"""A learner that learns nothing: as slow and as uneven as a real one, but quickly understood.

TD error of an experience: its reward, the low half of its bits xor that of ``clip``; a reward whose
exponent is the largest makes it NaN. Sums are checksums. The parameter image is a memory, seen
through a mask that every update turns by one bit and xors with its HYPERPARAMETERS. Action k is
number k of the observation, and so on in a circle, through that mask.
"""

from types import SimpleNamespace

import numpy as np
from amaranth import *
from amaranth.lib import wiring

from hw.learner.config import PARAMETER_SETS, LearnerKernelConfig
from hw.learner.contract import LearnerSignature
from hw.learner.core import LearnerCore
from hw.learner.parameters.parameter_image import sections
from hw.learner.records import action_granules, observation_granules, record_words
from hw.learner.samples.batch_memory import BatchMemory
from hw.stream.pack import Pack
from hw.stream.ram import Ram
from sim.model.learner.core import LearnerCore as Twin
from sim.model.program import ProgramTwin

__all__ = ["StandInCore", "StandInKernel"]

_NAN = 0x7FC0_0000
_FINITE = 0x3FFF_FFFF  #: bits of the sums, so that none is a NaN


class StandIn(wiring.Component):
    """It meets ``hw.learner.contract``."""

    def __init__(self, config, data_width):
        self.config, self.data_width = config, data_width
        # The parameter set of every beat of the whole image.
        self.set_of = [
            PARAMETER_SETS.index(s.parameter_set)
            for s in sections(config)
            for _ in range(s.size * 8 // data_width)
        ]
        super().__init__(
            LearnerSignature(
                batch=config.batch,
                data_width=data_width,
                parameter_sets=len(config.parameter_sets),
                record=config.step_record,
            )
        )

    def elaborate(self, platform):
        m = Module()
        # A pace that changes: 16 bits of a maximal linear feedback shift register.
        pace = Signal(16, init=0xACE1)
        m.d.sync += pace.eq(Cat(pace[1:], pace[0] ^ pace[2] ^ pace[3] ^ pace[5]))
        training, moving = Signal(), Signal()
        m.d.comb += self.control.busy.eq(self.control.update | training | moving)
        mask = Signal(32)
        m.submodules.batch_memory = batch = BatchMemory(self.config, self.data_width)
        self._train(m, batch, pace)
        self._act(m, batch, pace, mask)
        self._update(m, pace, training, mask)
        self._image(m, pace, moving, mask)
        return m

    def _train(self, m, batch, pace):
        hold, control = Signal(), self.control
        m.d.comb += [
            hold.eq(pace[:2] == 0),
            batch.records.payload.eq(self.records.payload),
            batch.records.valid.eq(self.records.valid & ~hold),
            self.records.ready.eq(batch.records.ready & ~hold),
            batch.begin.eq(control.begin),
            batch.batch.eq(self.batch),
            batch.take.eq(control.train | self.act),
            batch.acting.eq(self.acting),
            *(
                getattr(control, name).eq(getattr(batch, name))
                for name in ("loaded", "bad", "bad_index", "weight")
            ),
        ]
        # Every lane's copy has all experiences; that of the first will do.
        reward_at = 4 + record_words(self.config)["reward"][0]
        base, left = Signal(range(batch.depth + 1)), Signal.like(self.batch)
        word, wait = batch.words[0][0], Signal(range(8))
        index, td = Signal(32), Signal(32)
        m.d.comb += Value.cast(self.td.payload).eq(Cat(index, td))
        with m.FSM():
            with m.State("IDLE"):
                with m.If(control.train):
                    m.d.sync += [
                        base.eq(0),
                        left.eq(self.batch),
                        control.trained.eq(0),
                        control.diverged.eq(0),
                        control.loss.eq(0),
                        control.td_sum.eq(0),
                        control.value.eq(0),
                    ]
                    m.next = "HEADER"
            with m.State("HEADER"):
                m.d.comb += batch.address[0].eq(base)
                m.next = "INDEX"
            with m.State("INDEX"):
                m.d.comb += batch.address[0].eq(base + reward_at)
                m.d.sync += [index.eq(word), wait.eq(pace)]
                m.next = "REWARD"
            with m.State("REWARD"):
                m.d.sync += td.eq(
                    Mux(word[23:31] == 0xFE, _NAN, word ^ control.hyperparameters.clip[:16])
                )
                m.next = "WAIT"
            with m.State("WAIT"):
                m.d.sync += wait.eq(wait - 1)
                with m.If(wait == 0):
                    m.next = "SEND"
            with m.State("SEND"):
                m.d.comb += self.td.valid.eq(1)
                with m.If(self.td.ready):
                    with m.If((td == _NAN) & ~control.diverged):
                        m.d.sync += [control.diverged.eq(1), control.diverged_index.eq(index)]
                    m.d.sync += [
                        control.loss.eq((Cat(control.loss[-1], control.loss[:-1]) ^ td) & _FINITE),
                        control.td_sum.eq((control.td_sum + td) & _FINITE),
                        control.value.eq((control.value + index) & _FINITE),
                        control.saturations[1].eq(control.saturations[1] + 1),
                        left.eq(left - 1),
                        base.eq(base + 4 * batch.size),
                    ]
                    m.next = "HEADER"
                    with m.If(left == 1):
                        m.d.sync += wait.eq(pace)
                        m.next = "GRADIENTS"
            with m.State("GRADIENTS"):
                with m.If((pace[:5] == 0) | pace[5]):
                    m.d.sync += [
                        control.trained.eq(1),
                        control.saturations[2].eq(control.saturations[2] + 1),
                    ]
                    m.next = "IDLE"

    def _act(self, m, batch, pace, mask):
        config, granules = self.config, observation_granules(self.config)
        numbers = 4 * action_granules(config)
        m.submodules.pack = pack = Pack(32, 1, self.data_width // 32)
        base, left = Signal(range(batch.depth + 1)), Signal.like(self.batch)
        number, at = Signal(range(numbers)), Signal(range(config.observation))
        last = number == numbers - 1
        m.d.comb += [
            self.actions.payload.eq(pack.o.p.data),
            self.actions.valid.eq(pack.o.valid),
            pack.o.ready.eq(self.actions.ready),
            pack.i.p.data.eq(Mux(number < config.action, batch.words[0][0] ^ mask, 0)),
            pack.i.p.count.eq(1),
            pack.i.p.last.eq(last & (left == 1)),
        ]
        with m.FSM():
            with m.State("IDLE"):
                m.d.sync += [left.eq(self.batch), base.eq(0), number.eq(0), at.eq(0)]
                with m.If(self.act):
                    m.next = "SEE"
            with m.State("SEE"):
                m.d.comb += batch.address[0].eq(base + at)
                with m.If(pace[0]):
                    m.next = "DO"
            with m.State("DO"):
                m.d.comb += [batch.address[0].eq(base + at), pack.i.valid.eq(1)]
                with m.If(pack.i.ready):
                    m.d.sync += [
                        number.eq(Mux(last, 0, number + 1)),
                        at.eq(Mux(last | (at == config.observation - 1), 0, at + 1)),
                    ]
                    m.next = "SEE"
                    with m.If(last):
                        m.d.sync += [base.eq(base + 4 * granules), left.eq(left - 1)]
                        with m.If(left == 1):
                            m.next = "IDLE"

    def _update(self, m, pace, training, mask):
        step = Value.cast(self.control.hyperparameters)
        words = [step.word_select(k, 32) for k in range(len(step) // 32)]
        with m.If(self.control.update):  # it is a pulse: another one is seen in the mask
            m.d.sync += [training.eq(1), mask.eq(mask ^ training)]
        with m.Elif(training & self.control.trained & (pace[:3] == 0)):
            turned = Cat(mask[-1], mask[:-1])
            for word in words:
                turned = turned ^ word
            m.d.sync += [
                training.eq(0),
                mask.eq(turned),
                self.control.saturations[0].eq(self.control.saturations[0] + 1),
            ]

    def _image(self, m, pace, moving, mask):
        count = len(self.set_of)
        m.submodules.image = image = Ram(width=self.data_width, depth=count)
        at, loading = Signal(range(count + 1)), Signal()
        sets = Signal(len(PARAMETER_SETS))
        masks = mask.replicate(self.data_width // 32)
        wanted = Signal()
        with m.Switch(at):
            for beat, number in enumerate(self.set_of):
                with m.Case(beat):
                    m.d.comb += wanted.eq(sets[number])
        m.d.comb += [
            image.read_address.eq(at),
            image.write_address.eq(at),
            image.write_data.eq(self.image_i.payload ^ masks),
            self.image_o.payload.eq(image.read_data ^ masks),
        ]
        with m.FSM() as fsm:
            m.d.comb += moving.eq(~fsm.ongoing("IDLE"))
            with m.State("IDLE"):
                m.d.sync += [at.eq(0), loading.eq(self.load), sets.eq(self.sets)]
                with m.If(self.load | self.store):
                    m.next = "BEAT"
            with m.State("BEAT"):
                with m.If(at == count):
                    m.next = "IDLE"
                with m.Elif(~wanted):
                    m.d.sync += at.eq(at + 1)
                with m.Elif(pace[0]):
                    m.next = "MOVE"
            with m.State("MOVE"):
                m.d.comb += [
                    self.image_i.ready.eq(loading),
                    self.image_o.valid.eq(~loading),
                    image.write_enable.eq(loading & self.image_i.valid),
                ]
                with m.If(Mux(loading, self.image_i.valid, self.image_o.ready)):
                    m.d.sync += at.eq(at + 1)
                    m.next = "BEAT"


class StandInModel:
    """The same for ``sim.model.learner.core.LearnerCore``."""

    def __init__(self, config):
        self.config, self.sections, self.mask = config, sections(config), 0
        last = self.sections[-1]
        self.image = np.zeros((last.offset + last.size) // 4, np.uint32)

    def train(self, experiences, indexes, weight, step):
        bits = np.ascontiguousarray(experiences["reward"]).view(np.uint32)
        td = bits ^ (step["clip"].view(np.uint32) & np.uint32(0xFFFF))
        diverged = bits >> 23 & 0xFF == 0xFE
        td = np.where(diverged, np.uint32(_NAN), td)
        loss = td_sum = value = 0
        for error, index in zip(td.tolist(), np.asarray(indexes).tolist(), strict=True):
            loss = ((loss << 1 | loss >> 31) & 0xFFFF_FFFF ^ error) & _FINITE
            td_sum, value = (td_sum + error) & _FINITE, (value + index) & _FINITE
        if not diverged.any():
            words = np.frombuffer(step.tobytes(), "<u4")
            turned = (self.mask << 1 | self.mask >> 31) & 0xFFFF_FFFF
            self.mask = turned ^ int(np.bitwise_xor.reduce(words))
        loss, td_sum, value = np.array([loss, td_sum, value], np.uint32).view(np.float32)
        return SimpleNamespace(
            td=td.view(np.float32),
            loss=loss,
            td_sum=td_sum,
            value=value,
            weight=np.max(weight),
            diverged=int(np.argmax(diverged)) if diverged.any() else None,
            saturations=(int(not diverged.any()), len(td), 1),
        )

    def act(self, observations):
        seen = np.ascontiguousarray(observations, "<f4").view(np.uint32)
        numbers = np.arange(self.config.action) % self.config.observation
        return (seen[:, numbers] ^ np.uint32(self.mask)).view(np.float32)

    def _places(self, sets):
        parts = [
            np.arange(s.offset, s.offset + s.size, 4) // 4
            for s in self.sections
            if s.parameter_set in sets
        ]
        return np.concatenate(parts)

    def load(self, numbers, sets):
        self.image[self._places(sets)] = numbers ^ np.uint32(self.mask)

    def store(self, sets):
        return self.image[self._places(sets)] ^ np.uint32(self.mask)


class StandInCore(LearnerCore):
    def make_learner(self):
        return StandIn(self.config.learner, self.config.engine.data_width)


class StandInKernel(ProgramTwin):
    """Twin of a kernel around ``StandInCore``."""

    def make_core(self, description):
        return Twin(LearnerKernelConfig.from_dict(description.config), StandInModel)

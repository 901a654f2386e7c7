"""An ACT of the learner for all environments: observations to the network, its outputs back.

A word a clock either way. ::

    SEND -> LOADED -> outputs leave as they come
"""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hw.learner.network.outputs import pack_numbers
from hw.learner.records import WORDS, action_granules, observation_granules
from hw.stream.split import Split

__all__ = ["Acting"]


class Acting(wiring.Component):
    """Sends the observations of all environments in order, each padded to granules, and passes the
    outputs without their padding.

    Parameters
    ----------
    config : LearnerKernelConfig

    Members
    -------
    start : In(1)
        A pulse: begin. Not before all outputs of the ACT before have left.
    done : Out(1)
        A pulse: all observations are loaded, outputs follow.
    sends : Out(1), row, word : Out, seen : In(32)
        While ``sends``: ``seen`` is word ``word`` of the observation of environment ``row``.
    acting, network_begin, act : Out(1), loaded : In(1)
        As in ``LearnerSignature``, ``network_begin`` as its ``control.begin``.
    observations : Out(stream of beats), outputs : In(stream of beats)
        To and from the learner.
    values : Out(stream of 32 bits)
        The outputs, ``action`` numbers for each environment.
    """

    def __init__(self, config):
        self.config, environments = config, config.play.environments
        self.words = WORDS * observation_granules(config.learner)
        self.numbers = WORDS * action_granules(config.learner)
        beats = stream.Signature(unsigned(config.engine.data_width))
        super().__init__(
            {
                "start": In(1),
                "done": Out(1),
                "sends": Out(1),
                "row": Out(range(environments)),
                "word": Out(range(self.words)),
                "seen": In(32),
                **dict.fromkeys(("acting", "network_begin", "act"), Out(1)),
                "loaded": In(1),
                "observations": Out(beats),
                "outputs": In(beats),
                "values": Out(stream.Signature(unsigned(32))),
            }
        )

    def elaborate(self, platform):
        m = Module()
        learner, environments = self.config.learner, self.config.play.environments
        m.submodules.outputs = split = Split(32, len(self.outputs.payload) // 32)
        connect(m, flipped(self.outputs), split.i)
        pack = pack_numbers(m, self.observations)
        place, acting, waits = Signal(range(self.numbers)), Signal(), Signal()
        last_word, last_row = Signal(), Signal()
        m.d.comb += [
            last_word.eq(self.word == self.words - 1),
            last_row.eq(self.row == environments - 1),
            pack.i.p.data.eq(Mux(self.word < learner.observation, self.seen, 0)),
            pack.i.p.last.eq(last_word & last_row),
            pack.i.valid.eq(self.sends),
            self.network_begin.eq(self.start),
            self.acting.eq(self.start | acting),
            self.done.eq(waits & self.loaded),
            self.act.eq(self.done),
            split.count.payload.eq(environments * self.numbers),
            split.count.valid.eq(acting),
            self.values.payload.eq(split.o.p.data),
            self.values.valid.eq(split.o.valid & (place < learner.action)),
            split.o.ready.eq(self.values.ready | (place >= learner.action)),
        ]
        with m.If(self.start):
            m.d.sync += [acting.eq(1), self.sends.eq(1)]
        with m.If(pack.i.valid & pack.i.ready):
            m.d.sync += self.word.eq(Mux(last_word, 0, self.word + 1))
            with m.If(last_word):
                m.d.sync += self.row.eq(Mux(last_row, 0, self.row + 1))
                with m.If(last_row):
                    m.d.sync += [self.sends.eq(0), waits.eq(1)]
        with m.If(self.done):
            m.d.sync += waits.eq(0)
        with m.If(split.o.valid & split.o.ready):
            m.d.sync += place.eq(Mux(place == self.numbers - 1, 0, place + 1))
            with m.If(split.o.p.last):
                m.d.sync += acting.eq(0)
        return m

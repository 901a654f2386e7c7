"""Holds the experiences that a vector step completes until they are stored, all at once.

A word a clock enters, a beat a clock leaves. An INSERT says first how many experiences follow, so
all wait here. ::

    words -> granules -> queue -> beats
"""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hw.learner.play.windows import WINDOW
from hw.learner.records import WORDS, record_granules
from hw.replay.records import GRANULE_BYTES
from hw.stream.pack import Pack
from hw.stream.queue import Queue

__all__ = ["ExperienceQueue"]


class ExperienceQueue(wiring.Component):
    """A queue with room for all experiences that a vector step may complete.

    Parameters
    ----------
    config : LearnerKernelConfig

    Members
    -------
    keep : In(1)
        If 0, words that come are dropped. It changes only while ``settled``.
    i : In(stream of WINDOW)
        Words of experiences.
    count : Out(range(most + 1))
        Experiences in the queue, steady while ``taking``, 0 two clocks later.
    settled : Out(1)
        Every experience whose last word came is in the queue.
    taking : In(1)
        From ``settled`` until all beats have left: beats leave, and no word comes.
    empty : Out(1)
        All beats have left.
    o : Out(stream of beats)
        While ``taking``: the experiences, dense, each of whole granules; zeros fill the last beat.
    """

    def __init__(self, config):
        self.config = config
        self.granules = record_granules(config.learner)
        self.most = config.play.environments * config.play.longest
        super().__init__(
            {
                "keep": In(1),
                "i": In(stream.Signature(WINDOW)),
                "count": Out(range(self.most + 1)),
                "settled": Out(1),
                "taking": In(1),
                "empty": Out(1),
                "o": Out(stream.Signature(unsigned(config.engine.data_width))),
            }
        )

    def elaborate(self, platform):
        m = Module()
        width, depth = 8 * GRANULE_BYTES, self.most * self.granules
        m.submodules.words = words = Pack(32, 1, WORDS)
        m.submodules.queue = queue = Queue(unsigned(width), depth, "auto")
        m.submodules.beats = beats = Pack(width, 1, self.config.engine.data_width // width)
        entered, left = Signal(), Signal()
        # Experiences on their way to the queue; granules in it.
        coming, held = Signal(3), Signal(range(depth + 1))
        came, took, leaving = Signal(), Signal(), Signal()
        m.d.comb += [
            words.i.p.data.eq(self.i.p.word),
            words.i.p.count.eq(1),
            words.i.p.last.eq(self.i.p.last),
            words.i.valid.eq(self.i.valid & self.keep),
            self.i.ready.eq(words.i.ready | ~self.keep),
            came.eq(words.i.valid & words.i.ready & self.i.p.last),
            queue.i.payload.eq(words.o.p.data),
            queue.i.valid.eq(words.o.valid),
            words.o.ready.eq(queue.i.ready),
            entered.eq(queue.i.valid & queue.i.ready),
            left.eq(queue.o.valid & queue.o.ready),
            beats.i.p.data.eq(queue.o.payload),
            beats.i.p.count.eq(1),
            beats.i.p.last.eq(held == 1),
            beats.i.valid.eq(queue.o.valid & self.taking),
            queue.o.ready.eq(beats.i.ready & self.taking),
            self.o.payload.eq(beats.o.p.data),
            self.o.valid.eq(beats.o.valid),
            beats.o.ready.eq(self.o.ready),
            self.settled.eq(coming == 0),
            self.empty.eq((held == 0) & ~leaving),
        ]
        m.d.sync += [
            coming.eq(coming + came - (entered & words.o.p.last)),
            held.eq(held + entered - left),
        ]
        with m.If(entered & words.o.p.last):
            m.d.sync += self.count.eq(self.count + 1)
        with m.If(left):
            m.d.sync += leaving.eq(1)
        with m.Elif(self.o.valid & self.o.ready & beats.o.p.last):
            m.d.sync += leaving.eq(0)
        m.d.sync += took.eq(self.taking)
        with m.If(took & ~self.taking):
            m.d.sync += self.count.eq(0)
        return m

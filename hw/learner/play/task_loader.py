"""Brings the words of PROGRAM into the machine, and checks the image.

A word a clock. The machine takes what its image's headers announce, whatever the command brings:
words beyond the image are dropped, and zeros complete one that ends early. ::

    COMMAND -> WORDS -> (ZEROS) -> SETTLE
"""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.enum import Enum
from amaranth.lib.wiring import In, Out, connect, flipped

from hw.environment.machine_image import HEADER, Section
from hw.environment.machine_ports import WORD_BITS
from hw.environment.task_program import REGISTERS
from hw.learner.play.commands import MOST_WORDS
from hw.stream.split import Split

__all__ = ["TaskLoader"]


class _Mode(Enum, shape=3):
    IDLE = 0
    COMMAND = 1
    WORDS = 2
    ZEROS = 3
    SETTLE = 4


class TaskLoader(wiring.Component):
    """Gives the machine a LOAD and the words of an image.

    An image is right if it has whole sections, all seven, with the sizes that the network
    has: ``hw.learner.play.play_contract``, PROGRAM.

    Parameters
    ----------
    observation : int
        Numbers of an observation.
    data_width : int
        Bits of a beat, a multiple of 64.

    Members
    -------
    start : In(1), count : In(range(MOST_WORDS + 1))
        ``start``, a pulse: load ``count`` words. ``count`` is steady until ``done``.
    beats : In(stream of beats)
        The words, each in 64 bits.
    load : Out(1), ready : In(1)
        LOAD, for the machine, which is ready for it, and again when it has taken the image.
    o : Out(stream of 36 bits)
        The image.
    done : Out(1)
        A pulse: the machine has taken an image. The outputs below are valid in this clock.
    wrong : Out(1), position : Out(range(MOST_WORDS + 1))
        The image is not right; its first wrong word.
    states : Out(range(REGISTERS + 1))
        Words of the section STATE.
    """

    def __init__(self, observation, data_width):
        self.observation, self.data_width = observation, data_width
        super().__init__(
            {
                "start": In(1),
                "count": In(range(MOST_WORDS + 1)),
                "beats": In(stream.Signature(unsigned(data_width))),
                "load": Out(1),
                "ready": In(1),
                "o": Out(stream.Signature(unsigned(WORD_BITS))),
                "done": Out(1),
                "wrong": Out(1),
                "position": Out(range(MOST_WORDS + 1)),
                "states": Out(range(REGISTERS + 1)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.split = split = Split(64, self.data_width // 64)
        connect(m, flipped(self.beats), split.i)
        mode, index, counted = Signal(_Mode), Signal.like(self.count), Signal()
        # Of the image: whether it has ended, a header is due, and words of the section left.
        over, in_section, left, more = Signal(), Signal(), Signal(8), Signal()
        seen = Signal(len(Section))
        header, takes, word = Signal(HEADER), Signal(), Signal(WORD_BITS)
        m.d.comb += [
            split.count.payload.eq(self.count),
            split.count.valid.eq((mode != _Mode.IDLE) & ~counted),
            self.load.eq(mode == _Mode.COMMAND),
            word.eq(Mux(mode == _Mode.WORDS, split.o.p.data[:WORD_BITS], 0)),
            header.eq(word),
            self.o.payload.eq(word),
            self.o.valid.eq(
                ~over & ((mode == _Mode.ZEROS) | (split.o.valid & (mode == _Mode.WORDS)))
            ),
            split.o.ready.eq((mode == _Mode.WORDS) & (over | self.o.ready)),
            takes.eq(self.o.valid & self.o.ready),
        ]
        with m.If(split.count.valid & split.count.ready):
            m.d.sync += counted.eq(1)

        def wrong(position):
            with m.If(~self.wrong):
                m.d.sync += [self.wrong.eq(1), self.position.eq(position)]

        with m.If(takes):
            m.d.sync += left.eq(left - 1)
            with m.If(~in_section):
                m.d.sync += [left.eq(header.last - header.first), more.eq(header.more)]
                m.d.sync += [in_section.eq(1), seen.eq(seen | (1 << header.section))]
                with m.If(header.section == Section.STATE):
                    m.d.sync += self.states.eq(header.last - header.first + 1)
                with m.If(self._bad(header)):
                    wrong(index)
            with m.Elif(left == 0):
                m.d.sync += [in_section.eq(0), over.eq(~more)]
        with m.Switch(mode):
            with m.Case(_Mode.IDLE):
                m.d.sync += [over.eq(0), in_section.eq(0), seen.eq(0), counted.eq(0)]
                m.d.sync += index.eq(0)
                with m.If(self.start):
                    m.d.sync += [self.wrong.eq(0), mode.eq(_Mode.COMMAND)]
            with m.Case(_Mode.COMMAND):
                with m.If(self.ready):
                    m.d.sync += mode.eq(_Mode.WORDS)
            with m.Case(_Mode.WORDS):
                with m.If(split.o.valid & split.o.ready):
                    m.d.sync += index.eq(index + 1)
                    with m.If(over):
                        wrong(index)
                    with m.If(split.o.p.last):
                        m.d.sync += mode.eq(_Mode.ZEROS)
            with m.Case(_Mode.ZEROS):
                with m.If(over):
                    m.d.sync += mode.eq(_Mode.SETTLE)
                with m.If(~over | ~seen.all()):
                    wrong(self.count)
            with m.Default():  # SETTLE
                m.d.comb += self.done.eq(self.ready)
                with m.If(self.done):
                    m.d.sync += mode.eq(_Mode.IDLE)
        return m

    def _bad(self, header):
        """Whether a section's header is wrong."""
        size, section = header.last - header.first, header.section
        sizes = {
            Section.BEGUN: self.observation,
            Section.STEPPED: self.observation + 1,
            Section.ACTIONS: 1,
        }
        return (
            (section == len(Section))
            | (header.last < header.first)
            | Cat((section == kind) & (size != words - 1) for kind, words in sizes.items()).any()
            | ((section == Section.STATE) & (size >= REGISTERS))
        )

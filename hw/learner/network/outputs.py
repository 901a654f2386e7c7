"""Outputs of ACT: lanes come side by side, observations leave one after the other.

One number a clock leaves; ``latency`` says when the last one does.
"""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hw.comparison import below
from hw.learner.block.ports import word_layout
from hw.learner.records import WORDS, action_granules
from hw.stream.pack import Pack
from hw.stream.ram import Ram, style_of

__all__ = ["Outputs", "pack_numbers"]


def pack_numbers(m, o):
    """Adds to ``m`` a ``Pack`` that collects 32-bit numbers, which come one at a time, into beats,
    and wires its output to the stream ``o``. Returns the ``Pack``, whose input is not wired yet."""
    m.submodules.pack = pack = Pack(32, 1, len(o.payload) // 32)
    m.d.comb += [
        pack.i.p.count.eq(1),
        o.payload.eq(pack.o.p.data),
        o.valid.eq(pack.o.valid),
        pack.o.ready.eq(o.ready),
    ]
    return pack


class Outputs(wiring.Component):
    """Sends the outputs of an ACT in the order of the batch. A sample here is one observation of
    each lane: observation k is lane ``k mod lanes`` of sample ``k // lanes``. Lanes of the last
    sample that have no observation are dropped.

    Parameters
    ----------
    config : LearnerConfig
    shape : BlockShape
        The layer with these outputs. The first ``config.action`` are sent: free ones come last. Its
        ``output_word`` is a power of two.
    data_width : int
        Bits of a beat.

    Attributes
    ----------
    SAMPLES : int
        The most samples that may have begun and not yet left.
    numbers : int
        Numbers that leave for each observation: ``config.action``, and zeros up to whole granules.
    latency : int
        Clocks from the last output to the last beat, for a batch of one sample with all lanes in
        use.

    Members
    -------
    i : In(word_layout)
        Outputs of a sample in words, in order, all lanes side by side; one group.
    begun : In(1), room : Out(1)
        ``begun``, a pulse: the last layer begins a sample. ``room``: it may begin one
        (``docs/flow_control.md``).
    start : In(1), count : In(range(config.batch + 1))
        ``start``, a pulse: ``count`` observations follow. It comes when all outputs of the batch
        before have left.
    o : Out(stream.Signature(data_width))
        ``numbers`` binary32 numbers for each observation, one observation directly after the
        other; zeros fill the last beat.
    """

    SAMPLES = 4

    def __init__(self, config, shape, data_width):
        self.config, self.shape, self.data_width = config, shape, data_width
        self.numbers = WORDS * action_granules(config)
        self.latency = self.latency_of(config)
        number, words = config.arithmetic.shape("activation"), shape.output_words
        super().__init__(
            {
                "i": In(word_layout(number, words, 1, config.lanes, shape.output_word)),
                "begun": In(1),
                "room": Out(1),
                "start": In(1),
                "count": In(range(config.batch + 1)),
                "o": Out(stream.Signature(unsigned(data_width))),
            }
        )

    @staticmethod
    def latency_of(config):
        """``latency`` of the ``Outputs`` of a LearnerConfig."""
        walk = WORDS * action_granules(config) * config.lanes
        return 1 + walk + config.arithmetic.to_float_latency + Pack.LATENCY

    def elaborate(self, platform):
        m = Module()
        lanes, shape, numbers = self.config.lanes, self.shape, self.numbers
        depth, together = self.SAMPLES * shape.output_words, shape.output_word
        lane, place, left = Signal(range(lanes)), Signal(range(numbers)), Signal.like(self.count)
        came, freed = Signal(), Signal()
        write_base, read_base = (
            self._base(m, depth, last, name=name)
            for name, last in (("write", came), ("read", freed))
        )
        used, arrived = Signal(range(self.SAMPLES + 1)), Signal(range(self.SAMPLES + 1))
        m.d.comb += [
            came.eq(self.i.valid & (self.i.index == shape.output_words - 1)),
            self.room.eq(used != self.SAMPLES),
        ]
        m.d.sync += [used.eq(used + self.begun - freed), arrived.eq(arrived + came - freed)]

        # The walk: all numbers of a lane, then the next lane.
        s1_valid = Signal()
        s1_last, s1_inside = Signal(reset_less=True), Signal(reset_less=True)
        s1_lane = Signal.like(lane, reset_less=True)
        s1_place = Signal(range(together), reset_less=True)
        advance, taken, step, ends = Signal(), Signal(), Signal(), Signal()
        m.d.comb += [
            advance.eq(~s1_valid | taken),
            step.eq(advance & (arrived != 0)),
            ends.eq(step & (place == numbers - 1)),
            freed.eq(ends & ((lane == lanes - 1) | (left == 1))),
        ]
        with m.If(step):
            m.d.sync += place.eq(Mux(ends, 0, place + 1))
        with m.If(ends):
            m.d.sync += [lane.eq(Mux(freed, 0, lane + 1)), left.eq(left - 1)]
        with m.If(self.start):
            m.d.sync += left.eq(self.count)
        with m.If(advance):
            m.d.sync += [
                s1_valid.eq(step),
                s1_inside.eq(below(place, self.config.action)),
                s1_lane.eq(lane),
                s1_place.eq(place),
                s1_last.eq(ends & (left == 1)),
            ]

        values = self.i.value[0].as_value()
        number = Signal(len(values) // (lanes * together))
        bits = together.bit_length() - 1  # of a number's place in its word
        m.submodules.samples = ram = Ram(width=len(values), depth=depth, style=style_of(depth))
        m.d.comb += [
            ram.write_enable.eq(self.i.valid),
            ram.write_address.eq(write_base + self.i.index),
            ram.write_data.eq(values),
            ram.read_enable.eq(advance),
            ram.read_address.eq(read_base + place[bits:]),
            number.eq(
                Mux(
                    s1_inside,
                    ram.read_data.word_select(Cat(s1_place[:bits], s1_lane), len(number)),
                    0,
                )
            ),
            taken.eq(self._send(m, s1_valid, number, s1_last)),
        ]
        return m

    def _base(self, m, depth, last, name):
        """First address of the slot that is filled."""
        base = Signal(range(depth), name=f"{name}_base")
        with m.If(last):
            words = self.shape.output_words
            m.d.sync += base.eq(Mux(base == depth - words, 0, base + words))
        return base

    def _send(self, m, valid, number, last):
        """Sends activations as binary32 in beats; returns whether this one is taken."""
        pack = pack_numbers(m, self.o)
        sink = pack.i.p.data, pack.i.p.last, pack.i.valid, pack.i.ready
        return self.config.arithmetic.stream_to_float(
            m, (number, last, valid), sink, name="to_float"
        )

"""Moves the parameter image between a stream of beats and the layers, section by section.

A beat holds whole words of every layer: words are 1, 2 or 4 numbers. One word a clock.
"""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hw.learner.config import PARAMETER_SETS
from hw.learner.parameters.parameter_image import sections

__all__ = ["ImageTransfer"]


class ImageTransfer(wiring.Component):
    """Moves the sections of ``parameter_image`` of the sets asked for, in the order of the image:
    one word of a layer a clock, two clocks more for each beat, and a few clocks for each section,
    also of sets that are not asked for.

    Parameters
    ----------
    config : LearnerConfig
    data_width : int
        Bits of a beat.

    Members
    -------
    load, store : In(1)
        A pulse begins to load, or to store, the sets whose bits in ``sets`` are 1. Not while
        ``busy``.
    sets : In(4)
        Bits in the order of ``PARAMETER_SETS``; read in the clock of the pulse.
    busy : Out(1)
        High from the clock after the pulse until the image has moved.
    i, o : streams of data_width bits
        The image to load; the image that is stored.
    parameter_set : Out(2)
        The set that moves, a number in the order of ``PARAMETER_SETS``.
    load_layer, store_layer : Out, layer_busy : In
        ``load``, ``store`` and ``busy`` of the ``LayerParameters`` of each layer: a bit a layer, in
        the image's order.
    words_<n> : Out(stream of words of image_word numbers of layer n)
        The words that layer n loads.
    stored_<n> : In(stream of words of image_word numbers of layer n)
        The words that layer n stores.
    """

    def __init__(self, config, data_width):
        self.config, self.data_width = config, data_width
        self.layers = [s for s in sections(config, PARAMETER_SETS[:1])]
        count = len(self.layers)
        members = {}
        for k, section in enumerate(self.layers):
            word = stream.Signature(unsigned(32 * section.layer.image_word))
            members |= {f"words_{k}": Out(word), f"stored_{k}": In(word)}
        super().__init__(
            {
                "load": In(1),
                "store": In(1),
                "sets": In(len(PARAMETER_SETS)),
                "busy": Out(1),
                "i": In(stream.Signature(unsigned(data_width))),
                "o": Out(stream.Signature(unsigned(data_width))),
                "parameter_set": Out(2),
                "load_layer": Out(count),
                "store_layer": Out(count),
                "layer_busy": In(count),
                **members,
            }
        )

    def elaborate(self, platform):
        m = Module()
        layers, width = self.layers, self.data_width
        at, sets = Signal(range(len(layers))), Signal(len(PARAMETER_SETS))
        storing, last_layer = Signal(), Signal()
        slots = Signal(range(max(s.size // 4 for s in layers) + 1))  # words left of the section
        padding = Signal.like(slots)  # how many of them, the last, no layer has
        beat, full = Signal(width, reset_less=True), Signal(range(width // 32 + 1))
        m.d.comb += [
            last_layer.eq(at == len(layers) - 1),
            self.o.payload.eq(beat),
        ]

        inside, move = Signal(), Signal()  # a word of the layer, not padding; a word moves
        per_beat = Signal.like(full)
        m.d.comb += inside.eq(slots > padding)
        with m.FSM() as fsm:
            m.d.comb += self.busy.eq(~fsm.ongoing("IDLE"))
            with m.State("IDLE"):
                m.d.sync += [
                    sets.eq(self.sets),
                    storing.eq(self.store),
                    at.eq(0),
                    self.parameter_set.eq(0),
                ]
                with m.If(self.load | self.store):
                    m.next = "SECTION"
            with m.State("SECTION"):
                m.d.sync += full.eq(0)
                with m.If(sets.bit_select(self.parameter_set, 1)):
                    with m.Switch(at):
                        for k, section in enumerate(layers):
                            with m.Case(k):
                                count = section.size // (4 * section.layer.image_word)
                                m.d.sync += [
                                    slots.eq(count),
                                    padding.eq(count - section.layer.image_words),
                                ]
                                m.d.comb += [
                                    self.store_layer[k].eq(storing),
                                    self.load_layer[k].eq(~storing),
                                ]
                    m.next = "MOVE"
                with m.Else():
                    m.next = "NEXT"
            with m.State("MOVE"):
                with m.If(slots == 0):
                    m.next = "LAST"
                with m.If(storing & (full == per_beat)):
                    m.next = "BEAT"
                with m.Elif(~storing & (full == 0) & (slots != 0)):
                    m.next = "BEAT"
                with m.Elif(move):
                    m.d.sync += [slots.eq(slots - 1), full.eq(Mux(storing, full + 1, full - 1))]
            with m.State("BEAT"):
                m.d.comb += [self.o.valid.eq(storing), self.i.ready.eq(~storing)]
                with m.If(Mux(storing, self.o.ready, self.i.valid)):
                    m.d.sync += full.eq(Mux(storing, 0, per_beat))
                    m.next = "MOVE"
            with m.State("LAST"):
                with m.If(~self.layer_busy.any()):
                    m.next = "NEXT"
            with m.State("NEXT"):
                m.d.sync += self.parameter_set.eq(self.parameter_set + 1)
                m.next = "SECTION"
                with m.If(self.parameter_set == len(PARAMETER_SETS) - 1):
                    m.d.sync += at.eq(at + 1)
                    with m.If(last_layer):
                        m.next = "IDLE"

        moving = fsm.ongoing("MOVE") & (slots != 0)
        sizes = sorted({32 * section.layer.image_word for section in layers})
        size, stored, there = Signal(range(len(sizes))), Signal(sizes[-1]), Signal()
        room, sends, takes = full != per_beat, Signal(), Signal()
        # Where the beat moves on; a word of the layer is on the other side, or there is none.
        moved = Array(Cat(beat, stored[:bits])[bits:] for bits in sizes)[size]
        m.d.comb += [
            per_beat.eq(Array(width // bits for bits in sizes)[size]),
            sends.eq(moving & ~storing & inside & (full != 0)),
            takes.eq(moving & storing & inside & room),
            move.eq(moving & Mux(storing, room, full != 0) & (~inside | there)),
        ]
        with m.Switch(at):
            for k, section in enumerate(layers):
                bits = 32 * section.layer.image_word
                words, given = getattr(self, f"words_{k}"), getattr(self, f"stored_{k}")
                m.d.comb += words.payload.eq(beat[:bits])
                with m.Case(k):
                    m.d.comb += [
                        size.eq(sizes.index(bits)),
                        words.valid.eq(sends),
                        given.ready.eq(takes),
                        there.eq(Mux(storing, given.valid, words.ready)),
                        stored.eq(Mux(storing & inside, given.payload, 0)),
                    ]
        with m.If(move):
            m.d.sync += beat.eq(moved)
        with m.If(fsm.ongoing("BEAT") & ~storing):
            m.d.sync += beat.eq(self.i.payload)
        return m

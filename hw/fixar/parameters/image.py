"""The parameter image between beats and the memories: LOAD and STORE, section by section.

A word of the memories a clock, or a beat if it is narrower; 1 clock more for each section, and a
few at the end.
"""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.errors import UsageError
from hw.fixar.parameters.layouts import WORD_BITS, word_width
from hw.fixar.parameters.memories import READ_LATENCY
from hw.learner.config import PARAMETER_SETS, stored_sets
from hw.learner.parameters.parameter_image import sections
from hw.shell.width_conversion import Downsizer, Upsizer
from hw.stream.delay import delay

__all__ = ["Image"]


class Image(wiring.Component):
    """Moves the sections of ``parameter_image`` for the requested sets, in its order.

    A set that the optimizer lacks is stored as zeros, and is ignored when loaded. Padding, which is
    beyond a layer's outputs or after its words, is stored as zeros and may be anything when loaded.

    Parameters
    ----------
    config : FixarConfig
    data_width : int
        Bits of a beat: 128, 256 or 512.

    Members
    -------
    load, store : In(1)
        One clock: begin to load, or to store, the sets of ``sets``. Not while ``busy``.
    sets : In(4)
        With ``load`` or ``store``: a bit for each set, online, target, first, second.
    busy : Out(1)
        High from the clock after a start until everything is written and all beats have left.
    i, o : streams of data_width bits
        The image to load; the image that is stored.
    enable, address : Out
        ``address``: word of the memories that is read, or written. ``enable``: reads go on in this
        clock; otherwise the words that were read stay.
    online, target, first, second : In(32 * side)
        Words of the address that came 2 clocks with ``enable`` ago.
    write : Out({online, target, first, second})
        Which memories take ``word``, at ``address``.
    word : Out(32 * side)
        The word to write.
    """

    def __init__(self, config, data_width):
        if data_width not in (128, 256, 512):
            raise UsageError(f"data_width must be 128, 256 or 512, not {data_width!r}")
        self.config, self.data_width = config, data_width
        beats, word = stream.Signature(unsigned(data_width)), word_width(config)
        super().__init__(
            {
                "load": In(1),
                "store": In(1),
                "sets": In(len(PARAMETER_SETS)),
                "busy": Out(1),
                "i": In(beats),
                "o": Out(beats),
                "enable": Out(1),
                "address": Out(range(config.weight_words)),
                **dict.fromkeys(PARAMETER_SETS, In(word)),
                "write": Out(data.StructLayout(dict.fromkeys(PARAMETER_SETS, 1))),
                "word": Out(word),
            }
        )

    def elaborate(self, platform):
        m = Module()
        layers = sections(self.config, PARAMETER_SETS[:1])
        sets, storing, at = Signal(len(PARAMETER_SETS)), Signal(), Signal(range(len(layers)))
        parameter_set = Signal(range(len(PARAMETER_SETS)))
        plan = self._plan(m, layers, at)
        left = Signal.like(plan["count"])
        moving, step, empty = Signal(), Signal(), Signal()
        exists = Signal()
        following = self._following(m, plan, step, moving)

        def follow():
            """The next section's turn."""
            m.d.sync += parameter_set.eq(parameter_set + 1)
            m.next = "SECTION"
            with m.If(parameter_set == len(PARAMETER_SETS) - 1):
                m.d.sync += at.eq(at + 1)
                with m.If(at == len(layers) - 1):
                    m.next = "LAST"

        with m.FSM() as fsm:
            m.d.comb += [self.busy.eq(~fsm.ongoing("IDLE")), moving.eq(fsm.ongoing("MOVE"))]
            with m.State("IDLE"):
                m.d.sync += [
                    sets.eq(self.sets),
                    storing.eq(self.store),
                    at.eq(0),
                    parameter_set.eq(0),
                ]
                with m.If(self.load | self.store):
                    m.next = "SECTION"
            with m.State("SECTION"):
                m.d.sync += [self.address.eq(plan["base"]), left.eq(plan["count"])]
                with m.If(sets.bit_select(parameter_set, 1)):
                    m.next = "MOVE"
                with m.Else():
                    follow()
            with m.State("MOVE"):
                with m.If(step):
                    m.d.sync += [self.address.eq(following), left.eq(left - 1)]
                    with m.If(left == 1):
                        follow()
            with m.State("LAST"):
                with m.If(empty):
                    m.next = "IDLE"

        m.d.comb += exists.eq(left > plan["padding"])
        loaded = self._load(m, moving & ~storing, exists, left, plan, parameter_set)
        stored, left_all = self._store(m, moving & storing, exists, parameter_set)
        m.d.comb += [step.eq(loaded | stored), empty.eq(left_all)]
        return m

    def _following(self, m, plan, step, moving):
        """The address behind ``address``: memories may have padding between tile columns."""
        if self.config.port_words == 1:
            return self.address + 1
        place = Signal.like(plan["bias"])
        ends = Signal()
        m.d.comb += ends.eq(place == plan["bias"])
        with m.If(~moving | (step & ends)):
            m.d.sync += place.eq(0)
        with m.Elif(step):
            m.d.sync += place.eq(place + 1)
        return self.address + Mux(ends, plan["gap"], 1)

    def _plan(self, m, layers, at):
        """Of the layer's sections: where they begin, words; of the last words, how many are
        padding, and how many are that or of the last tile column, with which ``lanes``; the place
        of the biases in a tile column of the image, and how far the next column is behind them in
        the memories."""
        side, rows = self.config.side, []
        for section in layers:
            layer = section.layer
            count = layer.numbers // side
            padding = count - layer.words
            used = layer.outputs - (layer.output_tiles - 1) * side
            tail = padding + layer.inputs + 1
            rows.append(
                dict(
                    base=layer.base + layer.lead,
                    count=count,
                    padding=padding,
                    tail=tail,
                    lanes=(1 << used) - 1,
                    bias=layer.inputs,
                    gap=layer.stride - layer.inputs,
                )
            )
        plan = {}
        for name in rows[0]:
            plan[name] = Signal(range(max(row[name] for row in rows) + 1), name=f"plan_{name}")
        with m.Switch(at):
            for k, row in enumerate(rows):
                with m.Case(k):
                    m.d.comb += [plan[name].eq(value) for name, value in row.items()]
        return plan

    def _load(self, m, moving, exists, left, plan, parameter_set):
        """Words from the beats into the memories; whether one moves."""
        width = word_width(self.config)
        if self.data_width > width:
            m.submodules.beats = beats = Downsizer(self.data_width, width)
            given, word = beats.i.payload, beats.o.payload
        else:
            m.submodules.beats = beats = Upsizer(width, self.data_width)
            given, word = beats.i.p.data, beats.o.p.data
        m.d.comb += [
            given.eq(self.i.payload),
            beats.i.valid.eq(self.i.valid),
            self.i.ready.eq(beats.i.ready),
            beats.o.ready.eq(moving),
        ]
        lanes = Signal(self.config.side)
        m.d.comb += lanes.eq(Mux(left <= plan["tail"], plan["lanes"], ~0))
        for lane in range(self.config.side):
            number = word.word_select(lane, WORD_BITS)
            kept = number & lanes[lane].replicate(WORD_BITS)
            m.d.comb += self.word.word_select(lane, WORD_BITS).eq(kept)
        moves = moving & beats.o.valid
        for k, name in enumerate(PARAMETER_SETS):
            m.d.comb += self.write[name].eq(moves & exists & (parameter_set == k))
        return moves

    def _store(self, m, moving, exists, parameter_set):
        """Words of the memories into beats; whether one is read, whether all have left."""
        width, advance = word_width(self.config), self.enable
        if self.data_width > width:
            m.submodules.words = words = Upsizer(self.data_width, width)
            given, beat = words.i.p.data, words.o.p.data
        else:
            m.submodules.words = words = Downsizer(width, self.data_width)
            given, beat = words.i.payload, words.o.payload
        valid, tags = moving, (exists, parameter_set)
        under_way = Const(0)
        for clock in range(READ_LATENCY):
            later = Signal(name=f"s{clock}_valid")
            with m.If(advance):
                m.d.sync += later.eq(valid)
            valid, under_way = later, under_way | later
            tags = [
                delay(m, tag, 1, name=f"s{clock}_{k}", enable=advance) for k, tag in enumerate(tags)
            ]
        exists, parameter_set = tags
        with m.If(exists):
            with m.Switch(parameter_set):
                for name in stored_sets(self.config):
                    with m.Case(PARAMETER_SETS.index(name)):
                        m.d.comb += given.eq(getattr(self, name))
        m.d.comb += [
            words.i.valid.eq(valid),
            advance.eq(~valid | words.i.ready),
            self.o.payload.eq(beat),
            self.o.valid.eq(words.o.valid),
            words.o.ready.eq(self.o.ready),
        ]
        return moving & advance, ~under_way & ~words.o.valid

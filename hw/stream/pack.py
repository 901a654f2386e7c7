"""Width changers for records in granules: ``Pack`` closes the gaps, ``Unpack`` lets each record
begin a word of its own.

Both move one word a clock at the side that limits them. Latencies count from a word at rest
upstream to its first granule on ``o``.
"""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.config import check_range

__all__ = ["MAX_RECORD", "Pack", "Unpack"]

#: Granules of the longest record that ``Unpack`` takes.
MAX_RECORD = 1 << 14


class Pack(wiring.Component):
    """Concatenates the first ``count`` granules of each input word into dense output words.

    An output word leaves when it is full. After the granules of an input word with ``last``, a word
    that is not full is padded with zeros and leaves too, and the next granule is granule 0 of a new
    word.

    Parameters
    ----------
    granule_width : int
        Bits.
    input_granules : int
        Granules of an input word, 1..output_granules + 1.
    output_granules : int
        Granules of an output word.

    Members
    -------
    i : In(stream.Signature({data: input_granules * granule_width, count: 1.., last: 1}))
        One input word an item, granule 0 in the lowest bits. Its first ``count`` granules are
        taken, at most ``input_granules``; the others are ignored.
    o : Out(stream.Signature({data: output_granules * granule_width, last: 1}))
        Dense words. ``last`` is 1 on the word with the final granule of an input word that has
        ``last``.
    """

    INTERVAL = 1
    LATENCY = 2

    def __init__(self, granule_width=128, input_granules=5, output_granules=4):
        check_range("granule_width", granule_width, 1, 4096)
        check_range("output_granules", output_granules, 1, 64)
        # So that an input word never completes more than two output words.
        check_range("input_granules", input_granules, 1, output_granules + 1)
        self.granule_width = granule_width
        self.input_granules, self.output_granules = input_granules, output_granules
        self.input_shape = data.StructLayout(
            {
                "data": input_granules * granule_width,
                "count": range(input_granules + 1),
                "last": 1,
            }
        )
        self.output_shape = data.StructLayout({"data": output_granules * granule_width, "last": 1})
        super().__init__(
            {
                "i": In(stream.Signature(self.input_shape)),
                "o": Out(stream.Signature(self.output_shape)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        size, word = self.output_granules, self.output_granules * self.granule_width

        # Stage 1: move the granules behind those already in the begun word, zeros elsewhere.
        fill = Signal(range(size))
        end = Signal(range(2 * size + 1))
        wrapped = Signal.like(fill)
        masked = Signal(self.input_granules * self.granule_width)
        shifted = Signal(2 * word)
        s1_valid, s1_last = Signal(), Signal(reset_less=True)
        s1_data = Signal(2 * word, reset_less=True)
        s1_end = Signal.like(end, reset_less=True)
        m.d.comb += [
            end.eq(fill + self.i.p.count),
            wrapped.eq(Mux(end >= size, end - size, end)[: len(fill)]),
        ]
        for j in range(self.input_granules):
            granule = self.i.p.data.word_select(j, self.granule_width)
            with m.If(j < self.i.p.count):
                m.d.comb += masked.word_select(j, self.granule_width).eq(granule)
        with m.Switch(fill):
            for begun in range(size):
                with m.Case(begun):
                    m.d.comb += shifted.eq(masked << (begun * self.granule_width))
        with m.If(self.i.ready):
            m.d.sync += [
                s1_valid.eq(self.i.valid),
                s1_data.eq(shifted),
                s1_end.eq(end),
                s1_last.eq(self.i.p.last),
            ]
            with m.If(self.i.valid):
                m.d.sync += fill.eq(Mux(self.i.p.last | (end == 2 * size), 0, wrapped))

        # Stage 2: merge with the begun word; 0, 1 or 2 words are ready to leave.
        # Zeros behind what it holds, after a reset too: one condition for both, as registers have.
        begun, clear = Signal(word, reset_less=True), Signal()
        merged = Signal(2 * word)
        some, both = Signal(), Signal()
        m.d.comb += [
            merged.eq(s1_data | begun),
            some.eq(s1_last | (s1_end >= size)),
            both.eq(Mux(s1_last, s1_end > size, s1_end == 2 * size)),
        ]

        # The second of two words waits in ``spare``: an input that completes none makes up for it.
        spare = Signal(self.output_shape, reset_less=True)
        spare_valid = Signal()
        low, high = Signal(self.output_shape), Signal(self.output_shape)
        out = Signal(self.output_shape, reset_less=True)
        advance, take = Signal(), Signal()
        m.d.comb += [
            low.data.eq(merged[:word]),
            low.last.eq(s1_last & ~both),
            high.data.eq(merged[word:]),
            high.last.eq(s1_last),
            advance.eq(~self.o.valid | self.o.ready),
            take.eq(s1_valid & advance & ~(spare_valid & both)),
            self.i.ready.eq(~s1_valid | take),
            self.o.payload.eq(out),
        ]
        with m.If(advance):
            m.d.sync += [
                out.eq(Mux(spare_valid, spare, low)),
                self.o.valid.eq(spare_valid | (s1_valid & some)),
                spare.eq(Mux(spare_valid, low, high)),
                spare_valid.eq(s1_valid & Mux(spare_valid, some & ~both, both)),
            ]
        m.d.comb += clear.eq(ResetSignal() | (take & (s1_last | both)))
        with m.If(clear):
            m.d.sync += begun.eq(0)
        with m.Elif(take):
            m.d.sync += begun.eq(Mux(some, merged[word:], merged[:word]))
        return m


class Unpack(wiring.Component):
    """Cuts dense words into records; each record begins at granule 0 of an output word.

    A record's last output word is padded with zeros. In the input, a record begins at the granule
    after the one before it. But a ``count`` with ``last`` ends a batch: the granules that follow
    its record in the same input word are dropped, and the next record begins with the next input
    word.

    Parameters
    ----------
    granule_width : int
        Bits.
    word_granules : int
        Granules of an input word and of an output word.

    Members
    -------
    i : In(stream.Signature(unsigned(word_granules * granule_width)))
        Dense words, granule 0 in the lowest bits.
    count : In(stream.Signature({count: 1..MAX_RECORD granules of a record, last: 1}))
        One item for each record, in order: its granules, and 1 in ``last`` if it ends a batch.
    o : Out(stream.Signature({data: word_granules * granule_width, last: 1}))
        The words of the records; ``last`` is 1 on the last word of each record.
    """

    INTERVAL = 1
    LATENCY = 2

    def __init__(self, granule_width=128, word_granules=4):
        check_range("granule_width", granule_width, 1, 4096)
        check_range("word_granules", word_granules, 1, 64)
        self.granule_width, self.word_granules = granule_width, word_granules
        word = word_granules * granule_width
        self.count_shape = data.StructLayout({"count": range(MAX_RECORD + 1), "last": 1})
        self.output_shape = data.StructLayout({"data": word, "last": 1})
        super().__init__(
            {
                "i": In(stream.Signature(unsigned(word))),
                "count": In(stream.Signature(self.count_shape)),
                "o": Out(stream.Signature(self.output_shape)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        size, word = self.word_granules, self.word_granules * self.granule_width

        # The input word that the next granule lies in, and where.
        head = Signal(word, reset_less=True)
        have = Signal()
        offset = Signal(range(size))

        # What the record still needs, and the share of this output word.
        left = Signal(range(MAX_RECORD + 1), reset_less=True)
        inside = Signal()
        need = Signal.like(left)
        share = Signal(range(size + 1))
        end = Signal(range(2 * size + 1))
        final, drop, beyond = Signal(), Signal(), Signal()
        advance, fire, spent, take = Signal(), Signal(), Signal(), Signal()
        m.d.comb += [
            need.eq(Mux(inside, left, self.count.p.count)),
            final.eq(need <= size),
            share.eq(Mux(final, need, size)),
            end.eq(offset + share),
            drop.eq(final & self.count.p.last),
            beyond.eq(end > size),
            advance.eq(~self.o.valid | self.o.ready),
            fire.eq(advance & self.count.valid & have & (~beyond | self.i.valid)),
            spent.eq(drop | (end >= size)),
            self.count.ready.eq(fire & final),
            take.eq(~have | (fire & spent)),
            # With ``i.valid``, this is ``take``; no path from valid to ready, as in ``Split``.
            self.i.ready.eq(~have | (advance & self.count.valid & spent)),
        ]
        with m.If(take):
            m.d.sync += [
                head.eq(self.i.payload),
                have.eq(self.i.valid & ~(have & beyond & drop)),
            ]
        with m.If(fire):
            m.d.sync += [
                offset.eq(Mux(drop, 0, Mux(end >= size, end - size, end))[: len(offset)]),
                inside.eq(~final),
                left.eq((need - size)[: len(left)]),
            ]

        window = Signal(2 * word)
        shifted = Signal(word)
        out = Signal(self.output_shape, reset_less=True)
        m.d.comb += [window.eq(Cat(head, self.i.payload)), self.o.payload.eq(out)]
        with m.Switch(offset):
            for k in range(size):
                with m.Case(k):
                    m.d.comb += shifted.eq(window >> (k * self.granule_width))
        with m.If(advance):
            m.d.sync += [self.o.valid.eq(fire), out.last.eq(final)]
            for j in range(size):
                source = shifted.word_select(j, self.granule_width)
                target = out.data.word_select(j, self.granule_width)
                m.d.sync += target.eq(Mux(j < share, source, 0))
        return m

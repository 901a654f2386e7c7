"""The batch memory: experiences as the gather engine sends them, checked, for replay in order.

A beat a clock in. It has two halves: a batch comes into one half while the batch before it is read
from the other. Every lane has a copy, because each lane reads other experiences.
"""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.arith.float32.reciprocal import Float32Reciprocal
from hw.comparison import above, at_least
from hw.learner.records import observation_granules, record_granules
from hw.learner.samples.wrong_words import has_wrong_word
from hw.replay.config import GRANULE_WIDTH
from hw.replay.records import HEADER
from hw.stream.delay import delay
from hw.stream.ram import Ram

__all__ = ["BatchMemory"]


class BatchMemory(wiring.Component):
    """Keeps a batch as it comes, in one of two halves; the half of the batch before can be read
    meanwhile. Experience k of a batch, with its header, begins at word ``k * size * WORDS`` of its
    half; a word has 32 bits, and a granule ``WORDS`` = 4 words.

    While a batch comes, the memory finds its largest weight and its first bad experience. A beat is
    taken whenever one is valid; ``loaded`` rises ``latency`` clocks after the last beat.

    Parameters
    ----------
    config : LearnerConfig
    data_width : int
        Bits of a beat.
    count : int
        Words that a lane reads in a clock: 1, 2 or 4.

    Attributes
    ----------
    size : int
        Granules of a record with its header.
    depth : int
        Words of a half.
    latency : int
        Clocks from the last beat of a batch to ``loaded``.

    Members
    -------
    acting : In(1)
        ``records`` are observations without headers, each rounded up to granules; ``bad_index`` is
        the position of an observation. Steady from ``begin`` to ``loaded``.
    begin : In(1), batch : In
        ``begin``, a pulse: ``batch`` experiences follow. The batch before was taken by ``take``, or
        is given up and overwritten. ``batch`` is steady until ``loaded``.
    records : In(stream.Signature(data_width))
        HEADER and experience in turn, without gaps. The rest of the last beat is ignored.
    loaded : Out(1)
        All experiences have come. From then on, ``loaded``, ``bad`` and ``bad_index`` are steady
        until the next ``begin``.
    bad : Out(1), bad_index : Out(32)
        ``bad``: an experience has a word that breaks its rule (``word_rules``), or a weight that is
        infinite, NaN or negative; ``bad_index`` is the index, from its header, of the first such
        experience. ``bad`` also says that no weight is above 0 (subnormals count as 0); then
        ``bad_index`` is the index of the last experience. Observations have no weights.
    take : In(1)
        A pulse: from the next clock on the loaded batch is read.
    weight, inverse : Out(32)
        Largest importance weight of the batch that is read, and its reciprocal, binary32. They
        change in the clock after ``take``, and are steady until the next ``take``.
    address : In.array(lanes), words : Out([count] of 32).array(lanes)
        For each lane: ``count`` words of the batch that is read, one clock after the ``address`` of
        the first word, a multiple of ``count``.
    beat : Out(data_width)
        The whole beat with the ``words`` of lane 0, for a reader that needs more words.
    """

    def __init__(self, config, data_width, count=1):
        self.config, self.data_width, self.count = config, data_width, count
        self.size = 1 + record_granules(config)
        self._parts = data_width // GRANULE_WIDTH
        self._rows = self.row_count(config, data_width)
        self.depth = self.depth_of(config, data_width)
        self.latency = self.latency_of(data_width)
        super().__init__(
            {
                "acting": In(1),
                "begin": In(1),
                "batch": In(range(config.batch + 1)),
                "records": In(stream.Signature(unsigned(data_width))),
                "loaded": Out(1),
                "bad": Out(1),
                "bad_index": Out(32),
                "take": In(1),
                "weight": Out(32),
                "inverse": Out(32),
                "address": In(range(self.depth)).array(config.lanes),
                "words": Out(data.ArrayLayout(32, count)).array(config.lanes),
                "beat": Out(data_width),
            }
        )

    @staticmethod
    def latency_of(data_width):
        """``latency`` of a BatchMemory with this parameter, in clocks."""
        # Flags, the tree of the largest weight, the largest so far; the reciprocal, its register.
        return 3 + (data_width // GRANULE_WIDTH).bit_length() - 1 + Float32Reciprocal.LATENCY

    @staticmethod
    def row_count(config, data_width):
        granules = (1 + record_granules(config)) * config.batch
        return -(-granules * GRANULE_WIDTH // data_width)

    @classmethod
    def depth_of(cls, config, data_width):
        """``depth`` of a BatchMemory with these parameters: 32-bit words of one half."""
        return cls.row_count(config, data_width) * data_width // 32

    def elaborate(self, platform):
        m = Module()
        parts = self._parts
        filled = Signal()  # the half that is written
        left = Signal(range(self.size * self.config.batch + 1))  # granules to come
        row = Signal(range(self._rows))
        positions = [Signal(range(self.size), name=f"position_{part}") for part in range(parts)]
        # An observation has no granule 0: it goes from 1 to its last, and has a number.
        last = observation_granules(self.config)
        numbers = [Signal.like(self.batch, name=f"number_{part}") for part in range(parts)]
        take, ends = Signal(), Signal()
        m.d.comb += [
            self.records.ready.eq(1),
            take.eq(self.records.valid & (left != 0)),
            ends.eq(take & ~above(left, parts)),
        ]
        with m.If(take):
            m.d.sync += [row.eq(row + 1), left.eq(Mux(ends, 0, left - parts))]
            for position, number in zip(positions, numbers, strict=True):
                self._advance(m, position, parts, 0, self.size)
                with m.If(self.acting):
                    wraps = self._advance(m, position, parts, 1, last)
                    m.d.sync += number.eq(number + parts // last + wraps)
        with m.If(self.begin):
            m.d.sync += [
                row.eq(0),
                left.eq(Mux(self.acting, self.batch * last, self.batch * self.size)),
                self.loaded.eq(0),
            ]
            for k, (position, number) in enumerate(zip(positions, numbers, strict=True)):
                begin = Mux(self.acting, 1 + k % last, k % self.size)
                m.d.sync += [position.eq(begin), number.eq(k // last)]
        with m.If(self.take):
            m.d.sync += filled.eq(~filled)
        self._memories(m, take, Cat(filled, row), ~filled)
        self._check(m, take, ends, left, positions, numbers)
        return m

    @staticmethod
    def _advance(m, position, step, first, size):
        """The position ``step`` further, among ``size`` positions that begin at ``first``; and
        whether it has wrapped."""
        step %= size
        wraps = at_least(position, first + size - step)
        m.d.sync += position.eq(Mux(wraps, position - (size - step), position + step))
        return wraps

    def _memories(self, m, take, written, half):
        """The memories. A row is a beat; rows of the two halves alternate."""
        per_row, within = self.data_width // 32, self.count.bit_length() - 1
        place_end = per_row.bit_length() - 1
        for lane, (address, words) in enumerate(zip(self.address, self.words, strict=True)):
            m.submodules[f"lane_{lane}"] = ram = Ram(width=self.data_width, depth=2 * self._rows)
            row, place = address[place_end:], address[within:place_end]
            m.d.comb += [
                ram.write_enable.eq(take),
                ram.write_address.eq(written),
                ram.write_data.eq(self.records.payload),
                ram.read_address.eq(Cat(half, row)),
                words.eq(
                    ram.read_data.word_select(
                        delay(m, place, 1, name=f"place_{lane}"), 32 * self.count
                    )
                ),
            ]
            if lane == 0:
                m.d.comb += self.beat.eq(ram.read_data)

    def _check(self, m, take, ends, left, positions, numbers):
        """Finds the first bad experience and the largest weight; then its reciprocal, and
        ``loaded``."""
        layout = data.StructLayout({"head": 1, "wrong": 1, "index": 32, "weight": 32})
        found = [Signal(layout, name=f"found_{k}", reset_less=True) for k in range(len(positions))]
        for k, (flags, position) in enumerate(zip(found, positions, strict=True)):
            granule = self.records.payload.word_select(k, GRANULE_WIDTH)
            header, inside = data.View(HEADER.shape, granule), take & above(left, k)
            head = inside & (position == self.acting)
            wrong = has_wrong_word(self.config, position, granule, self.acting)
            weight = header.weight
            no_weight = (position == 0) & (weight[31] | weight[23:31].all())
            m.d.sync += [
                flags.head.eq(head),
                flags.wrong.eq(inside & (wrong | no_weight)),
                flags.index.eq(Mux(self.acting, numbers[k], header.index)),
                flags.weight.eq(Mux(head & ~self.acting, weight, 0)),
            ]

        # Which experience a granule belongs to: the header before it, in this beat or earlier.
        index = Signal(32, reset_less=True)
        bad, bad_index, current = Const(0, 1), Const(0, 32), index
        for flags in found:
            current = Mux(flags.head, flags.index, current)
            bad_index = Mux(bad, bad_index, current)
            bad = bad | flags.wrong
        m.d.sync += index.eq(current)
        with m.If(bad & ~self.bad):
            m.d.sync += [self.bad.eq(1), self.bad_index.eq(bad_index)]

        # Weights are not negative, or the batch is bad: their bits have their order.
        candidates, clocks = [flags.weight for flags in found], 1
        while len(candidates) > 1:
            larger = []
            for k in range(0, len(candidates), 2):
                a, b = candidates[k : k + 2]
                larger.append(Signal(32, name=f"larger_{clocks}_{k}", reset_less=True))
                m.d.sync += larger[-1].eq(Mux(a > b, a, b))
            candidates, clocks = larger, clocks + 1
        weight, inverse = Signal(32), Signal(32)
        with m.If(candidates[0] > weight):
            m.d.sync += weight.eq(candidates[0])
        m.submodules.reciprocal = reciprocal = Float32Reciprocal()
        m.d.comb += [
            reciprocal.i.payload.eq(weight),
            reciprocal.i.valid.eq(delay(m, ends, clocks + 1, name="ended", reset=True)),
            reciprocal.o.ready.eq(1),
        ]
        # All weights are divided by the largest: by 0 none would be a number.
        nothing = reciprocal.i.valid & ~weight[23:31].any() & ~self.acting
        with m.If(nothing & ~self.bad):
            m.d.sync += [self.bad.eq(1), self.bad_index.eq(index)]
        with m.If(reciprocal.o.valid):
            m.d.sync += [inverse.eq(reciprocal.o.p.result), self.loaded.eq(1)]
        with m.If(self.begin):
            m.d.sync += [self.bad.eq(0), weight.eq(0)]
        with m.If(self.take):
            m.d.sync += [self.weight.eq(weight), self.inverse.eq(inverse)]

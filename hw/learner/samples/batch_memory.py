"""The batch memory: experiences as the gather engine sends them, checked, for replay in order.

A granule (16 bytes) a clock in. A memory a lane; experience k goes to lane ``k mod lanes``.
"""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.arith.float32.reciprocal import Float32Reciprocal
from hw.learner.records import record_granules, record_words
from hw.replay.config import GRANULE_WIDTH
from hw.replay.records import HEADER
from hw.stream.ram import Ram
from hw.stream.split import Split

__all__ = ["WORDS", "BatchMemory"]

#: 32-bit words of a granule.
WORDS = GRANULE_WIDTH // 32


class BatchMemory(wiring.Component):
    """Experience k lies in lane ``k mod lanes``, from granule ``k // lanes * size`` on.

    Meanwhile it finds the largest weight and the first bad experience. A granule is taken in every
    cycle in which one is there; ``loaded`` rises ``Float32Reciprocal.LATENCY + 2`` cycles after the
    last one.

    Parameters
    ----------
    config : LearnerConfig
    data_width : int
        Bits of a beat.

    Members
    -------
    begin : In(1), batch : In
        ``batch`` experiences follow; ``batch`` is steady until ``loaded``.
    records : In(stream.Signature(data_width))
        HEADER and experience, dense.
    loaded : Out(1)
        All are in; the outputs below are steady until the next ``begin``.
    bad, bad_index : Out
        An experience has an infinite number, a NaN, or a discrete action that does not exist; the
        index of the first such experience.
    weight, inverse : Out(32)
        The largest importance weight and its reciprocal, binary32.
    address : In, granule : Out(128).array(lanes)
        A granule of every lane's memory, one clock after its address.
    """

    def __init__(self, config, data_width):
        self.config, self.data_width = config, data_width
        #: Granules of a record with its header.
        self.size = 1 + record_granules(config)
        self.depth = self.size * (config.batch // config.lanes)
        super().__init__(
            {
                "begin": In(1),
                "batch": In(range(config.batch + 1)),
                "records": In(stream.Signature(unsigned(data_width))),
                "loaded": Out(1),
                "bad": Out(1),
                "bad_index": Out(32),
                "weight": Out(32),
                "inverse": Out(32),
                "address": In(range(self.depth)),
                "granule": Out(GRANULE_WIDTH).array(config.lanes),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config, size = self.config, self.size
        m.submodules.split = split = Split(GRANULE_WIDTH, self.data_width // GRANULE_WIDTH)
        wiring.connect(m, wiring.flipped(self.records), split.i)
        counting = Signal()  # the count is still to be handed over
        m.d.comb += [split.count.valid.eq(counting), split.count.payload.eq(self.batch * size)]
        with m.If(counting & split.count.ready):
            m.d.sync += counting.eq(0)

        granule = split.o.p.data
        position, lane = Signal(range(size)), Signal(range(config.lanes))
        base, left = Signal(range(self.depth)), Signal.like(self.batch)
        take, ends = Signal(), Signal()
        m.d.comb += [
            split.o.ready.eq(1),
            take.eq(split.o.valid),
            ends.eq(position == size - 1),
        ]
        for k in range(config.lanes):
            m.submodules[f"lane_{k}"] = ram = Ram(width=GRANULE_WIDTH, depth=self.depth)
            m.d.comb += [
                ram.write_enable.eq(take & (lane == k)),
                ram.write_address.eq(base + position),
                ram.write_data.eq(granule),
                ram.read_address.eq(self.address),
                self.granule[k].eq(ram.read_data),
            ]

        header = data.View(HEADER.shape, granule)
        index = Signal(32)
        wrong = Signal()
        m.d.comb += wrong.eq(self._is_wrong(position, granule))
        with m.If(take):
            m.d.sync += position.eq(Mux(ends, 0, position + 1))
            with m.If(position == 0):
                # Weights are not negative: their bits have their order.
                m.d.sync += index.eq(header.index)
                with m.If(header.weight > self.weight):
                    m.d.sync += self.weight.eq(header.weight)
            with m.Elif(wrong & ~self.bad):
                m.d.sync += [self.bad.eq(1), self.bad_index.eq(index)]
            with m.If(ends):
                m.d.sync += [lane.eq(lane + 1), left.eq(left - 1)]
                with m.If(lane == config.lanes - 1):
                    m.d.sync += [base.eq(base + size), lane.eq(0)]

        m.submodules.reciprocal = reciprocal = Float32Reciprocal()
        open_, asked = Signal(), Signal()  # a batch is under way; its reciprocal too
        m.d.comb += [
            reciprocal.i.payload.eq(self.weight),
            reciprocal.i.valid.eq(open_ & (left == 0) & ~asked),
            reciprocal.o.ready.eq(1),
        ]
        with m.If(reciprocal.i.valid):
            m.d.sync += asked.eq(1)
        with m.If(reciprocal.o.valid):
            m.d.sync += [
                self.inverse.eq(reciprocal.o.p.result),
                self.loaded.eq(1),
                open_.eq(0),
                asked.eq(0),
            ]
        with m.If(self.begin):
            m.d.sync += [
                counting.eq(1),
                open_.eq(1),
                left.eq(self.batch),
                self.loaded.eq(0),
                self.bad.eq(0),
                self.weight.eq(0),
                position.eq(0),
                lane.eq(0),
                base.eq(0),
            ]
        return m

    def _is_wrong(self, position, granule):
        """Whether this granule has an infinite number, a NaN, or an action that does not exist."""
        words = record_words(self.config)
        end = sum(words["discount"])
        integer, wrong = end, []
        if self.config.algorithm == "dqn":
            integer = words["action"][0]
            action = granule.word_select(integer % WORDS, 32)
            wrong.append((position == 1 + integer // WORDS) & (action >= self.config.action))
        for k in range(WORDS):
            exponent = granule.word_select(k, 32)[23:31]
            inside = [
                g for g in range(1, self.size) if (w := WORDS * (g - 1) + k) < end and w != integer
            ]
            beyond = [position == g for g in range(1, self.size) if g not in inside]
            wrong.append(exponent.all() & (position != 0) & ~Cat(beyond).any())
        return Cat(wrong).any()

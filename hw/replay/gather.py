"""The gather engine: answers of the replay manager become a dense batch of experiences.

One answer a clock in; experiences are read from storage with as many reads in flight as the read
engine allows, so a batch moves at the speed of memory.
"""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.replay.commands import MAX_COUNT, MAX_GRANULES
from hw.replay.records import GRANULE_BYTES, HEADER
from hw.replay.tree.operations import response_layout
from hw.replay.weight import WeightConfig, WeightUnit
from hw.shell.axi import REQUEST
from hw.shell.ports import read_port
from hw.stream.pack import Pack
from hw.stream.queue import Queue

__all__ = ["Gather"]


class Gather(wiring.Component):
    """Makes a batch of the replay manager's answers: record k is the header of answer k, then the
    experience that it names, read from storage.

    header = index, priority, weight, 0; weight = (fill * priority / total)**-beta.

    Parameters
    ----------
    config : ReplayConfig
    data_width : int
        Bits of a beat.
    depth : int
        Headers that may wait for their experience; as many as the read engine has beats in flight.

    Members
    -------
    start : In(1)
        One clock: a batch begins. All inputs below are steady until the last word has left.
    count : In(16), granules, stride : In
        Records in the batch; granules and beats of an experience. With 0 granules the batch is
        headers alone.
    storage : In(64), total, fill, beta : In
        Byte address of storage; for weights: the sum of all priorities, the number of experiences
        stored, and the exponent as UQ(1, 15).
    response : In(stream of response_layout)
        The replay manager's answers, one a record.
    read : Out(read_port)
        Reads of experiences.
    o : Out(stream.Signature(data_width))
        The batch, the last word padded with zeros.
    gathered, sent : Out(1)
        ``gathered``: the last experience of the batch has been taken from ``read``. ``sent``: the
        last word of the batch has been taken from ``o``. Both are low from the clock after
        ``start`` until then, and then stay high.
    """

    def __init__(self, config, data_width, depth):
        self.config, self.data_width, self.depth = config, data_width, depth
        super().__init__(
            {
                "start": In(1),
                "count": In(range(MAX_COUNT + 1)),
                "granules": In(range(MAX_GRANULES + 1)),
                "stride": In(range(MAX_GRANULES + 1)),
                "storage": In(64),
                "total": In(config.total_width),
                "fill": In(range(config.capacity + 1)),
                "beta": In(16),
                "response": In(stream.Signature(response_layout(config))),
                "read": Out(read_port(data_width)),
                "o": Out(stream.Signature(unsigned(data_width))),
                "gathered": Out(1),
                "sent": Out(1),
            }
        )

    @staticmethod
    def _weight(config):
        return WeightConfig(
            priority_width=config.priority_width,
            total_width=config.total_width,
            count_width=config.capacity.bit_length(),
        )

    def elaborate(self, platform):
        m = Module()
        whole = Signal()  # records have an experience
        m.d.comb += whole.eq(self.granules != 0)
        self._headers(m, whole, *self._addresses(m))
        self._records(m, whole)
        return m

    def _addresses(self, m):
        """The address of the experience: a product (one DSP block), then a sum of 64 bits.

        Returns the second register's valid, leaf and address, and what takes them.
        """
        config = self.config
        leaf = data.StructLayout({"index": config.index_width, "priority": config.priority_width})
        s1_valid, s2_valid = Signal(), Signal()
        s1_leaf, s2_leaf = Signal(leaf, reset_less=True), Signal(leaf, reset_less=True)
        s1_beats = Signal(config.index_width + len(self.stride), reset_less=True)
        s2_address = Signal(64, reset_less=True)
        s1_leave, s2_leave = Signal(), Signal()
        shift = (self.data_width // 8).bit_length() - 1
        m.d.comb += [
            self.response.ready.eq(~s1_valid | s1_leave),
            s1_leave.eq(~s2_valid | s2_leave),
        ]
        with m.If(self.response.ready):
            m.d.sync += [
                s1_valid.eq(self.response.valid),
                s1_leaf.index.eq(self.response.p.index),
                s1_leaf.priority.eq(self.response.p.priority),
                s1_beats.eq(self.response.p.index * self.stride),
            ]
        with m.If(s1_leave):
            m.d.sync += [
                s2_valid.eq(s1_valid),
                s2_leaf.eq(s1_leaf),
                s2_address.eq(self.storage + (s1_beats << shift)),
            ]
        return s2_valid, s2_leaf, s2_address, s2_leave

    def _headers(self, m, whole, valid, leaf, address, leave):
        """Splits an answer into a read, a weight and the rest of the header; headers wait for their
        reads."""
        config = self.config
        m.submodules.requests = requests = Queue(REQUEST, 2)
        m.submodules.weight = weight = WeightUnit(self._weight(config))
        m.submodules.beside = beside = Queue(leaf.shape(), 64)
        wiring.connect(m, requests.o, wiring.flipped(self.read.request))
        ready = {
            "requests": requests.i.ready | ~whole,
            "weight": weight.i.ready,
            "beside": beside.i.ready,
        }
        m.d.comb += [
            leave.eq(ready["requests"] & ready["weight"] & ready["beside"]),
            requests.i.valid.eq(valid & whole & ready["weight"] & ready["beside"]),
            requests.i.p.address.eq(address),
            requests.i.p.beats.eq(self.stride),
            weight.i.valid.eq(valid & ready["requests"] & ready["beside"]),
            weight.i.p.priority.eq(leaf.priority),
            weight.i.p.total.eq(self.total),
            weight.i.p.count.eq(self.fill),
            weight.beta.eq(self.beta),
            beside.i.valid.eq(valid & ready["requests"] & ready["weight"]),
            beside.i.payload.eq(leaf),
        ]

        m.submodules.headers = headers = Queue(HEADER.shape, self.depth)
        join = Signal()
        header = headers.i.p
        m.d.comb += [
            # An answer enters both in one clock and passes ``beside`` sooner, so that is valid too.
            join.eq(weight.o.valid & headers.i.ready),
            headers.i.valid.eq(weight.o.valid),
            beside.o.ready.eq(join),
            weight.o.ready.eq(join),
            header.index.eq(beside.o.p.index),
            header.priority.eq(beside.o.p.priority),
            header.weight.eq(weight.o.payload),
        ]

    def _records(self, m, whole):
        """Joins header and experience to a record; the header stands in front of the first beat."""
        headers, granule = m.submodules.headers, 8 * GRANULE_BYTES
        word_granules = self.data_width // granule
        m.submodules.pack = pack = Pack(granule, word_granules + 1, word_granules)
        records_left = Signal.like(self.count)
        granules_left = Signal.like(self.granules)
        inside = Signal()  # the header has left, beats of the experience have not
        here = Signal(range(word_granules + 1))  # granules of the experience in this beat
        remaining = Signal.like(self.granules)
        final, move = Signal(), Signal()
        m.d.comb += [
            remaining.eq(Mux(inside, granules_left, self.granules)),
            here.eq(Mux(remaining > word_granules, word_granules, remaining)),
            final.eq(remaining <= word_granules),
            pack.i.valid.eq((inside | headers.o.valid) & (~whole | self.read.data.valid)),
            move.eq(pack.i.valid & pack.i.ready),
            pack.i.p.data.eq(
                Mux(inside, self.read.data.p.data, Cat(headers.o.payload, self.read.data.p.data))
            ),
            pack.i.p.count.eq(here + ~inside),
            pack.i.p.last.eq(final & (records_left == 1)),
            headers.o.ready.eq(move & ~inside),
            self.read.data.ready.eq(move & whole),
            self.gathered.eq(records_left == 0),
            self.o.payload.eq(pack.o.p.data),
            self.o.valid.eq(pack.o.valid),
            pack.o.ready.eq(self.o.ready),
        ]
        with m.If(self.start):
            m.d.sync += self.sent.eq(0)
        with m.Elif(pack.o.valid & pack.o.ready & pack.o.p.last):
            m.d.sync += self.sent.eq(1)
        with m.If(self.start):
            m.d.sync += records_left.eq(self.count)
        with m.Elif(move):
            m.d.sync += [inside.eq(~final), granules_left.eq(remaining - here)]
            with m.If(final):
                m.d.sync += records_left.eq(records_left - 1)

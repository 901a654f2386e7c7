"""Lists of operands become requests of the replay manager: one item a clock.

TD errors pass the priority unit on their way. An item that breaks a rule is made harmless and is
reported.
"""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hw.comparison import above
from hw.replay.commands import MAX_COUNT, Given, Opcode
from hw.replay.priority import PriorityConfig, PriorityUnit
from hw.replay.records import ITEM, Error
from hw.replay.tree.operations import Operation, request_layout
from hw.stream.queue import Queue
from hw.stream.ready_register import ReadyRegister
from hw.stream.split import Split

__all__ = ["ItemReader"]

_OPERATIONS = {
    Opcode.INSERT: Operation.SET,
    Opcode.SET: Operation.SET,
    Opcode.UPDATE: Operation.SET,
    Opcode.FIND: Operation.FIND,
    Opcode.GET: Operation.GET,
}

#: An item, and what its limits say: compared before the queue, where there is time.
_BESIDE = data.StructLayout({"item": 8 * ITEM.size, "absent": 1, "large": 1, "beyond": 1})


class ItemReader(wiring.Component):
    """Makes a request of the replay manager from each item of a list: item k becomes request k.

    A bad item becomes a FIND past the total: the manager answers it with an error and changes
    nothing, so the answers stay in step. A bad item of an INSERT gives its place the priority 0,
    because the new experience has already been written there. All items after a memory error count
    as bad.

    Parameters
    ----------
    config : ReplayConfig
    data_width : int
        Bits of a beat of operands.

    Members
    -------
    opcode, given, fill, alpha, epsilon : In
        The command; for an INSERT what its list has (``Given``); the experiences stored; the
        constants of priorities from TD errors. Steady from ``count`` to the last request.
    place : In
        For an INSERT: the place of the experience whose request leaves next.
    failed : In(1)
        High from when memory has failed a beat of ``words`` to the end of the command. A request
        that still waits becomes bad too.
    start : In(1)
        One clock: forget the error and the position of the last command.
    count : In(stream.Signature(16))
        Items to take from ``words``.
    words : In(stream.Signature(data_width))
        Beats of items, dense.
    request : Out(stream of request_layout)
        One request for each item, for the replay manager.
    error, position : Out
        Code and number of the first bad item since ``start``; if memory has failed items, of the
        first failed one.
    saturated : Out(1)
        1 for one clock for each priority from a TD error that was clipped.
    """

    def __init__(self, config, data_width):
        self.config, self.data_width = config, data_width
        super().__init__(
            {
                "opcode": In(Opcode),
                "given": In(Given),
                "fill": In(range(config.capacity + 1)),
                "place": In(range(config.capacity + 1)),
                "failed": In(1),
                "alpha": In(16),
                "epsilon": In(16),
                "start": In(1),
                "count": In(stream.Signature(unsigned(MAX_COUNT.bit_length()))),
                "words": In(stream.Signature(unsigned(data_width))),
                "request": Out(stream.Signature(request_layout(config))),
                "error": Out(32),
                "position": Out(32),
                "saturated": Out(1),
            }
        )

    @staticmethod
    def _priority(config):
        return PriorityConfig(
            priority_width=config.priority_width, priority_fraction=config.priority_fraction
        )

    def elaborate(self, platform):
        m = Module()
        config = self.config
        m.submodules.split = split = Split(
            8 * ITEM.size, self.data_width // (8 * ITEM.size), MAX_COUNT.bit_length()
        )
        m.submodules.priority = priority = PriorityUnit(self._priority(config))
        # Holds what the priority unit does not carry; deep enough that the unit never waits.
        m.submodules.beside = beside = Queue(_BESIDE, 64)
        connect(m, flipped(self.words), split.i)
        # The split wants its count for as long as the list lasts.
        m.submodules.counts = counts = Queue(self.count.payload.shape(), 1)
        connect(m, flipped(self.count), counts.i)
        connect(m, counts.o, split.count)
        # Between the stages of the priority unit and those of memory, for ready.
        m.submodules.arrived = arrived = ReadyRegister(split.o.payload.shape())
        connect(m, split.o, arrived.i)
        item = ITEM.shape(arrived.o.p.data)
        m.d.comb += [
            beside.i.p.item.eq(arrived.o.p.data),
            beside.i.p.absent.eq(item.index >= self.fill),
            beside.i.p.large.eq(above(item.value, config.priority_limit)),
            beside.i.p.beyond.eq(arrived.o.p.data[len(self.request.p.value) :].any()),
            priority.i.p.td.eq(item.value),
            beside.i.valid.eq(arrived.o.valid & priority.i.ready),
            priority.i.valid.eq(arrived.o.valid & beside.i.ready),
            arrived.o.ready.eq(priority.i.ready & beside.i.ready),
            priority.alpha.eq(self.alpha),
            priority.epsilon.eq(self.epsilon),
        ]

        move = Signal()
        m.d.comb += [
            # An item enters both in one clock and passes ``beside`` sooner, so that is valid too.
            self.request.valid.eq(priority.o.valid),
            move.eq(priority.o.valid & self.request.ready),
            beside.o.ready.eq(move),
            priority.o.ready.eq(move),
        ]
        item = ITEM.shape(beside.o.p.item)
        error = Signal(32)
        insert, update, raw = Signal(), Signal(), Signal()
        m.d.comb += [
            insert.eq(self.opcode == Opcode.INSERT),
            update.eq((self.opcode == Opcode.UPDATE) | (insert & (self.given == Given.TD_ERRORS))),
            raw.eq((self.opcode == Opcode.SET) | (insert & ~update)),
        ]
        with m.If(self.failed):
            m.d.comb += error.eq(Error.AXI)
        with m.Elif((self.opcode != Opcode.FIND) & ~insert & beside.o.p.absent):
            m.d.comb += error.eq(Error.INDEX)
        with m.Elif(raw & beside.o.p.large):
            m.d.comb += error.eq(Error.PRIORITY)
        with m.Elif(update & priority.o.p.invalid):
            m.d.comb += error.eq(Error.TD)

        operation = Signal(Operation)
        value = Signal(len(self.request.p.value))
        with m.Switch(self.opcode):
            for opcode, each in _OPERATIONS.items():
                with m.Case(opcode):
                    m.d.comb += operation.eq(each)
        with m.If((error != Error.NONE) & insert):
            m.d.comb += value.eq(0)
        with m.Elif(error != Error.NONE):
            m.d.comb += [operation.eq(Operation.FIND), value.eq(~0)]
        with m.Elif(self.opcode == Opcode.FIND):
            m.d.comb += value.eq(Mux(beside.o.p.beyond, ~0, beside.o.p.item[: len(value)]))
        with m.Elif(update):
            m.d.comb += value.eq(priority.o.p.priority)
        with m.Else():
            m.d.comb += value.eq(item.value)
        m.d.comb += [
            self.request.p.operation.eq(operation),
            self.request.p.first.eq(0),
            self.request.p.index.eq(Mux(insert, self.place, item.index)[: config.index_width]),
            self.request.p.value.eq(value),
        ]

        item_count = Signal(32)
        m.d.comb += self.saturated.eq(
            move & update & (error == Error.NONE) & priority.o.p.saturated
        )
        with m.If(self.start):
            m.d.sync += [self.error.eq(Error.NONE), item_count.eq(0)]
        with m.Elif(move):
            m.d.sync += item_count.eq(item_count + 1)
            first = Mux(self.failed, self.error != Error.AXI, self.error == Error.NONE)
            with m.If((error != Error.NONE) & first):
                m.d.sync += [self.error.eq(error), self.position.eq(item_count)]
        return m

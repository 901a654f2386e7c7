"""The stack of slots (HEPPO's FILO memory, IV-A): codes are popped, results take their places.

A slot, which is one step of every row, is one word of one memory with one pointer. One slot a clock
moves in either direction. Latency 1 from ``pop`` to the first slot on its way, 2 from ``pull`` to
the first result.
"""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.gae.layouts import result_layout, slot_layout
from hw.gae.records import Kind
from hw.stream.ram import Ram

__all__ = ["Stack"]


class Stack(wiring.Component):
    """Gives the slots last in, first out, and takes their results, which leave in the order of
    time.

    The memory has ``config.depth`` words. The slot above them is a register that takes bootstraps
    alone, the values of the states after the last step; its results are 0.

    Parameters
    ----------
    config : GaeConfig

    Members
    -------
    clear : In(1)
        Pulse: drop all slots.
    push : In(stream of slot_layout(config))
        Slots, the earliest first.
    fill : Out(range(depth + 2))
        Number of slots on the stack.
    rewind : In(1), rewind_to : In(range(depth + 2))
        Pulse: drop the slots from number ``rewind_to`` on, so that ``rewind_to`` slots are left.
    pop : In(1)
        Pulse: all slots leave through ``popped``, the last one first, one a clock. They keep their
        places until ``results`` replace them.
    popped : Out({valid, last, slot [rows]})
        If ``valid`` is 0, the kinds are NONE. ``last`` comes once after every ``pop``, also if the
        stack is empty.
    results : In({valid, result [rows]})
        In the order in which the slots were popped.
    pull : In(1), pull_count : In(range(depth + 2))
        Pulse: the results of the first ``pull_count`` slots leave through ``o``, in the order of
        time.
    o : Out(stream of result_layout(config))
        The results of a slot.

    Only one of three may happen at a time: pushes; a ``pop`` until its last result; a ``pull``
    until its last result.
    """

    INTERVAL = 1

    def __init__(self, config):
        self.config = config
        slots, results = slot_layout(config), result_layout(config)
        count = range(config.depth + 2)
        super().__init__(
            {
                "clear": In(1),
                "push": In(stream.Signature(slots)),
                "fill": Out(count),
                "rewind": In(1),
                "rewind_to": In(count),
                "pop": In(1),
                "popped": Out(data.StructLayout({"valid": 1, "last": 1, "slot": slots})),
                "results": In(data.StructLayout({"valid": 1, "result": results})),
                "pull": In(1),
                "pull_count": In(count),
                "o": Out(stream.Signature(results)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self.config
        depth, half = config.depth, (config.cell_width - 2) // 2
        # A reward, then the advantage; a value, then the reward-to-go.
        cell = data.StructLayout({"kind": Kind, "first": signed(half), "second": signed(half)})
        cells = data.ArrayLayout(cell, config.rows)
        m.submodules.ram = ram = Ram(width=cells.size, depth=depth, style=config.ram_style)
        top = Signal(
            data.ArrayLayout(
                data.StructLayout({"present": 1, "value": signed(config.code_width)}), config.rows
            ),
            reset_less=True,
        )

        # Writing: slots that are pushed, then results.
        put, written = Signal(), Signal(range(depth + 2))
        write, read = Signal(cells), Signal(cells)
        m.d.comb += [
            self.push.ready.eq(self.fill <= depth),
            put.eq(self.push.valid & self.push.ready),
            ram.write_enable.eq(
                Mux(self.results.valid, written != depth, put & (self.fill != depth))
            ),
            ram.write_address.eq(Mux(self.results.valid, written, self.fill)),
            ram.write_data.eq(write),
            read.eq(ram.read_data),
        ]
        with m.If(self.clear):
            m.d.sync += self.fill.eq(0)
        with m.Elif(self.rewind):
            m.d.sync += self.fill.eq(self.rewind_to)
        with m.Elif(put):
            m.d.sync += self.fill.eq(self.fill + 1)
        with m.If(self.pop):
            m.d.sync += written.eq(self.fill - 1)
        with m.Elif(self.results.valid):
            m.d.sync += written.eq(written - 1)

        # Reading: down for ``pop``, up for ``pull``.
        popping, pulling, advance, at_top = Signal(), Signal(), Signal(), Signal()
        position, left = Signal(range(depth + 2)), Signal(range(depth + 2))
        m.d.comb += [
            advance.eq(~self.o.valid | self.o.ready),
            ram.read_enable.eq(advance),
            ram.read_address.eq(position),
        ]
        with m.If(advance):
            m.d.sync += [
                self.o.valid.eq(pulling),
                self.popped.valid.eq(popping & (left != 0)),
                self.popped.last.eq(popping & (left <= 1)),
                at_top.eq(position == depth),
                position.eq(Mux(popping, position - 1, position + 1)),
                left.eq(left - 1),
            ]
            with m.If(left <= 1):
                m.d.sync += [popping.eq(0), pulling.eq(0)]
        with m.If(self.pop):
            m.d.sync += [popping.eq(1), position.eq(self.fill - 1), left.eq(self.fill)]
        with m.Elif(self.pull):
            m.d.sync += [pulling.eq(self.pull_count != 0), position.eq(0), left.eq(self.pull_count)]

        for row in range(config.rows):
            pushed, result = self.push.payload[row], self.results.result[row]
            with m.If(self.results.valid):
                m.d.comb += [
                    write[row].first.eq(result.advantage),
                    write[row].second.eq(result.reward_to_go),
                ]
            with m.Else():
                m.d.comb += [
                    write[row].kind.eq(pushed.kind),
                    write[row].first.eq(pushed.reward),
                    write[row].second.eq(pushed.value),
                ]
            with m.If(put & (self.fill == depth)):
                m.d.sync += [
                    top[row].present.eq(pushed.kind.as_value().any()),
                    top[row].value.eq(pushed.value),
                ]
            popped, pulled = self.popped.slot[row], self.o.payload[row]
            m.d.comb += [popped.reward.eq(read[row].first), popped.value.eq(read[row].second)]
            with m.If(at_top):
                m.d.comb += [
                    popped.kind.eq(Mux(top[row].present, Kind.BOOTSTRAP, Kind.NONE)),
                    popped.value.eq(top[row].value),
                ]
            with m.Else():
                m.d.comb += [
                    popped.kind.eq(Mux(self.popped.valid, read[row].kind, Kind.NONE)),
                    pulled.advantage.eq(read[row].first),
                    pulled.reward_to_go.eq(read[row].second),
                ]
        return m

"""The priority table: every leaf's priority, the running total, and the change that a SET makes.

One operation a clock, never stalls; an operation leaves ``latency`` clocks after it entered.
"""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.replay.tree.forwarding_memory import ForwardingMemory
from hw.stream.delay import delay

__all__ = ["PriorityTable"]


class PriorityTable(wiring.Component):
    """SET i, p: ``delta = p - table[i]; table[i] = p; total += delta``. Other operations change
    nothing.

    Each operation leaves with the ``total`` as it is after all operations before it. So a draw
    scales its random number by the total of exactly its moment.

    UltraRAM words have 72 bits: a row holds ``config.table_lanes`` priorities. Leaf i lies in lane
    i // table_rows, row i % table_rows, which two or three comparisons find; no division.

    Members
    -------
    set : In(1), index, priority : In
        The operation that enters: a SET of leaf ``index`` to ``priority`` if ``set`` is 1. ``set``
        is 0 for all other operations and in clocks without one.
    old : Out(priority_width)
        The leaf's priority before the operation; for a GET this is the answer. It comes
        ``latency`` clocks after the operation, with ``delta`` and ``total``.
    delta : Out(signed(priority_width + 1))
        The change of the leaf's priority; 0 unless the operation is a SET.
    total : Out(total_width)
        The total before the operation.
    running_total : Out(total_width)
        The total after all operations that have left.
    clear, clear_address : In
        ``clear``: the row ``clear_address``, if there is one, and the total become 0. Only while no
        operation is under way.
    """

    def __init__(self, config, *, clear_width):
        self.config = config
        self.memory = ForwardingMemory(
            width=config.table_lanes * config.priority_width,
            depth=config.table_rows,
            style=config.table_style,
            clear_width=clear_width,
        )
        self.latency = config.table_latency
        super().__init__(
            {
                "set": In(1),
                "index": In(config.index_width),
                "priority": In(config.priority_width),
                "old": Out(config.priority_width),
                "delta": Out(signed(config.priority_width + 1)),
                "total": Out(config.total_width),
                "running_total": Out(config.total_width),
                "clear": In(1),
                "clear_address": In(clear_width),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self.config
        m.submodules.memory = memory = self.memory
        lanes, rows, stage = config.table_lanes, config.table_rows, memory.compute_stage
        m.d.comb += [memory.clear.eq(self.clear), memory.clear_address.eq(self.clear_address)]

        # Row and lane: lane = #{k >= 1 : index >= k * rows}.
        s1_set = delay(m, self.set, 1, name="s1_set", reset=True)
        s1_lane = Signal(lanes, reset_less=True)  # one-hot
        beyond = Cat(1, *(self.index >= k * rows for k in range(1, lanes)), 0)
        m.d.sync += s1_lane.eq(beyond[:-1] & ~beyond[1:])
        s1_row = Signal.like(memory.address, reset_less=True)
        for k in range(lanes):
            with m.If(beyond[k]):
                m.d.sync += s1_row.eq(self.index - k * rows)
        m.d.comb += [memory.address.eq(s1_row), memory.write.eq(s1_set)]

        # Old priority out of its lane, new one into it.
        s_set = delay(m, s1_set, stage, name="s_set", reset=True)
        s_lane = delay(m, s1_lane, stage, name="s_lane")
        s_priority = delay(m, self.priority, 1 + stage, name="s_priority")
        word = data.View(data.ArrayLayout(config.priority_width, lanes), memory.word)
        result = data.View(data.ArrayLayout(config.priority_width, lanes), memory.result)
        old = C(0, config.priority_width)
        for k in range(lanes):
            old = old | (word[k] & s_lane[k].replicate(config.priority_width))
            m.d.comb += result[k].eq(Mux(s_set & s_lane[k], s_priority, word[k]))
        c_old = Signal(config.priority_width, reset_less=True)
        m.d.sync += c_old.eq(old)

        # Change, then total.
        c_set = delay(m, s_set, 1, name="c_set", reset=True)
        c_priority = delay(m, s_priority, 1, name="c_priority")
        c_delta = Signal(signed(config.priority_width + 1))
        m.d.comb += c_delta.eq(Mux(c_set, c_priority - c_old, 0))
        m.d.sync += [
            self.old.eq(c_old),
            self.delta.eq(c_delta),
            self.total.eq(self.running_total),
            self.running_total.eq(Mux(self.clear, 0, self.running_total + c_delta)),
        ]
        return m

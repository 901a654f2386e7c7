"""One level of the sum tree: a node is one word of inclusive prefix sums.

One operation a clock, never stalls; an operation leaves ``latency`` clocks after it entered.
"""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.replay.tree.forwarding_memory import ForwardingMemory
from hw.stream.delay import delay

__all__ = ["TreeLevel", "tree_operation_layout"]


def tree_operation_layout(config, width):
    """An operation on its way from one level to the next; ``width`` is the bits of ``target``,
    ``base`` and ``upper``.

    ``set`` adds ``delta`` along the path of ``index``. ``find`` looks for the leaf that holds
    ``target``; its node covers the prefix sums from ``base`` to ``upper``, and ``index`` is the
    path so far.
    """
    return data.StructLayout(
        {
            "valid": 1,
            "set": 1,
            "find": 1,
            "index": config.index_width,
            "delta": signed(config.priority_width + 1),
            "target": width,
            "base": width,
            "upper": width,
        }
    )


class TreeLevel(wiring.Component):
    """Find: child = #{j : prefix_j <= target}; set: prefix_j += delta for all j >= child.

    With t in [0, node total), the child found has prefix_{child-1} <= t < prefix_child, so a child
    of zero priority is never found. CF'22 section 3.1 (samplers and updaters of one level) does
    this in K clocks; here all K - 1 comparisons and additions happen at once.

    Parameters
    ----------
    config : ReplayConfig
    level : int
        0 is the root.

    Members
    -------
    i : In(tree_operation_layout), o : Out(tree_operation_layout)
        An operation from the level above, and as the level below needs it.
    clear, clear_address : In
        ``clear``: the node ``clear_address``, if there is one, becomes 0. Only while no operation
        is under way.
    """

    def __init__(self, config, level, *, clear_width):
        self.config, self.level = config, level
        self.shape = config.levels[level]
        parent_width = config.levels[max(0, level - 1)].width
        self.memory = ForwardingMemory(
            width=self.shape.word_width,
            depth=self.shape.nodes,
            style=self.shape.style,
            clear_width=clear_width,
        )
        self.latency = self.shape.latency
        super().__init__(
            {
                "i": In(tree_operation_layout(config, parent_width)),
                "o": Out(tree_operation_layout(config, self.shape.width)),
                "clear": In(1),
                "clear_address": In(clear_width),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.memory = memory = self.memory
        shape, stage = self.shape, self.memory.compute_stage
        prefixes = data.ArrayLayout(shape.width, shape.fanout - 1)
        digit = slice(shape.shift, shape.shift + shape.child_width)

        m.d.comb += [
            memory.clear.eq(self.clear),
            memory.clear_address.eq(self.clear_address),
            memory.write.eq(self.i.valid & self.i.set),
        ]
        if shape.nodes > 1:
            m.d.comb += memory.address.eq(self.i.index[shape.shift + self.config.digit_width :])

        # Stage 0: target and total inside this node fit its width, for base <= target < upper.
        s0_target = Signal(shape.width)
        s0_total = Signal(shape.width)
        m.d.comb += [
            s0_target.eq((self.i.target - self.i.base)[: shape.width]),
            s0_total.eq((self.i.upper - self.i.base)[: shape.width]),
        ]
        control = data.StructLayout({"valid": 1, "set": 1, "find": 1})
        s0_control = Signal(control)
        m.d.comb += [
            s0_control.valid.eq(self.i.valid),
            s0_control.set.eq(self.i.set),
            s0_control.find.eq(self.i.find),
        ]

        # Stage C: compare with, and add to, every prefix sum of the word.
        s_control = delay(m, s0_control, stage, name="s_control", reset=True)
        s_target = delay(m, s0_target, stage, name="s_target")
        s_total = delay(m, s0_total, stage, name="s_total")
        s_index = delay(m, self.i.index, stage, name="s_index")
        s_delta = delay(m, self.i.delta, stage, name="s_delta")
        # Thermometer of the child that a set changes, decoded a stage earlier where there is one.
        early = max(0, stage - 1)
        early_index = delay(m, self.i.index, early, name="early_index")
        early_set = delay(m, memory.write, early, name="early_set", reset=True)
        thermometer = Signal(shape.fanout - 1)
        m.d.comb += thermometer.eq(
            Cat(early_set & (early_index[digit] <= j) for j in range(shape.fanout - 1))
        )
        s_change = delay(m, thermometer, stage - early, name="s_change", reset=True)

        word = data.View(prefixes, memory.word)
        result = data.View(prefixes, memory.result)
        reached = Signal(shape.fanout - 1)
        for j in range(shape.fanout - 1):
            m.d.comb += [
                result[j].eq(word[j] + Mux(s_change[j], s_delta, 0)),
                reached[j].eq(s_target >= word[j]),
            ]

        # Stage C + 1: the child is where the thermometer ends; pick the sums on both sides of it.
        e_control = delay(m, s_control, 1, name="e_control", reset=True)
        e_reached = delay(m, reached, 1, name="e_reached")
        e_target = delay(m, s_target, 1, name="e_target")
        e_total = delay(m, s_total, 1, name="e_total")
        e_index = delay(m, s_index, 1, name="e_index")
        e_delta = delay(m, s_delta, 1, name="e_delta")
        committed = data.View(prefixes, memory.committed)
        edges = [0, *(committed[j] for j in range(shape.fanout - 1)), e_total]
        chosen = Signal(shape.fanout)
        m.d.comb += chosen.eq(Cat(1, e_reached) & ~Cat(e_reached, 0))

        def select(values, width):
            """The value whose ``chosen`` bit is set, as an OR; exactly one bit is set."""
            result = C(0, width)
            for bit, value in zip(chosen, values, strict=True):
                if not (isinstance(value, int) and value == 0):
                    result = result | (Value.cast(value) & bit.replicate(width))
            return result

        base = Signal(shape.width)
        upper = Signal(shape.width)
        child = Signal(shape.child_width)
        m.d.comb += [
            base.eq(select(edges[:-1], shape.width)),
            upper.eq(select(edges[1:], shape.width)),
            child.eq(select(list(range(shape.fanout)), shape.child_width)),
        ]
        with m.If(e_control.find):
            m.d.sync += self.o.index.eq(e_index | (child << shape.shift))
        with m.Else():
            m.d.sync += self.o.index.eq(e_index)
        m.d.sync += [
            self.o.valid.eq(e_control.valid),
            self.o.set.eq(e_control.set),
            self.o.find.eq(e_control.find),
            self.o.delta.eq(e_delta),
            self.o.target.eq(e_target),
            self.o.base.eq(base),
            self.o.upper.eq(upper),
        ]
        return m

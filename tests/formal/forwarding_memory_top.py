"""A ``ForwardingMemory`` beside a memory without a pipeline, whose operations are done at once."""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In
from formal.prove import given, holds

from hw.stream.delay import delay

__all__ = ["ForwardingTop"]


class ForwardingTop(wiring.Component):
    """Operations of any kind in any clock; what one writes is free as well.

    A word is known once it was cleared or written. ``clear`` comes only while no operation is under
    way; at other times what stands in the stages is no operation but a bubble.
    """

    def __init__(self, memory):
        self.memory = memory
        ports = memory.signature.members
        inputs = ("address", "write", "clear", "clear_address")
        super().__init__(
            {
                **{name: ports[name] for name in inputs},
                "operation": In(1),
                "value": In(memory.width),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.memory = memory = self.memory
        stage = memory.compute_stage
        for name in ("address", "write", "clear", "clear_address"):
            m.d.comb += getattr(memory, name).eq(getattr(self, name))
        # The same operation where it sees its word.
        under_way = [self.operation]
        for s in range(1, stage + 2):
            under_way.append(delay(m, under_way[-1], 1, name=f"s{s}_operation", reset=True))
        operation = under_way[stage]
        write = delay(m, self.write, stage, name="write", reset=True)
        address = delay(m, self.address, stage, name="address")
        m.d.comb += memory.result.eq(Mux(write, self.value, memory.word))

        words = Array(Signal(memory.width, name=f"word_{k}") for k in range(memory.depth))
        known = Array(Signal(name=f"known_{k}") for k in range(memory.depth))
        with m.If(self.clear & (self.clear_address < memory.depth)):
            m.d.sync += [words[self.clear_address].eq(0), known[self.clear_address].eq(1)]
        with m.Elif(operation & write):
            m.d.sync += [words[address].eq(self.value), known[address].eq(1)]
        last, last_known = Signal(memory.width), Signal()
        m.d.sync += [last.eq(memory.result), last_known.eq(operation & (write | known[address]))]

        given(m, "only_operations_write", ~self.write | self.operation)
        given(m, "addresses_are_words", self.address < memory.depth)
        given(m, "clear_alone", ~(self.clear & Cat(under_way).any()))
        right = memory.word == words[address]
        holds(m, "word_is_of_all_before", ~(operation & known[address]) | right)
        holds(m, "committed_is_result", ~last_known | (memory.committed == last))
        return m

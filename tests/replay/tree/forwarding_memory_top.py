"""A ``ForwardingMemory`` whose operations add to their word, so that a stale word shows at once."""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from hw.replay.tree.forwarding_memory import ForwardingMemory
from hw.stream.delay import delay


class ForwardTop(wiring.Component):
    """``write``: ``memory[address] += value``; ``word`` and ``committed`` as in the memory."""

    def __init__(self, *, width, depth, style):
        self.memory = ForwardingMemory(
            width=width, depth=depth, style=style, clear_width=depth.bit_length() + 1
        )
        ports = self.memory.signature.members
        super().__init__(
            {
                **{
                    name: ports[name]
                    for name in ("address", "write", "word", "committed", "clear", "clear_address")
                },
                "value": In(width),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.memory = memory = self.memory
        value = delay(m, self.value, memory.compute_stage, name="value")
        write = delay(m, self.write, memory.compute_stage, name="write", reset=True)
        m.d.comb += [
            *(
                getattr(memory, name).eq(getattr(self, name))
                for name in ("address", "write", "clear", "clear_address")
            ),
            memory.result.eq(Mux(write, memory.word + value, memory.word)),
            self.word.eq(memory.word),
            self.committed.eq(memory.committed),
        ]
        return m

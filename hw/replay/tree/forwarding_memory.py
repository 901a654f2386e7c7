"""A memory that one pipeline reads, modifies and writes every clock, with forwarding.

Operations enter one a clock at stage 0 and never stall. At stage ``compute_stage`` the operation
sees its word as if every operation before it had been written back; interval 1.
"""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.replay.config import compute_stage
from hw.stream.delay import delay
from hw.stream.ram import Ram

__all__ = ["ForwardingMemory"]


class ForwardingMemory(wiring.Component):
    """``word`` is the value of ``address`` after all earlier operations, bit for bit.

    An operation d clocks behind a write to the same address cannot have read it from the memory if
    d <= C + 1 (C = compute stage: the write lands when the writer is at stage C + 1). It takes the
    writer's result instead: from ``result`` of the last clock for d = 1, else from a history of
    results, one stage earlier so that the modify loop holds one two-way multiplexer only.

    Parameters
    ----------
    width, depth : int
        Bits of a word, and words.
    style : str
        Kind of memory: "distributed", "block" or "ultra".
    clear_width : int
        Bits of ``clear_address``.

    Members
    -------
    address, write : In
        Stage 0. ``write``: this operation will change its word; 0 in clocks without an operation.
    word : Out(width)
        Stage C, that is C clocks after ``address``: the word before the operation changes it.
    result : In(width)
        Stage C, combinational from ``word``; must equal ``word`` if the operation does not write.
    committed : Out(width)
        Stage C + 1: ``result``, registered.
    clear, clear_address : In
        ``clear``: write zeros to ``clear_address`` in this clock, unless it is ``depth`` or more.
        Only while no operation is under way.
    """

    def __init__(self, *, width, depth, style, clear_width):
        self.width, self.depth, self.style = width, depth, style
        self.compute_stage = compute_stage(depth, style)
        assert self.compute_stage <= 3, "a choice of what is newest has two bits"
        super().__init__(
            {
                "address": In(max(1, (depth - 1).bit_length())),
                "write": In(1),
                "word": Out(width),
                "result": In(width),
                "committed": Out(width),
                "clear": In(1),
                "clear_address": In(clear_width),
            }
        )

    def elaborate(self, platform):
        m = Module()
        stage = self.compute_stage
        clear = Signal()
        m.d.comb += clear.eq(self.clear & (self.clear_address < self.depth))
        m.d.sync += self.committed.eq(Mux(clear, 0, self.result))
        if stage == 0:
            m.d.comb += self.word.eq(self.committed)
            return m

        m.submodules.ram = ram = Ram(width=self.width, depth=self.depth, style=self.style)
        # Address and write flag of the operation at each stage up to the one that writes.
        address, write = [self.address], [self.write]
        for s in range(1, stage + 2):
            address.append(delay(m, address[-1], 1, name=f"s{s}_address"))
            write.append(delay(m, write[-1], 1, name=f"s{s}_write", reset=True))
        m.d.comb += [
            ram.read_enable.eq(1),
            ram.read_address.eq(self.address),
            ram.write_enable.eq(write[-1] | clear),
            ram.write_address.eq(Mux(clear, self.clear_address, address[-1])),
            ram.write_data.eq(Mux(clear, 0, self.committed)),
        ]
        # history[k]: the result committed k clocks before `committed`.
        history = [self.committed]
        for k in range(1, stage + 1):
            history.append(delay(m, history[-1], 1, name=f"history_{k}"))

        def newest(distances, at_stage):
            """The distance, counted from 1, of the latest earlier operation that wrote this word; 0
            if none of ``distances`` did. It is encoded, so that a choice among four words is one
            lookup table a bit."""
            choice = Signal(2, name=f"newest_{distances[0]}")
            for number, distance in reversed(list(enumerate(distances, start=1))):
                with m.If(write[distance] & (address[distance] == self.address)):
                    m.d.comb += choice.eq(number)
            return delay(m, choice, at_stage, name=f"newest_{distances[0]}")

        def forward(choice, *words):
            """``words[choice]``; a larger choice gives the last word."""
            first, second, third, fourth = (*words, *[words[-1]] * (4 - len(words)))
            return Mux(choice[1], Mux(choice[0], fourth, third), Mux(choice[0], second, first))

        if stage == 1:
            m.d.comb += self.word.eq(forward(newest([1, 2], 1), ram.read_data, *history[:2]))
        else:
            read = delay(m, ram.read_data, stage - 2, name="read")
            s_word = Signal(self.width, reset_less=True)
            choice = newest(list(range(2, stage + 2)), stage - 1)
            m.d.sync += s_word.eq(forward(choice, read, *history[:stage]))
            m.d.comb += self.word.eq(Mux(newest([1], stage)[0], self.committed, s_word))
        return m

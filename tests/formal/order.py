"""The order in which an environment owes things: a queue of registers, of a model and no unit."""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Order"]


class Order(wiring.Component):
    """``first`` is the oldest ``word`` that was put and not yet dropped, if ``some`` is 1.

    ``full``: a further one would be lost; a proof holds that there is none.
    """

    def __init__(self, width, capacity):
        self.width, self.capacity = width, capacity
        super().__init__(
            {
                "put": In(1),
                "word": In(width),
                "drop": In(1),
                "first": Out(width),
                "some": Out(1),
                "full": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        words = [Signal(self.width, name=f"word_{k}") for k in range(self.capacity)]
        count = Signal(range(self.capacity + 1))
        after = Signal.like(count)  # words that stay in this clock
        m.d.comb += [
            self.first.eq(words[0]),
            self.some.eq(count != 0),
            self.full.eq(count == self.capacity),
            after.eq(count - self.drop),
        ]
        m.d.sync += count.eq(after + self.put)
        for k, word in enumerate(words):
            with m.If(self.put & (after == k)):
                m.d.sync += word.eq(self.word)
            with m.Elif(self.drop & (k + 1 < self.capacity)):
                m.d.sync += word.eq(words[min(k + 1, self.capacity - 1)])
        return m

"""Follows one word, any, from the stream where it enters to the stream where it leaves."""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Watch"]


class Watch(wiring.Component):
    """Words that entered leave in their order, none lost, doubled or changed: ``right`` says so.

    Parameters
    ----------
    width : int
        Bits of a word.
    capacity : int
        Words that may be between the two sides; ``right`` is 0 with more than that.

    Members
    -------
    enter, leave : In(1)
        A word enters or leaves in this clock. One may leave in the clock in which it enters.
    entering, leaving : In(width)
    mark : In(1)
        Free: follow the word that enters, if none is being followed. Since any may be, what holds
        of the one holds of all.
    held : Out(range(capacity + 2))
        Words between the two sides.
    right : Out(1)
    """

    def __init__(self, width, capacity):
        self.capacity = capacity
        super().__init__(
            {
                "enter": In(1),
                "entering": In(width),
                "leave": In(1),
                "leaving": In(width),
                "mark": In(1),
                "held": Out(range(capacity + 2)),
                "right": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        following, word = Signal(), Signal.like(self.entering)
        ahead = Signal.like(self.held)  # words that leave before the one that is followed
        arrives, empty = Signal(), Signal()
        m.d.comb += [
            empty.eq((self.held == 0) & ~self.enter),
            arrives.eq(following & self.leave & (ahead == 0)),
            self.right.eq(
                (self.held <= self.capacity)
                & ~(self.leave & empty)
                & ~(arrives & (word != self.leaving))
                & ~(self.leave & (self.held == 0) & (self.leaving != self.entering))
            ),
        ]
        m.d.sync += self.held.eq(self.held + self.enter - self.leave)
        with m.If(following):
            with m.If(self.leave):
                m.d.sync += ahead.eq(ahead - 1)
            with m.If(arrives):
                m.d.sync += following.eq(0)
        with m.Elif(self.enter & self.mark & ~(self.leave & (self.held == 0))):
            m.d.sync += [following.eq(1), word.eq(self.entering), ahead.eq(self.held - self.leave)]
        return m

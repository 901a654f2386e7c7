"""Follows one request, any, from where it is taken to its bursts, their answers and its token."""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from formal.narrow import request_shape

__all__ = ["RequestWatch"]


class RequestWatch(wiring.Component):
    """Each request is asked for beat after beat, in turn, in bursts that lie inside a block.

    Parameters
    ----------
    burst_beats : int
    capacity : int
        Bursts that may be under way; ``right`` is 0 with more.

    Members
    -------
    take, address, beats : In
        A request is taken. Addresses count beats.
    issue, at, length : In
        A burst of ``length`` beats leaves.
    answer, bad : In
        The oldest burst was answered, with an error or not.
    give, failed : In
        The token of the oldest request is given, which says that it failed.
    mark : In(1)
        Free: follow the request that is taken, if none is.
    unasked : Out
        Beats of the requests that are here for which no burst has left.
    bursts : Out
        Bursts that have left and are not answered.
    owed : Out
        Requests without their token.
    asked : Out(1)
        The bursts are right.
    told : Out(1)
        The tokens are right.
    """

    def __init__(self, burst_beats, capacity):
        self.burst_beats, self.capacity = burst_beats, capacity
        request = request_shape()
        beats_width = len(Signal(request["beats"].shape))
        flags = ("take", "issue", "answer", "bad", "give", "failed", "mark")
        super().__init__(
            {
                **{name: In(1) for name in flags},
                "address": In(request["address"].shape),
                "at": In(request["address"].shape),
                "beats": In(beats_width),
                "length": In(range(burst_beats + 1)),
                "unasked": Out(beats_width + 2),
                "bursts": Out(range(capacity + 2)),
                "owed": Out(range(capacity + 5)),
                "asked": Out(1),
                "told": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        take, following = Signal(), Signal()
        ahead = Signal.like(self.unasked)  # beats to be asked for before those that are followed
        address, left = Signal.like(self.address), Signal.like(self.beats)
        mine = Signal()  # the burst that leaves is of the request that is followed
        within = self.at % self.burst_beats + self.length <= self.burst_beats
        inside = Mux(
            ahead != 0,
            self.length <= ahead,
            ~following | (left == 0) | ((self.at == address) & (self.length <= left)),
        )
        m.d.comb += [
            take.eq(self.take & (self.beats != 0)),
            mine.eq(self.issue & following & (ahead == 0) & (left != 0)),
            self.asked.eq(
                ~self.issue | ((self.length != 0) & (self.length <= self.unasked) & within & inside)
            ),
        ]
        m.d.sync += [
            self.unasked.eq(
                self.unasked + Mux(take, self.beats, 0) - Mux(self.issue, self.length, 0)
            ),
            self.bursts.eq(self.bursts + self.issue - self.answer),
            self.owed.eq(self.owed + take - self.give),
        ]

        # Answers and tokens to come before those of the request that is followed.
        answers, tokens = Signal.like(self.bursts), Signal.like(self.owed)
        open_, failed, started = Signal.like(self.bursts), Signal(), Signal()
        arrives, answered = Signal(), Signal()
        m.d.comb += [
            answered.eq(self.answer & following & started & (answers == 0) & (open_ != 0)),
            arrives.eq(following & self.give & (tokens == 0)),
            self.told.eq(
                (self.bursts <= self.capacity)
                & ~(self.give & (self.owed == 0))
                & ~(arrives & ((left != 0) | (open_ != 0) | (failed != self.failed)))
            ),
        ]
        with m.If(following):
            with m.If(self.issue & (ahead != 0)):
                m.d.sync += ahead.eq(ahead - self.length)
            with m.If(mine):
                m.d.sync += [
                    left.eq(left - self.length),
                    address.eq(address + self.length),
                    started.eq(1),
                ]
            m.d.sync += open_.eq(open_ + mine - answered)
            with m.If(mine & ~started):
                m.d.sync += answers.eq(self.bursts - self.answer)
            with m.Elif(self.answer & (answers != 0)):
                m.d.sync += answers.eq(answers - 1)
            with m.If(answered):
                m.d.sync += failed.eq(failed | self.bad)
            with m.If(self.give & (tokens != 0)):
                m.d.sync += tokens.eq(tokens - 1)
            with m.If(arrives):
                m.d.sync += following.eq(0)
        with m.Elif(take & self.mark):
            m.d.sync += [
                following.eq(1),
                ahead.eq(self.unasked - Mux(self.issue, self.length, 0)),
                address.eq(self.address),
                left.eq(self.beats),
                tokens.eq(self.owed - self.give),
                started.eq(0),
                open_.eq(0),
                failed.eq(0),
            ]
        return m

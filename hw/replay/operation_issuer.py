"""Issues the operations of a command to the replay manager, and counts and passes on its answers.

Items of a list are passed on. Draws, and insertions without a list, are made here, one a clock.
"""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hw.replay.commands import MAX_COUNT
from hw.replay.tree.operations import Operation, request_layout, response_layout

__all__ = ["OperationIssuer"]


class OperationIssuer(wiring.Component):
    """Sends ``count`` requests and takes ``count`` answers; answers of a batch go to the gather
    engine.

    Parameters
    ----------
    config : ReplayConfig

    Members
    -------
    count, is_list, is_insert, is_batch, is_find : In
        The command's count and kind: its requests come from ``items``; it is an INSERT; its answers
        go to ``answer``; it is a FIND. Steady from ``start`` to ``complete``, ``is_list`` from the
        clock after ``start``.
    start : In(1)
        One clock, before the first request: ``count`` answers are to come.
    begin : In(1)
        One clock: begin the requests of a SAMPLE, or of an INSERT without a list.
    position, entry : In
        For an INSERT: place and priority of the experience that enters with the next request.
    advance : Out(1)
        A request of an INSERT was taken in this clock: the next experience enters.
    items : In(stream of request_layout)
        Requests of a list, from ``ItemReader``.
    request : Out(stream of request_layout), response : In(stream of response_layout)
        Requests to the replay manager, and its answers.
    answer : Out(stream of response_layout)
        The answers, if ``is_batch``; otherwise they are dropped.
    answered, complete : Out(1)
        ``answered``: an answer is taken in this clock. ``complete``: high when all ``count``
        answers have been taken, until the next ``start``.
    missed, detail : Out
        ``missed``: since ``start`` a FIND has had a target at or past the total. ``detail`` is the
        number of the first such FIND, from 0.
    """

    def __init__(self, config):
        self.config = config
        request, response = request_layout(config), response_layout(config)
        flags = ("is_list", "is_insert", "is_batch", "is_find", "start", "begin")
        super().__init__(
            {
                "count": In(range(MAX_COUNT + 1)),
                **{name: In(1) for name in flags},
                "position": In(range(config.capacity + 1)),
                "entry": In(config.priority_width),
                "advance": Out(1),
                "items": In(stream.Signature(request)),
                "request": Out(stream.Signature(request)),
                "response": In(stream.Signature(response)),
                "answer": Out(stream.Signature(response)),
                "answered": Out(1),
                "complete": Out(1),
                "missed": Out(1),
                "detail": Out(32),
            }
        )

    def elaborate(self, platform):
        m = Module()
        to_ask, to_answer = Signal.like(self.count), Signal.like(self.count)
        request = self.request.p
        with m.If(self.is_list):
            connect(m, flipped(self.items), flipped(self.request))
        with m.Else():
            m.d.comb += [
                self.request.valid.eq(to_ask != 0),
                request.operation.eq(Mux(self.is_insert, Operation.SET, Operation.SAMPLE)),
                request.index.eq(self.position),
                request.value.eq(self.entry),
                request.first.eq(to_ask == self.count),
            ]
            with m.If(self.request.valid & self.request.ready):
                m.d.sync += to_ask.eq(to_ask - 1)
        m.d.comb += self.advance.eq(self.is_insert & self.request.valid & self.request.ready)
        with m.If(self.begin):
            m.d.sync += to_ask.eq(self.count)

        m.d.comb += [
            self.answer.payload.eq(self.response.payload),
            self.answer.valid.eq(self.response.valid & self.is_batch),
            self.response.ready.eq(~self.is_batch | self.answer.ready),
            self.answered.eq(self.response.valid & self.response.ready),
            self.complete.eq(to_answer == 0),
        ]
        with m.If(self.start):
            m.d.sync += [to_answer.eq(self.count), self.missed.eq(0), self.detail.eq(0)]
        with m.Elif(self.answered):
            m.d.sync += to_answer.eq(to_answer - 1)
            # Of bad items only these are found here; the list finds the others.
            with m.If(self.is_find & self.response.p.error & ~self.missed):
                m.d.sync += [self.missed.eq(1), self.detail.eq(self.count - to_answer)]
        return m

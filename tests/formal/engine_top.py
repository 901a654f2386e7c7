"""A read or write engine between requests of any kind and a memory that keeps to AXI, no more."""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In
from formal.narrow import request_shape
from formal.prove import given, holds
from formal.request_watch import RequestWatch
from formal.stream_top import kept, stable
from formal.watch import Watch

__all__ = ["ReadTop", "WriteTop", "request_of"]

#: Bits of data that a proof leaves free.
DATA = 2


def request_of(m, end, watch, of, beat_bits):
    """Requests of the free members ``of`` at ``end``; ``watch`` sees them."""
    m.d.comb += [
        end.valid.eq(of.valid),
        end.p.address.eq(of.p.address << beat_bits),
        end.p.beats.eq(of.p.beats),
        watch.take.eq(end.valid & end.ready),
        watch.address.eq(of.p.address),
        watch.beats.eq(of.p.beats),
    ]


def request_members():
    return {"request": In(stream.Signature(request_shape())), "mark": In(2)}


def address_of(m, end, watch, beat_bits):
    m.d.comb += [
        watch.issue.eq(end.valid & end.ready),
        watch.at.eq(end.p.addr >> beat_bits),
        watch.length.eq(end.p.len + 1),
    ]


class ReadTop(wiring.Component):
    def __init__(self, engine):
        self.engine = engine
        word = stream.Signature(DATA)
        super().__init__(
            {
                **request_members(),
                "ar_ready": In(1),
                "r": In(word),
                "bad": In(1),
                "data_ready": In(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.engine = engine = self.engine
        config = engine.config
        m.submodules.requests = requests = RequestWatch(config.burst_beats, 1)
        m.submodules.beats = beats = Watch(DATA + 1, config.depth)
        request_of(m, engine.request, requests, self.request, 2)
        address_of(m, engine.ar, requests, 2)
        owed = Signal(range(2 * config.depth + 2))  # beats that were asked for and did not come
        come = engine.r.valid & engine.r.ready
        m.d.sync += owed.eq(owed + Mux(requests.issue, requests.length, 0) - come)
        m.d.comb += [
            engine.ar.ready.eq(self.ar_ready),
            engine.r.valid.eq(self.r.valid),
            engine.r.p.data.eq(self.r.payload),
            engine.r.p.resp.eq(self.bad << 1),
            self.r.ready.eq(engine.r.ready),
            engine.data.ready.eq(self.data_ready),
            requests.mark.eq(self.mark[0]),
            beats.mark.eq(self.mark[1]),
            beats.enter.eq(come),
            beats.entering.eq(Cat(self.r.payload, self.bad)),
            beats.leave.eq(engine.data.valid & engine.data.ready),
            beats.leaving.eq(Cat(engine.data.p.data[:DATA], engine.data.p.error)),
        ]
        given(m, "memory_answers_what_was_asked", ~self.r.valid | (owed != 0))
        holds(m, "bursts_are_the_requests", requests.asked)
        holds(m, "ar_is_stable", stable(m, engine.ar, "ar"))
        holds(m, "credits_within_depth", owed + beats.held <= config.depth)
        holds(m, "r_has_room", (owed == 0) | engine.r.ready)
        holds(m, "beats_in_order", beats.right)
        here = owed + beats.held
        holds(m, "busy_while_beats_are_owed", engine.busy == ((requests.unasked + here) != 0))
        waits = (requests.unasked != 0) & (here == 0) & ~engine.ar.valid
        holds(m, "soon_asked", kept(m, waits, engine.ADDRESS_LATENCY - 1, "waits"))
        return m


class WriteTop(wiring.Component):
    def __init__(self, engine):
        self.engine = engine
        word = stream.Signature(DATA)
        members = {"aw_ready": In(1), "data": In(word), "w_ready": In(1), "b_valid": In(1)}
        super().__init__(
            {
                **request_members(),
                **members,
                "bad": In(1),
                "done_ready": In(1),
                "mark_length": In(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.engine = engine = self.engine
        config = engine.config
        m.submodules.requests = requests = RequestWatch(config.burst_beats, config.bursts)
        m.submodules.beats = beats = Watch(DATA, config.depth)
        m.submodules.lengths = lengths = Watch(2, config.bursts)
        request_of(m, engine.request, requests, self.request, 2)
        address_of(m, engine.aw, requests, 2)
        waiting, offer = Signal(), Signal()  # the burst on AW was there before, is there anew
        owed = Signal(range(2 * config.depth + 2))  # beats of bursts that AW offered, not yet on W
        complete = Signal.like(requests.bursts)  # bursts of which all beats were on W, unanswered
        sent = Signal(8)  # beats of this burst that were on W
        move = engine.w.valid & engine.w.ready
        ends = move & engine.w.p.last
        m.d.sync += [
            waiting.eq(engine.aw.valid & ~engine.aw.ready),
            owed.eq(owed + Mux(offer, requests.length, 0) - move),
            sent.eq(Mux(ends, 0, sent + move)),
            complete.eq(complete + ends - requests.answer),
        ]
        m.d.comb += [
            engine.aw.ready.eq(self.aw_ready),
            engine.data.valid.eq(self.data.valid),
            engine.data.payload.eq(self.data.payload),
            self.data.ready.eq(engine.data.ready),
            engine.w.ready.eq(self.w_ready),
            engine.b.valid.eq(self.b_valid),
            engine.b.p.resp.eq(self.bad << 1),
            engine.done.ready.eq(self.done_ready),
            beats.mark.eq(self.mark[1]),
            beats.enter.eq(engine.data.valid & engine.data.ready),
            beats.entering.eq(self.data.payload),
            beats.leave.eq(move),
            beats.leaving.eq(engine.w.p.data),
            lengths.mark.eq(self.mark_length),
            offer.eq(engine.aw.valid & ~waiting),
            lengths.enter.eq(offer),
            lengths.entering.eq(requests.length - 1),
            lengths.leave.eq(ends),
            lengths.leaving.eq(sent),
            requests.mark.eq(self.mark[0]),
            requests.answer.eq(engine.b.valid & engine.b.ready),
            requests.bad.eq(self.bad),
            requests.give.eq(engine.done.valid & engine.done.ready),
            requests.failed.eq(engine.done.payload),
        ]
        written = (complete != 0) & (requests.bursts != 0)  # all its data, and its address
        given(m, "memory_answers_what_was_written", ~self.b_valid | written)
        holds(m, "bursts_are_the_requests", requests.asked)
        holds(m, "aw_is_stable", stable(m, engine.aw, "aw"))
        holds(m, "offered_beats_are_here", owed <= beats.held)
        # Whatever AWREADY did: W waits for nothing, neither before a burst nor inside one.
        holds(m, "w_follows_the_offer", (owed == 0) | engine.w.valid)
        holds(m, "w_not_before_the_offer", ~engine.w.valid | (owed != 0))
        holds(m, "w_is_stable", stable(m, engine.w, "w"))
        holds(m, "beats_in_order", beats.right)
        holds(m, "last_is_of_its_burst", lengths.right)
        holds(m, "a_token_a_request", requests.told)
        holds(m, "done_is_stable", stable(m, engine.done, "done"))
        holds(m, "busy_while_tokens_are_owed", engine.busy == (requests.owed != 0))
        free = (beats.held - owed) >= config.burst_beats
        waits = (requests.unasked != 0) & free & (requests.bursts == 0) & ~engine.aw.valid
        holds(m, "soon_announced", kept(m, waits, 1, "waits"))
        return m

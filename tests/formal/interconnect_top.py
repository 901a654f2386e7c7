"""An interconnect between ports that ask for anything and a memory that answers in turn.

Bit ``PORT`` of an address says whose the request is, so that the memory's side can tell.
"""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In
from formal.narrow import ADDRESS_WIDTH, BEAT_BITS, PORT, request_shape
from formal.order import Order
from formal.prove import given, holds
from formal.request_watch import RequestWatch
from formal.stream_top import stable
from formal.watch import Watch

__all__ = ["ReadsTop", "WritesTop", "ArbiterTop"]

WIDTH = 1


def watched(m, top, number, end, burst, *, burst_beats, capacity):
    """Requests of a port at ``end``, and their watch by the bursts of all ports at ``burst``.

    Returns the watch and whether the burst on offer is of this port.
    """
    watch = RequestWatch(burst_beats, capacity)
    m.submodules[f"requests_{number}"] = watch
    free = top.requests[number]
    own = Signal(name=f"own_{number}")
    m.d.comb += [
        end.valid.eq(free.valid),
        end.p.address.eq((free.p.address << BEAT_BITS) | (number << PORT)),
        end.p.beats.eq(free.p.beats),
        own.eq(burst.p.address[PORT] == number),
        watch.take.eq(end.valid & end.ready),
        watch.address.eq(free.p.address),
        watch.beats.eq(free.p.beats),
        watch.issue.eq(burst.valid & burst.ready & own),
        watch.at.eq(burst.p.address >> BEAT_BITS),
        watch.length.eq(burst.p.beats),
        watch.mark.eq(top.mark_request[number]),
    ]
    # No carry into the bit that says whose it is.
    ends = free.p.address + free.p.beats
    given(m, f"addresses_{number}_are_the_ports", ends <= 1 << ADDRESS_WIDTH)
    return watch


class ArbiterTop(wiring.Component):
    """``tokens`` and credits come back at any time, no more than were taken.

    ``bound``: clocks in which the arbiter could send, from a request that has its credits and token
    to its burst, at most.
    """

    def __init__(self, arbiter, bound):
        self.arbiter, self.bound = arbiter, bound
        ports = arbiter.config.ports
        super().__init__(
            {
                "requests": In(stream.Signature(request_shape())).array(ports),
                "mark_request": In(ports),
                "credit": In(ports),
                "token": In(ports),
                "o_ready": In(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.arbiter = arbiter = self.arbiter
        config, o = arbiter.config, arbiter.o
        m.d.comb += [
            o.ready.eq(self.o_ready),
            arbiter.credit.eq(self.credit),
            arbiter.token.eq(self.token),
        ]
        holds(m, "o_is_stable", stable(m, o, "o"))
        for n in range(config.ports):
            watch = watched(
                m, self, n, arbiter.requests[n], o, burst_beats=config.burst_beats, capacity=1
            )
            depth = config.port(n).depth
            # As many as the port may claim, beats that stand in ``o`` not yet among the claimed.
            credits = Signal(range(depth + 1), init=arbiter.credits[n], name=f"has_{n}")
            given(m, f"credit_{n}_came_back", ~self.credit[n] | (credits < depth))
            taken = Mux(watch.issue, watch.length, 0)
            m.d.sync += credits.eq(credits + self.credit[n] - taken)
            holds(m, f"bursts_are_the_requests_{n}", watch.asked)
            holds(m, f"burst_has_its_credits_{n}", ~watch.issue | (watch.length <= credits))
            holds(m, f"port_is_the_requests_{n}", ~watch.issue | (o.p.port == n))
            able = (watch.unasked != 0) & (credits >= config.burst_beats)
            if arbiter.tokens is not None:
                tokens = Signal(range(arbiter.tokens + 1), init=arbiter.tokens, name=f"tokens_{n}")
                given(m, f"token_{n}_came_back", ~self.token[n] | (tokens < arbiter.tokens))
                m.d.sync += tokens.eq(tokens + self.token[n] - (watch.issue & o.p.last))
                holds(m, f"last_has_its_token_{n}", ~(watch.issue & o.p.last) | (tokens != 0))
                able &= tokens != 0
            waited = Signal(range(self.bound + 2), name=f"waited_{n}")
            with m.If(~able | watch.issue):
                m.d.sync += waited.eq(0)
            with m.Elif(~o.valid | o.ready):
                m.d.sync += waited.eq(waited + 1)
            holds(m, f"soon_granted_{n}", waited < self.bound)
        return m


class ReadsTop(wiring.Component):
    """Beats come two clocks after their request at the earliest, in turn, at any pace."""

    def __init__(self, unit):
        self.unit = unit
        ports = unit.config.ports
        super().__init__(
            {
                "requests": In(stream.Signature(request_shape())).array(ports),
                "mark_request": In(ports),
                "mark_beat": In(ports),
                "take": In(ports),
                "request_ready": In(1),
                "beat": In(stream.Signature(WIDTH)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.unit = unit = self.unit
        config, memory = unit.config, unit.memory
        m.submodules.order = order = Order(2, config.bursts + 1)  # port and beats - 1
        come = Signal()
        through = Signal()  # beats of the burst that came already (of two)
        waited = Signal()  # a burst that left in the clock before is not answered yet
        last = through == order.first[0]
        issue = memory.request.valid & memory.request.ready
        m.d.comb += [
            memory.request.ready.eq(self.request_ready),
            memory.data.valid.eq(self.beat.valid),
            memory.data.p.data.eq(self.beat.payload),
            self.beat.ready.eq(memory.data.ready),
            come.eq(memory.data.valid & memory.data.ready),
            order.put.eq(issue),
            order.word.eq(Cat(memory.request.p.beats - 1 == 1, memory.request.p.address[PORT])),
            order.drop.eq(come & last),
        ]
        m.d.sync += waited.eq(issue)
        with m.If(come):
            m.d.sync += through.eq(Mux(last, 0, through + 1))
        only_new = Signal(range(config.bursts + 2))
        m.d.sync += only_new.eq(only_new + issue - (come & last))
        old = only_new > waited
        given(m, "memory_answers_two_clocks_later", ~self.beat.valid | old)
        holds(m, "bursts_are_remembered", ~(order.full & issue & ~order.drop))
        holds(m, "memory_never_waits", ~old | memory.data.ready)
        holds(m, "request_is_stable", stable(m, memory.request, "request"))
        for n in range(config.ports):
            client = unit.ports[n]
            requests = watched(
                m, self, n, client.request, memory.request,
                burst_beats=config.burst_beats, capacity=1,
            )  # fmt: skip
            depth = config.port(n).depth
            m.submodules[f"beats_{n}"] = beats = Watch(WIDTH, depth)
            m.d.comb += [
                client.data.ready.eq(self.take[n]),
                beats.mark.eq(self.mark_beat[n]),
                beats.enter.eq(come & (order.first[1] == n)),
                beats.entering.eq(self.beat.payload),
                beats.leave.eq(client.data.valid & client.data.ready),
                beats.leaving.eq(client.data.p.data[:WIDTH]),
            ]
            owed = Signal(range(2 * depth + 2), name=f"owed_{n}")
            m.d.sync += owed.eq(owed + Mux(requests.issue, requests.length, 0) - beats.enter)
            holds(m, f"bursts_are_the_requests_{n}", requests.asked)
            holds(m, f"beats_in_order_{n}", beats.right)
            holds(m, f"credits_within_depth_{n}", owed + beats.held <= depth)
            holds(m, f"data_is_stable_{n}", stable(m, client.data, f"data_{n}"))
        return m


class WritesTop(wiring.Component):
    """Memory takes requests and beats at any pace; it answers a burst when it has all of it."""

    def __init__(self, unit):
        self.unit = unit
        ports = unit.config.ports
        super().__init__(
            {
                "requests": In(stream.Signature(request_shape())).array(ports),
                "mark_request": In(ports),
                "mark_beat": In(ports),
                "beats": In(stream.Signature(WIDTH)).array(ports),
                "take": In(ports),
                "request_ready": In(1),
                "beat_ready": In(1),
                "done": In(1),
                "failed": In(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.unit = unit = self.unit
        config, memory = unit.config, unit.memory
        m.submodules.order = order = Order(2, config.bursts)  # port and beats - 1
        m.submodules.answers = answers = Order(1, config.bursts)  # port
        through = Signal()  # beats of the burst that went already (of two)
        complete = Signal(range(config.bursts + 2))  # bursts that wait for their answer alone
        issue = memory.request.valid & memory.request.ready
        move = memory.data.valid & memory.data.ready
        last = through == order.first[0]
        answer = memory.done.valid & memory.done.ready
        port = memory.request.p.address[PORT]
        m.d.comb += [
            memory.request.ready.eq(self.request_ready),
            memory.data.ready.eq(self.beat_ready),
            memory.done.valid.eq(self.done),
            memory.done.payload.eq(self.failed),
            order.put.eq(issue),
            order.word.eq(Cat(memory.request.p.beats - 1 == 1, port)),
            order.drop.eq(move & last),
            answers.put.eq(issue),
            answers.word.eq(port),
            answers.drop.eq(answer),
        ]
        m.d.sync += complete.eq(complete + (move & last) - answer)
        with m.If(move):
            m.d.sync += through.eq(Mux(last, 0, through + 1))
        given(m, "memory_answers_what_it_has", ~self.done | (complete != 0))
        holds(m, "bursts_are_remembered", ~(issue & (answers.full | order.full)))
        holds(m, "memory_never_waits", ~self.done | memory.done.ready)
        holds(m, "request_is_stable", stable(m, memory.request, "request"))
        holds(m, "data_after_its_request", ~memory.data.valid | order.some)
        holds(m, "data_at_once", ~order.some | memory.data.valid)
        for n in range(config.ports):
            client = unit.ports[n]
            requests = watched(
                m, self, n, client.request, memory.request,
                burst_beats=config.burst_beats, capacity=config.bursts,
            )  # fmt: skip
            m.submodules[f"beats_{n}"] = beats = Watch(WIDTH, config.port(n).depth)
            m.d.comb += [
                client.data.valid.eq(self.beats[n].valid),
                client.data.payload.eq(self.beats[n].payload),
                client.done.ready.eq(self.take[n]),
                beats.mark.eq(self.mark_beat[n]),
                beats.enter.eq(client.data.valid & client.data.ready),
                beats.entering.eq(self.beats[n].payload),
                beats.leave.eq(move & (order.first[1] == n)),
                beats.leaving.eq(memory.data.payload[:WIDTH]),
                requests.answer.eq(answer & (answers.first == n)),
                requests.bad.eq(self.failed),
                requests.give.eq(client.done.valid & client.done.ready),
                requests.failed.eq(client.done.payload),
            ]
            announced = Signal(range(2 * config.port(n).depth + 2), name=f"announced_{n}")
            taken = Mux(requests.issue, requests.length, 0)
            m.d.sync += announced.eq(announced + taken - beats.leave)
            holds(m, f"bursts_are_the_requests_{n}", requests.asked)
            holds(m, f"beats_in_order_{n}", beats.right)
            holds(m, f"announced_beats_are_here_{n}", announced <= beats.held)
            holds(m, f"a_token_a_request_{n}", requests.told)
            holds(m, f"done_is_stable_{n}", stable(m, client.done, f"done_{n}"))
        return m

"""Lets several ports share one: requests go by turns, answers return in the order of the requests.

One beat a clock in either direction, without a bubble between bursts of different ports. If the
owner of a port does not take data or tokens, or does not bring data, no other port is delayed.
"""

from dataclasses import dataclass

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.config import ConfigBase, check_range, freeze_lists
from hw.errors import UsageError
from hw.shell.arbiter import Arbiter, Owners
from hw.shell.axi import EngineConfig
from hw.shell.ports import read_port, write_port
from hw.stream.queue import Queue

__all__ = ["InterconnectConfig", "ReadInterconnect", "WriteInterconnect"]


@dataclass(frozen=True, kw_only=True)
class InterconnectConfig(ConfigBase):
    """Sizes of a read or write interconnect.

    data_width : bits of a beat.
    ports : ports that share the memory, 1 to 16.
    depth : beats of data that may wait for a port: a number for all, or one for each port.
    burst_beats : beats of the longest burst, a power of two. Requests are cut at addresses that are
        multiples of this number; with the number of the engine, its bursts stay the same.
    bursts : the most bursts of all ports together that memory has not yet finished.
    tokens : the most tokens of finished writes that may wait for a port; a write has its place
        from the issue of its last burst on.
    style : style of the memory in which the beats wait, one of ``RAM_STYLES``.
    """

    data_width: int = 512
    ports: int = 2
    depth: int | tuple[int, ...] = 32
    burst_beats: int = 16
    bursts: int = 32
    tokens: int = 16
    style: str = "auto"

    def __post_init__(self):
        check_range("ports", self.ports, 1, 16)
        freeze_lists(self, "depth")
        if isinstance(self.depth, tuple) and len(self.depth) != self.ports:
            raise UsageError(
                f"depth must be one number or {self.ports}, one a port, not {self.depth!r}"
            )
        check_range("tokens", self.tokens, 1, 1024)
        for port in range(self.ports):
            self.port(port)

    def port(self, number):
        """The ``EngineConfig`` of port ``number``: its queue and bursts are as an engine's."""
        return EngineConfig(
            data_width=self.data_width,
            depth=self.depth[number] if isinstance(self.depth, tuple) else self.depth,
            burst_beats=self.burst_beats,
            bursts=self.bursts,
            style=self.style,
        )


def _issue(m, burst, request, *queues):
    """A burst of the arbiter goes out as a request when every queue has a place to remember it."""
    room = Cat(queue.ready for queue in queues).all()
    m.d.comb += [
        request.valid.eq(burst.valid & room),
        request.p.address.eq(burst.p.address),
        request.p.beats.eq(burst.p.beats),
        burst.ready.eq(request.ready & room),
    ]
    for queue in queues:
        m.d.comb += queue.valid.eq(burst.valid & burst.ready)
        for name, _ in queue.payload.shape():
            m.d.comb += queue.payload[name].eq(burst.payload[name])


class ReadInterconnect(wiring.Component):
    """Lets several read ports share one: each of ``ports`` gets the beats that it asked for, in
    the order of its requests.

    A burst is asked for only when its port's queue has room for all of its beats, so
    ``memory.data`` never waits (if it comes two clocks after its request, or later).

    Parameters
    ----------
    config : InterconnectConfig
        ``tokens`` is ignored.

    Members
    -------
    ports : In(read_port(data_width)).array(config.ports)
        The ports that share memory.
    memory : Out(read_port(data_width))
        The port of memory; its requests are single bursts.
    """

    REQUEST_LATENCY = Arbiter.LATENCY

    def __init__(self, config):
        self.config = config
        port = read_port(config.data_width)
        super().__init__({"ports": In(port).array(config.ports), "memory": Out(port)})

    @classmethod
    def latency_of(cls, config, beats, memory_latency, port=0):
        """Clocks from the taking of one request of ``beats`` beats to the transfer of its last beat
        to ``port``.

        The other ports are silent. Memory brings the first beat of a burst ``memory_latency``
        clocks after it takes the request, then a beat a clock. This holds with ``depth`` at least
        ``memory_latency`` + ``burst_beats`` + 3 and ``bursts`` above ``memory_latency``.
        """
        back = Queue.latency_of(config.port(port).depth)
        return cls.REQUEST_LATENCY + memory_latency + back + beats - 1

    def elaborate(self, platform):
        m = Module()
        config = self.config
        ports = [config.port(number) for number in range(config.ports)]
        m.submodules.arbiter = arbiter = Arbiter(config, [port.depth for port in ports])
        m.submodules.owners = owners = Owners(config)
        _issue(m, arbiter.o, self.memory.request, owners.i)
        beat = self.memory.data
        m.d.comb += [beat.ready.eq(owners.o.valid), owners.o.ready.eq(beat.valid)]
        for number, port in enumerate(ports):
            client = wiring.flipped(self.ports[number])
            wiring.connect(m, client.request, arbiter.requests[number])
            queue = Queue(beat.payload.shape(), port.depth, port.style)
            m.submodules[f"queue_{number}"] = queue
            wiring.connect(m, queue.o, client.data)
            own = owners.o.valid & (owners.o.payload == number)
            m.d.comb += [
                Value.cast(queue.i.payload).eq(Value.cast(beat.payload)),
                queue.i.valid.eq(beat.valid & own),  # there is room: the burst had its credits
                arbiter.credit[number].eq(queue.o.valid & queue.o.ready),
            ]
        return m


class WriteInterconnect(wiring.Component):
    """Lets several write ports share one: each of ``ports`` has a token for each of its requests,
    in their order.

    A burst is announced only when all of its beats stand in its port's queue, so data follows at
    once; the last burst of a request only when there is a place for its token as well, so
    ``memory.done`` never waits. A token is 1 if any burst of its request failed.

    Parameters
    ----------
    config : InterconnectConfig

    Members
    -------
    ports : In(write_port(data_width)).array(config.ports)
        The ports that share memory.
    memory : Out(write_port(data_width))
        The port of memory; its requests are single bursts.
    """

    REQUEST_LATENCY = Arbiter.LATENCY

    def __init__(self, config):
        self.config = config
        port = write_port(config.data_width)
        super().__init__({"ports": In(port).array(config.ports), "memory": Out(port)})

    @classmethod
    def latency_of(cls, config, beats, memory_latency):
        """Clocks from the taking of one request of ``beats`` beats, together with its first beat,
        to the transfer of its token.

        The other ports are silent, data comes a beat a clock, and the address is a multiple of
        ``burst_beats`` beats. Memory takes a beat a clock and answers each burst ``memory_latency``
        clocks after its last beat. This holds with ``depth`` at least ``burst_beats`` + 4
        and ``bursts`` above ``memory_latency`` + 2.
        """
        first = max(cls.REQUEST_LATENCY, min(beats, config.burst_beats) + 1)
        there = first + Queue.latency_of(config.bursts) + beats - 1
        return there + memory_latency + Queue.latency_of(config.tokens)

    def elaborate(self, platform):
        m = Module()
        config = self.config
        arbiter = Arbiter(config, [0] * config.ports, config.tokens)
        m.submodules.arbiter = arbiter
        m.submodules.owners = owners = Owners(config)
        # Whose answer comes next, and whether it is the last of its request.
        answer = data.StructLayout({"port": owners.burst["port"].shape, "last": 1})
        m.submodules.answers = answers = Queue(answer, config.bursts)
        _issue(m, arbiter.o, self.memory.request, owners.i, answers.i)
        beat, done = self.memory.data, self.memory.done
        m.d.comb += [done.ready.eq(answers.o.valid), answers.o.ready.eq(done.valid)]
        for number in range(config.ports):
            client, port = wiring.flipped(self.ports[number]), config.port(number)
            wiring.connect(m, client.request, arbiter.requests[number])
            queue = Queue(beat.payload.shape(), port.depth, port.style)
            tokens = Queue(done.payload.shape(), config.tokens)
            m.submodules[f"queue_{number}"], m.submodules[f"tokens_{number}"] = queue, tokens
            wiring.connect(m, client.data, queue.i)
            wiring.connect(m, tokens.o, client.done)
            m.d.comb += [
                arbiter.credit[number].eq(queue.i.valid & queue.i.ready),
                arbiter.token[number].eq(tokens.o.valid & tokens.o.ready),
            ]
            with m.If(owners.o.payload == number):
                m.d.comb += [
                    Value.cast(beat.payload).eq(Value.cast(queue.o.payload)),
                    beat.valid.eq(owners.o.valid & queue.o.valid),
                    queue.o.ready.eq(owners.o.valid & beat.ready),
                    owners.o.ready.eq(queue.o.valid & beat.ready),
                ]

            failed = Signal(name=f"failed_{number}")  # an earlier burst of the request answered
            bad = Signal(name=f"bad_{number}")
            own = done.valid & answers.o.valid & (answers.o.p.port == number)
            m.d.comb += [
                bad.eq(failed | done.payload),
                tokens.i.payload.eq(bad),
                # There is room: the last burst of a request has a place for its token.
                tokens.i.valid.eq(own & answers.o.p.last),
            ]
            with m.If(own):
                m.d.sync += failed.eq(bad & ~answers.o.p.last)
        return m

"""One port over several masters: memory in blocks, which lie on the masters by turns.

Block b of the striped space is block b // n of master b % n. A beat a clock in either direction.
"""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from hw.config import check_range
from hw.errors import UsageError
from hw.shell.arbiter import Owners
from hw.shell.axi import EngineConfig
from hw.shell.burst import BurstSplitter
from hw.shell.interconnect import InterconnectConfig
from hw.shell.ports import read_port, write_port
from hw.stream.queue import Queue

__all__ = ["StripedRead", "StripedWrite"]


class _Striped(wiring.Component):
    """What both directions share: requests, cut into pieces that lie in one block."""

    REQUEST_LATENCY = BurstSplitter.LATENCY

    def __init__(self, port, data_width, stripes, block_beats, pieces):
        if stripes not in (1, 2, 4, 8, 16):
            raise UsageError(f"stripes must be 1, 2, 4, 8 or 16, not {stripes!r}")
        longest = min(256, 4096 // EngineConfig(data_width=data_width).beat_bytes)
        check_range("block_beats", block_beats, 1, longest, f" at {data_width} bits")
        if block_beats & (block_beats - 1):
            raise UsageError(f"block_beats must be a power of two, not {block_beats!r}")
        check_range("pieces", pieces, 1, 1024)
        self.config = InterconnectConfig(
            data_width=data_width,
            ports=stripes,
            depth=block_beats,
            burst_beats=block_beats,
            bursts=pieces,
        )
        super().__init__(
            {
                "port": In(port),
                "masters": Out(port).array(stripes),
                "bases": In(64).array(stripes),
            }
        )

    def elaborate(self, platform):
        m = Module()
        if self.config.ports == 1:
            self._pass(m)
        else:
            self._stripe(m)
        return m

    def _pass(self, m):
        """One master: the port itself, its addresses from the base on."""
        master = self.masters[0]
        for name, member in master.signature.members.items():
            source, sink = getattr(self.port, name), getattr(master, name)
            if member.flow == In:
                source, sink = sink, source
            m.d.comb += [
                Value.cast(sink.payload).eq(Value.cast(source.payload)),
                sink.valid.eq(source.valid),
                source.ready.eq(sink.ready),
            ]
        request = self.port.request.p
        m.d.comb += master.request.p.address.eq(self.bases[0] + request.address)

    def _issue(self, m, *queues):
        """Each piece goes to its master when every queue has a place to remember it."""
        m.submodules.splitter = splitter = BurstSplitter(self.config.port(0))
        wiring.connect(m, wiring.flipped(self.port.request), splitter.i)
        piece = splitter.o
        low = exact_log2(self.config.port(0).beat_bytes * self.config.burst_beats)
        high = low + exact_log2(self.config.ports)
        address = Signal(64)  # in its master
        room = Signal()
        m.d.comb += [
            address.eq(Cat(piece.p.address[:low], piece.p.address[high:])),
            room.eq(Cat(queue.ready for queue in queues).all()),
        ]
        for number, master in enumerate(self.masters):
            mine = piece.p.address[low:high] == number
            m.d.comb += [
                master.request.valid.eq(piece.valid & room & mine),
                master.request.p.address.eq(self.bases[number] + address),
                master.request.p.beats.eq(piece.p.beats),
            ]
            with m.If(mine):
                m.d.comb += piece.ready.eq(master.request.ready & room)
        for queue in queues:
            m.d.comb += queue.valid.eq(piece.valid & piece.ready)
            for name, _ in queue.payload.shape():
                value = piece.p.address[low:high] if name == "port" else piece.p[name]
                m.d.comb += queue.payload[name].eq(value)


class StripedRead(_Striped):
    """``port`` reads the striped space: beats in the order of its requests, from all ``masters``.

    Block b of the striped space is block b // ``stripes`` of master b % ``stripes``, counted from
    the master's base.

    A request is cut into pieces, each in one block. Pieces are requested before the beats of
    earlier pieces have come, but at most ``pieces`` at a time. The beats of a master must be able
    to wait for their turn, for example in the queue of a ``ReadInterconnect``.

    Parameters
    ----------
    data_width : int
        Bits of a beat.
    stripes : int
        Masters: 1, 2, 4, 8 or 16. With one master, requests (plus the base) and beats pass in the
        same clock.
    block_beats : int
        Beats of a block: a power of two, at most 256 beats and 4096 bytes.
    pieces : int
        The most pieces of requests that may be under way.

    Members
    -------
    port : In(read_port(data_width))
        Addresses are bytes of the striped space.
    masters : Out(read_port(data_width)).array(stripes)
        The ports of the masters; a request lies in one block.
    bases : In(64).array(stripes)
        Address at which each master's part of the space begins, on a multiple of a block.
    """

    def __init__(self, data_width, stripes, block_beats, pieces):
        super().__init__(read_port(data_width), data_width, stripes, block_beats, pieces)

    @classmethod
    def latency_of(cls, stripes, pieces, beats, memory_latency):
        """Clocks from the taking of a request of ``beats`` beats to the transfer of its last beat.

        For masters that bring the first beat ``memory_latency`` clocks after the request and then
        a beat a clock, if ``block_beats`` * ``pieces`` is greater than ``memory_latency``.
        """
        latency = memory_latency
        if stripes > 1:
            latency = cls.REQUEST_LATENCY + max(memory_latency, Queue.latency_of(pieces))
        return latency + beats - 1

    def _stripe(self, m):
        m.submodules.owners = owners = Owners(self.config)
        self._issue(m, owners.i)
        beat = self.port.data
        for number, master in enumerate(self.masters):
            with m.If(owners.o.payload == number):
                m.d.comb += [
                    Value.cast(beat.payload).eq(Value.cast(master.data.payload)),
                    beat.valid.eq(owners.o.valid & master.data.valid),
                    master.data.ready.eq(owners.o.valid & beat.ready),
                    owners.o.ready.eq(master.data.valid & beat.ready),
                ]


class StripedWrite(_Striped):
    """``port`` writes the striped space, and has a token a request: 1 if any piece of it failed.

    Block b of the striped space is block b // ``stripes`` of master b % ``stripes``, counted from
    the master's base. A request is cut into pieces, each in one block. A piece may be requested
    before its data has come, but at most ``pieces`` may wait for their master's token.

    Parameters
    ----------
    data_width : int
        Bits of a beat.
    stripes : int
        Masters: 1, 2, 4, 8 or 16.
    block_beats : int
        Beats of a block: a power of two, at most 256 beats and 4096 bytes.
    pieces : int
        The most pieces of requests that may be under way.

    Members
    -------
    port : In(write_port(data_width))
        Addresses are bytes of the striped space.
    masters : Out(write_port(data_width)).array(stripes)
        The ports of the masters; a request lies in one block.
    bases : In(64).array(stripes)
        Address at which each master's part of the space begins, on a multiple of a block.
    """

    def __init__(self, data_width, stripes, block_beats, pieces):
        super().__init__(write_port(data_width), data_width, stripes, block_beats, pieces)

    @classmethod
    def latency_of(cls, stripes, pieces, beats, memory_latency):
        """Clocks from the taking of a request of ``beats`` beats, together with its first beat, to
        the transfer of its token.

        For masters that take a beat a clock and answer a request ``memory_latency`` clocks after
        its last beat.
        """
        # A beat finds out whose it is once its piece has been announced.
        request = cls.REQUEST_LATENCY + Queue.latency_of(pieces) if stripes > 1 else 0
        return request + beats - 1 + memory_latency

    def _stripe(self, m):
        m.submodules.owners = owners = Owners(self.config)
        answer = data.StructLayout({"port": owners.burst["port"].shape, "last": 1})
        m.submodules.answers = answers = Queue(answer, self.config.bursts)
        self._issue(m, owners.i, answers.i)
        beat, done = self.port.data, self.port.done
        failed = Signal()  # an earlier piece of the request
        for number, master in enumerate(self.masters):
            m.d.comb += master.data.payload.eq(beat.payload)
            with m.If(owners.o.payload == number):
                m.d.comb += [
                    master.data.valid.eq(owners.o.valid & beat.valid),
                    beat.ready.eq(owners.o.valid & master.data.ready),
                    owners.o.ready.eq(beat.valid & master.data.ready),
                ]
            with m.If(answers.o.p.port == number):
                m.d.comb += [
                    done.payload.eq(failed | master.done.payload),
                    done.valid.eq(answers.o.valid & answers.o.p.last & master.done.valid),
                    master.done.ready.eq(answers.o.valid & (done.ready | ~answers.o.p.last)),
                    answers.o.ready.eq(master.done.valid & (done.ready | ~answers.o.p.last)),
                ]
        with m.If(answers.o.valid & answers.o.ready):
            m.d.sync += failed.eq(done.payload & ~answers.o.p.last)

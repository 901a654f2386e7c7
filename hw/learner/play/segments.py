"""Stands between LEARN's iterations and memory while PLAY learns: SEGMENTs serve as their
hyperparameters.

Beats pass as they come, with no latency. An iteration asks for a record, and does not know of
segments.
"""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.shell.ports import read_port

__all__ = ["Segments"]


class Segments(wiring.Component):
    """Answers each request for a record with the segment whose turn it is.

    Parameters
    ----------
    data_width : int
        Bits of a beat.
    segment : Layout
        ``segment_of`` the learner's record.

    Members
    -------
    start : In(1), address : In(64), count : In(16)
        ``start``, a pulse: iterations are counted from 0. ``count`` segments lie at ``address``.
    target_interval, target_phase : In(32)
        As in PLAY_SETTINGS, steady from ``start`` on; ``target_phase`` is read with ``start``.
    i : In(read_port)
        The port for the iterations; the addresses of its requests do not count.
    read : Out(read_port)
        The port to memory.
    """

    def __init__(self, data_width, segment):
        self.data_width, self.segment = data_width, segment
        super().__init__(
            {
                "start": In(1),
                "address": In(64),
                "count": In(16),
                "target_interval": In(32),
                "target_phase": In(32),
                "i": In(read_port(data_width)),
                "read": Out(read_port(data_width)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        words, lanes = self.segment.size // 4, self.data_width // 32
        address, left = Signal(64, reset_less=True), Signal(16, reset_less=True)
        served, since = Signal(32), Signal(32)
        beat = Signal(range(max(2, words // lanes)))
        moves, last, repeat, ends, blends = Signal(), Signal(), Signal(32), Signal(), Signal()
        request, given = self.read.request, self.i.data
        m.d.comb += [
            request.p.address.eq(address),
            request.p.beats.eq(self.i.request.p.beats),
            request.valid.eq(self.i.request.valid),
            self.i.request.ready.eq(request.ready),
            given.p.eq(self.read.data.p),
            given.valid.eq(self.read.data.valid),
            self.read.data.ready.eq(given.ready),
            moves.eq(given.valid & given.ready),
            last.eq(beat == words // lanes - 1),
            blends.eq(since + 1 == self.target_interval),
        ]
        one = 0x3F80_0000
        fixed = {"blend": 0, "keep": one}
        for field in self.segment.fields:
            for word in range(field.count if field.name in fixed else 0):
                place = self.segment.offsets[field.name] // 4 + word
                with m.If(~blends & (beat == place // lanes)):
                    m.d.comb += given.p.data.word_select(place % lanes, 32).eq(fixed[field.name])
        # The word comes before the last beat ends the record, or with it.
        place, held = self.segment.offsets["repeat"] // 4, Signal(32, reset_less=True)
        now = beat == place // lanes
        m.d.comb += [
            repeat.eq(Mux(now, self.read.data.p.data.word_select(place % lanes, 32), held)),
            ends.eq((served + 1 == repeat) & (left != 1)),
        ]
        with m.If(moves):
            m.d.sync += [beat.eq(Mux(last, 0, beat + 1)), held.eq(repeat)]
            with m.If(last):
                m.d.sync += [
                    since.eq(Mux(blends, 0, since + 1)),
                    served.eq(Mux(ends, 0, served + 1)),
                ]
                with m.If(ends):
                    m.d.sync += [address.eq(address + self.segment.size), left.eq(left - 1)]
        with m.If(self.start):
            m.d.sync += [
                address.eq(self.address),
                left.eq(self.count),
                served.eq(0),
                since.eq(self.target_phase),
                beat.eq(0),
            ]
        return m

"""Conversion of data widths: a design's wide words on a memory of narrower beats.

Every unit here moves one narrow beat a clock, without a pause between two wide words.
"""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import exact_log2

from hw.config import check_range
from hw.errors import UsageError
from hw.shell.command import MAX_BEATS
from hw.shell.ports import read_beats, read_port, write_port

__all__ = ["Upsizer", "NarrowRead", "NarrowWrite", "Downsizer"]


def _ratio(wide, narrow):
    """Beats of a word; ValueError unless it is a power of two."""
    if narrow < 1 or wide % narrow or wide // narrow & (wide // narrow - 1):
        raise UsageError(f"narrow must be wide ({wide}) over a power of two, not {narrow!r}")
    return wide // narrow


class Upsizer(wiring.Component):
    """Joins ``wide / narrow`` narrow beats to a wide word; the first beat has the lowest bits.

    A word has an error if one of its beats has one. It leaves a clock after its last beat has come.

    Parameters
    ----------
    wide, narrow : int
        Bits. ValueError unless their ratio is a power of two.

    Members
    -------
    i : In(stream of ``read_beats(narrow)``), o : Out(stream of ``read_beats(wide)``)
        Narrow beats, each with its error; wide words, each with its error.
    """

    LATENCY = 1

    def __init__(self, wide, narrow):
        self.wide, self.narrow, self.ratio = wide, narrow, _ratio(wide, narrow)
        super().__init__(
            {
                "i": In(stream.Signature(read_beats(narrow))),
                "o": Out(stream.Signature(read_beats(wide))),
            }
        )

    def elaborate(self, platform):
        m = Module()
        word = Signal(read_beats(self.wide), reset_less=True)
        place = Signal(range(max(2, self.ratio)))
        final = place == self.ratio - 1
        m.d.comb += [self.o.payload.eq(word), self.i.ready.eq(~self.o.valid | self.o.ready)]
        with m.If(self.i.ready):
            m.d.sync += self.o.valid.eq(self.i.valid & final)
            with m.If(self.i.valid):
                m.d.sync += [
                    place.eq(Mux(final, 0, place + 1)),
                    word.error.eq(self.i.p.error | (word.error & (place != 0))),
                ]
                with m.Switch(place):
                    for number in range(self.ratio):
                        with m.Case(number):
                            part = word.data.word_select(number, self.narrow)
                            m.d.sync += part.eq(self.i.p.data)
        return m


class Downsizer(wiring.Component):
    """Splits a wide word into narrow beats, the lowest bits first.

    The first beat leaves a clock after its word has come.

    Parameters
    ----------
    wide, narrow : int
        Bits of a word and of a beat. ValueError unless their ratio is a power of two.

    Members
    -------
    i : In(stream of ``wide`` bits), o : Out(stream of ``narrow`` bits)
        Wide words; narrow beats.
    """

    LATENCY = 1

    def __init__(self, wide, narrow):
        self.wide, self.narrow, self.ratio = wide, narrow, _ratio(wide, narrow)
        super().__init__(
            {
                "i": In(stream.Signature(unsigned(wide))),
                "o": Out(stream.Signature(unsigned(narrow))),
            }
        )

    def elaborate(self, platform):
        m = Module()
        word = Signal(self.wide, reset_less=True)
        left = Signal(range(self.ratio + 1))  # beats
        m.d.comb += [
            self.o.payload.eq(word[: self.narrow]),
            self.o.valid.eq(left != 0),
            self.i.ready.eq((left == 0) | ((left == 1) & self.o.ready)),
        ]
        with m.If(self.i.ready):
            m.d.sync += [word.eq(self.i.payload), left.eq(Mux(self.i.valid, self.ratio, 0))]
        with m.Elif(self.o.ready):
            m.d.sync += [word.eq(word >> self.narrow), left.eq(left - 1)]
        return m


def _checked(wide, narrow, most):
    """Beats of a word; ValueError if ``most`` words are more beats than a request can count."""
    ratio = _ratio(wide, narrow)
    check_range("most", most, 1, MAX_BEATS // ratio, f" ({MAX_BEATS} beats of {narrow} bits)")
    return ratio


def _pass(m, request, inner, ratio):
    """Passes a request on to memory, its length counted in narrow beats."""
    m.d.comb += [
        inner.p.address.eq(request.p.address),
        inner.p.beats.eq(request.p.beats << exact_log2(ratio)),
        inner.valid.eq(request.valid),
        request.ready.eq(inner.ready),
    ]


class NarrowRead(wiring.Component):
    """A read port of ``wide`` bits on a memory of ``narrow`` bits.

    A request has the same byte address on both ports; its length is counted in wide words on
    ``port`` and in narrow beats on ``memory``. The lowest bits of a word are its first beat.

    Parameters
    ----------
    wide, narrow : int
        Bits of a word and of a beat. ValueError unless their ratio is a power of two.
    most : int
        Words of the longest request to ``port``. ValueError if they are more beats than a request
        to memory can count (``MAX_BEATS``).

    Members
    -------
    port : In(read_port(wide)), memory : Out(read_port(narrow))
        The port of the design, and that of memory.
    """

    def __init__(self, wide, narrow, most):
        self.wide, self.narrow, self.ratio = wide, narrow, _checked(wide, narrow, most)
        super().__init__({"port": In(read_port(wide)), "memory": Out(read_port(narrow))})

    def elaborate(self, platform):
        m = Module()
        m.submodules.upsizer = upsizer = Upsizer(self.wide, self.narrow)
        _pass(m, self.port.request, self.memory.request, self.ratio)
        connect(m, flipped(self.memory).data, upsizer.i)
        connect(m, upsizer.o, flipped(self.port).data)
        return m


class NarrowWrite(wiring.Component):
    """A write port of ``wide`` bits on a memory of ``narrow`` bits.

    A request has the same byte address on both ports; its length is counted in wide words on
    ``port`` and in narrow beats on ``memory``. The lowest bits of a word are its first beat.

    Parameters
    ----------
    wide, narrow : int
        Bits of a word and of a beat. ValueError unless their ratio is a power of two.
    most : int
        Words of the longest request to ``port``. ValueError if they are more beats than a request
        to memory can count (``MAX_BEATS``).

    Members
    -------
    port : In(write_port(wide)), memory : Out(write_port(narrow))
        The port of the design, and that of memory.
    """

    def __init__(self, wide, narrow, most):
        self.wide, self.narrow, self.ratio = wide, narrow, _checked(wide, narrow, most)
        super().__init__({"port": In(write_port(wide)), "memory": Out(write_port(narrow))})

    def elaborate(self, platform):
        m = Module()
        m.submodules.downsizer = downsizer = Downsizer(self.wide, self.narrow)
        _pass(m, self.port.request, self.memory.request, self.ratio)
        connect(m, flipped(self.port).data, downsizer.i)
        connect(m, downsizer.o, flipped(self.memory).data)
        m.d.comb += [
            self.port.done.payload.eq(self.memory.done.payload),
            self.port.done.valid.eq(self.memory.done.valid),
            self.memory.done.ready.eq(self.port.done.ready),
        ]
        return m

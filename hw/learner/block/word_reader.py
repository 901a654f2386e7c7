"""Addresses for reading the words of samples in order, from a memory of slots.

Interval 1: a word is fetched while the one before it is taken.
"""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["WordReader", "behind"]


def behind(base, slots, rows):
    """First address of the slot after the one that begins at ``base``; ``slots`` slots of ``rows``
    addresses each are used in turn."""
    return Mux(base == (slots - 1) * rows, 0, base + rows)


class WordReader(wiring.Component):
    """Fetches words in order, as soon as they may be fetched and the previous word is taken. The
    memory's register holds the offered word, so no queue follows it.

    Parameters
    ----------
    words : int
        Of a sample; a multiple of ``interleave``.
    interleave : int
        Words that are fetched in a burst: the first when all may be fetched. A power of two.
    slots : int
        Samples in the memory.
    row_words : int
        Neighbouring words that share an address; a power of two.

    Members
    -------
    arrived : In(range(words + 1))
        Number of further words that may be fetched from the next clock on.
    skip : In(1)
        Leaves out a sample. It comes only while no word may be fetched.
    fetch : Out(1), address : Out
        The memory reads ``address`` in this clock.
    done : Out(1)
        A pulse: the last word of a sample is fetched.
    word : Out(range(words))
        Number of the word that the memory shows, from the clock after its fetch on.
    valid : Out(1), ready : In(1)
        Of the stream of words that the memory shows.
    """

    def __init__(self, words, interleave, slots, row_words=1):
        self.words, self.interleave = words, interleave
        self.slots, self.row_words = slots, row_words
        self._rows = -(-words // row_words)
        super().__init__(
            {
                "arrived": In(range(words + 1)),
                "skip": In(1),
                "fetch": Out(1),
                "address": Out(range(slots * self._rows)),
                "done": Out(1),
                "word": Out(range(words)),
                "valid": Out(1),
                "ready": In(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        waiting = Signal(range(self.slots * self.words + 1))
        following = Signal(range(self.words))  # the word that is fetched next
        base = Signal.like(self.address)
        apart = self.interleave.bit_length() - 1
        shared = self.row_words.bit_length() - 1
        whole = (following[:apart] != 0) | (waiting[apart:] != 0)
        m.d.comb += [
            self.fetch.eq(whole & (~self.valid | self.ready)),
            self.address.eq(base + following[shared:]),
            self.done.eq(self.fetch & (following == self.words - 1)),
        ]
        m.d.sync += waiting.eq(waiting + self.arrived - self.fetch)
        with m.If(self.fetch):
            m.d.sync += [
                self.valid.eq(1),
                self.word.eq(following),
                following.eq(Mux(self.done, 0, following + 1)),
            ]
        with m.Elif(self.ready):
            m.d.sync += self.valid.eq(0)
        with m.If(self.done | self.skip):
            m.d.sync += base.eq(behind(base, self.slots, self._rows))
        return m

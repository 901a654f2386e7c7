"""Checks experiences on their way to storage, so that every stored one can be learned from."""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.learner.records import LearnError, record_granules
from hw.learner.samples.wrong_words import has_wrong_word
from hw.replay.commands import MAX_COUNT, MAX_GRANULES
from hw.replay.config import GRANULE_WIDTH

__all__ = ["InsertCheck"]


class InsertCheck(wiring.Component):
    """Looks at experiences that an INSERT stores for words that break their rule (``word_rules``):
    a beat a clock, with a latency of two clocks from a beat to ``bad``.

    If experiences have another size than the learner's, none is checked; LEARN refuses them all.

    Parameters
    ----------
    config : LearnerConfig
    data_width : int
        Bits of a beat.

    Attributes
    ----------
    ERROR : int
        The error of an INSERT with such a word.

    Members
    -------
    start : In(1), granules : In
        ``start``, a pulse: an INSERT begins whose experiences have ``granules`` granules each.
    valid : In(1), beat : In(data_width)
        If ``valid``, ``beat`` is written to storage in this clock. Each experience begins with a
        beat of its own.
    bad : Out(1), position : Out
        ``bad``: an experience of this INSERT has such a word. ``position``: the number of the first
        such experience in the INSERT, from 0 on. Both stay until the next ``start``.
    """

    ERROR = LearnError.NUMBER

    def __init__(self, config, data_width):
        self.config, self.data_width = config, data_width
        super().__init__(
            {
                "start": In(1),
                "granules": In(range(MAX_GRANULES + 1)),
                "valid": In(1),
                "beat": In(data_width),
                "bad": Out(1),
                "position": Out(range(MAX_COUNT + 1)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        own, parts = record_granules(self.config), self.data_width // GRANULE_WIDTH
        beats = -(-own // parts)
        looks = Signal()
        beat, number = Signal(range(beats)), Signal.like(self.position)
        first = beat << (parts.bit_length() - 1)
        with m.If(self.valid):
            last = beat == beats - 1
            m.d.sync += [beat.eq(Mux(last, 0, beat + 1)), number.eq(number + last)]
        # Behind an experience's last granule its beat has anything.
        wrong = [
            has_wrong_word(
                self.config, first + (part + 1), self.beat.word_select(part, GRANULE_WIDTH)
            )
            for part in range(parts)
        ]
        s1_wrong, s1_number = Signal(), Signal.like(number, reset_less=True)
        m.d.sync += [
            s1_wrong.eq(self.valid & looks & Cat(wrong).any()),
            s1_number.eq(number),
        ]
        with m.If(s1_wrong & ~self.bad):
            m.d.sync += [self.bad.eq(1), self.position.eq(s1_number)]
        with m.If(self.start):
            m.d.sync += [
                looks.eq(self.granules == own),
                beat.eq(0),
                number.eq(0),
                self.bad.eq(0),
            ]
        return m

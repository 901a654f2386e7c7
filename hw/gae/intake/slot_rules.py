"""The kinds of a slot: which of its numbers count, and whether the kinds may follow the slot
before."""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.comparison import below
from hw.gae.intake.beat_counter import of_beat
from hw.gae.records import Kind

__all__ = ["SlotRules", "reward_counts", "value_counts"]


def reward_counts(kind):
    return kind.matches(Kind.STEP, Kind.TERMINAL)


def value_counts(kind):
    return kind.matches(Kind.STEP, Kind.TERMINAL, Kind.BOOTSTRAP)


class SlotRules(wiring.Component):
    """Keeps the kind of the newest slot of each row; ``bad`` and ``unfinished`` judge the kinds in
    a beat of the next slot.

    A kind is bad if it is over 3, or if it is a BOOTSTRAP that does not follow a STEP. A row is
    unfinished if NONE follows a STEP.

    Parameters
    ----------
    config : GaeConfig
    beat_bytes : int
        Bytes of a beat, each a kind.

    Members
    -------
    start : In(1), open : In(rows)
        Pulse: a command begins. ``open``: rows whose newest slot on the stack is a STEP.
    ordered : In(1)
        1: the order of kinds is checked; 0: only whether a kind is over 3. Steady.
    beat : In(8 * beat_bytes), row : In(range(rows))
        The kinds in the beat; the first belongs to ``row``.
    step : In(1)
        One clock: keep the kinds of this beat.
    kinds : Out([Kind], rows)
        The kinds of the newest slot that were kept.
    bad, unfinished : Out(beat_bytes)
        In the clock of ``beat``: a bit for each of its elements; 0 past the last row.
    """

    def __init__(self, config, beat_bytes):
        self.rows, self.beat_bytes = config.rows, beat_bytes
        super().__init__(
            {
                "start": In(1),
                "open": In(self.rows),
                "ordered": In(1),
                "beat": In(8 * beat_bytes),
                "row": In(range(self.rows)),
                "step": In(1),
                "kinds": Out(data.ArrayLayout(Kind, self.rows)),
                "bad": Out(beat_bytes),
                "unfinished": Out(beat_bytes),
            }
        )

    def elaborate(self, platform):
        m = Module()
        rows, size = self.rows, self.beat_bytes
        position = self.row[size.bit_length() - 1 :]
        kinds = [Signal(2, name=f"kind_{row}", reset_less=True) for row in range(rows)]
        for row, kind in enumerate(kinds):
            element = self.beat.word_select(row % size, 8)
            with m.If(self.step & (position == row // size)):
                m.d.sync += kind.eq(element[:2])
            with m.If(self.start):
                m.d.sync += kind.eq(Mux(self.open[row], Kind.STEP, Kind.NONE))
            m.d.comb += Value.cast(self.kinds[row]).eq(kind)
        for k, before in enumerate(of_beat(kinds, self.row, size)):
            element = self.beat.word_select(k, 8)
            follows_step = before == Kind.STEP
            misplaced = self.ordered & (element[:2] == Kind.BOOTSTRAP) & ~follows_step
            bad = element[2:].any() | misplaced
            # Padding has zeros before it, so that it is never unfinished.
            m.d.comb += [
                self.bad[k].eq(bad & below(position, -(-(rows - k) // size))),
                self.unfinished[k].eq(self.ordered & (element == Kind.NONE) & follows_step),
            ]
        return m

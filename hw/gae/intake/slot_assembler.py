"""Codes of a beat to whole slots: registers of one slot, which wait until it is taken."""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hw.gae.intake.beat_counter import Plane, beat_layout
from hw.gae.layouts import slot_layout

__all__ = ["SlotAssembler"]


class SlotAssembler(wiring.Component):
    """Collects the kinds and codes of a slot. The slot is offered in the clock after its last beat;
    if it is taken at once, the first beat of the next slot may come in that clock.

    Parameters
    ----------
    config : GaeConfig
    beat_bytes : int
        Bytes of a beat, each a kind in a beat of kinds.

    Members
    -------
    advance : Out(1)
        1: no slot is left waiting, so the inputs of this clock are taken. 0: they must wait.
    step : In(1), beat : In(beat_layout(rows))
        ``step``: there is a beat, which ``beat`` describes.
    kinds : In(2 * beat_bytes)
        The kinds, of 2 bits each, if the beat has kinds.
    codes : In(8 * beat_bytes)
        The codes of ``code_width`` bits, if the beat has rewards or values. If it has ``numbers``,
        which are fewer than places for codes, their codes are repeated to fill all places.
    numbers : In(1)
        The command's beats hold numbers, not codes; steady.
    o : Out(stream.Signature(slot_layout(config)))
        Whole slots.
    """

    LATENCY = 1

    def __init__(self, config, beat_bytes):
        self.config, self.beat_bytes = config, beat_bytes
        super().__init__(
            {
                "advance": Out(1),
                "step": In(1),
                "beat": In(beat_layout(config.rows)),
                "kinds": In(2 * beat_bytes),
                "codes": In(8 * beat_bytes),
                "numbers": In(1),
                "o": Out(stream.Signature(slot_layout(config))),
            }
        )

    def elaborate(self, platform):
        m = Module()
        width, kinds = self.config.code_width, self.beat_bytes
        codes, numbers = 8 * self.beat_bytes // width, self.beat_bytes // 4
        row = self.beat.row

        def holds(elements, k):
            """Whether a beat with this many elements has the element of row ``k``."""
            return row[elements.bit_length() - 1 :] == k // elements

        def here(plane, size):
            return self.advance & self.step & (self.beat.plane == plane) & size

        for k, cell in enumerate(self.o.payload):
            kind = Signal(2, name=f"kind_{k}", reset_less=True)
            reward = Signal(signed(width), name=f"reward_{k}", reset_less=True)
            value = Signal(signed(width), name=f"value_{k}", reset_less=True)
            m.d.comb += [
                Value.cast(cell.kind).eq(kind),
                cell.reward.eq(reward),
                cell.value.eq(value),
            ]
            code = self.codes.word_select(k % codes, width)
            mine = Mux(self.numbers, holds(numbers, k), holds(codes, k))
            with m.If(here(Plane.KINDS, holds(kinds, k))):
                m.d.sync += kind.eq(self.kinds.word_select(k % kinds, 2))
            with m.If(here(Plane.REWARDS, mine)):
                m.d.sync += reward.eq(code)
            with m.If(here(Plane.VALUES, mine)):
                m.d.sync += value.eq(code)
        m.d.comb += self.advance.eq(~self.o.valid | self.o.ready)
        with m.If(self.advance):
            m.d.sync += self.o.valid.eq(self.step & self.beat.ends_slot)
        return m

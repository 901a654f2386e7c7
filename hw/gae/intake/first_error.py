"""The first error of a command: the lowest slot, in it the lowest code, for it the lowest row.

It is known three clocks after the beat, and never stalls.
"""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.comparison import lowest
from hw.gae.records import Error

__all__ = ["FirstError"]


class FirstError(wiring.Component):
    """Keeps the first error of a command: that of the earliest slot; within the slot, that with the
    lowest code; for this code, that of the lowest row, whatever the order of the beats.

    Parameters
    ----------
    rows, elements : int
        ``rows``: rows of a slot. ``elements``: the most elements that a beat has.

    Members
    -------
    clear : In(1)
        Pulse: forget the error.
    step : In(1)
        Pulse: the members below describe a beat.
    new_slot : In(1)
        The beat is the first of its slot.
    wrong : In(elements), code : In(32)
        ``wrong``: elements of the beat that break a rule. ``code``: the error of this rule.
    base : In(32), row : In(range(rows))
        ``base``: ``rows`` times the number of the slot. ``row``: row of the beat's first element.
    error, detail : Out(32)
        Code of the error, and its position ``slot * rows + row``; both 0 if there is none. A beat
        counts from LATENCY clocks after its ``step`` on.
    """

    LATENCY = 3

    def __init__(self, rows, elements):
        self.elements = elements
        super().__init__(
            {
                "clear": In(1),
                "step": In(1),
                "new_slot": In(1),
                "wrong": In(elements),
                "code": In(Error),
                "base": In(32),
                "row": In(range(rows)),
                "error": Out(32),
                "detail": Out(32),
            }
        )

    def elaborate(self, platform):
        m = Module()
        s1_step, s2_step, s2_any = Signal(), Signal(), Signal()
        s1_new, s2_new = Signal(reset_less=True), Signal(reset_less=True)
        s1_wrong = Signal(self.elements, reset_less=True)
        s1_code = Signal.like(self.code, reset_less=True)
        s2_code = Signal.like(self.code, reset_less=True)
        s1_first = Signal(32, reset_less=True)
        s2_detail = Signal(32, reset_less=True)
        settled = Signal()  # a later slot has begun since
        any_wrong, place = lowest(s1_wrong)
        m.d.sync += [
            s1_step.eq(self.step),
            s1_new.eq(self.new_slot),
            s1_wrong.eq(self.wrong),
            s1_code.eq(self.code),
            s1_first.eq(self.base + self.row),
            s2_step.eq(s1_step),
            s2_new.eq(s1_new),
            s2_any.eq(s1_step & any_wrong),
            s2_code.eq(s1_code),
            s2_detail.eq(s1_first + place),
        ]
        held = self.error != Error.NONE
        earlier = Cat(s2_detail, s2_code) < Cat(self.detail, self.error[: len(s2_code)])
        with m.If(s2_step & s2_new & held):
            m.d.sync += settled.eq(1)
        with m.If(s2_any & (~held | (earlier & ~settled & ~s2_new))):
            m.d.sync += [self.error.eq(s2_code), self.detail.eq(s2_detail)]
        with m.If(self.clear):
            m.d.sync += [self.error.eq(0), self.detail.eq(0), settled.eq(0)]
        return m

"""The REPORT of an iteration: the learner's numbers, and the clocks that its parts took."""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.learner.contract import LearnerControl
from hw.learner.records import REPORT
from hw.replay.records import REPLAY_STATUS

__all__ = ["IterationReport"]


class IterationReport(wiring.Component):
    """Makes the REPORT of an iteration: it counts the clocks of the gradient step and of the whole
    iteration, and passes on the learner's numbers and the clocks of draw and gather of the batch
    that was trained on.

    The next batch may be drawn before the REPORT is written. So the clocks of draw and gather are
    copied from ``status`` in the clock of ``train``. They are 0 if nothing was drawn (TRAIN).

    Members
    -------
    restart : In(1)
        A new iteration begins with the next clock.
    train, stepping : In(1)
        ``train``, a pulse: a gradient step begins with the next clock. ``stepping``: this clock
        belongs to the gradient step.
    drawn : In(1)
        The batch was drawn by the replay core.
    status : In(REPLAY_STATUS)
        The replay core's state: clocks of its last draw and gather, and its position.
    loss, td_sum, value, weight : In(32), saturations : In([3] of 32)
        The members of ``LearnerControl`` with these names.
    report : Out(512)
        The REPORT at this moment.
    """

    def __init__(self):
        control = LearnerControl().members
        self.numbers = ("loss", "td_sum", "value", "weight", "saturations")
        super().__init__(
            {
                "restart": In(1),
                "train": In(1),
                "stepping": In(1),
                "drawn": In(1),
                "status": In(REPLAY_STATUS.shape),
                **{name: control[name] for name in self.numbers},
                "report": Out(8 * REPORT.size),
            }
        )

    def elaborate(self, platform):
        m = Module()
        draw, status = Signal(data.ArrayLayout(32, 2)), self.status
        step, whole = Signal(32), Signal(32)
        m.d.sync += whole.eq(Mux(self.restart, 0, whole + 1))
        with m.If(self.train):
            counted = Cat(status.draw_cycles, status.gather_cycles)
            m.d.sync += [step.eq(0), draw.eq(Mux(self.drawn, counted, 0))]
        with m.Elif(self.stepping):
            m.d.sync += step.eq(step + 1)
        m.d.comb += self.report.eq(
            REPORT.encode(
                loss=self.loss,
                td=self.td_sum,
                value=self.value,
                weight=self.weight,
                saturations=self.saturations,
                position=status.position,
                cycles=Cat(draw, step, whole),
            )
        )
        return m

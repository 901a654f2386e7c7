"""Checks a STEP before its iteration begins."""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.area import area
from hw.arith.float32.format import decode
from hw.comparison import lowest
from hw.learner.records import STEP
from hw.nn.layouts import MAX_SHIFT

__all__ = ["StepCheck"]


class StepCheck(wiring.Component):
    """Finds the first field of a STEP that breaks its rule, combinational. Only fields that the
    kernel uses have a rule: ``max_norm`` of each rate with ``config.clip_norm``, ``sweeps`` of a
    plan with several, ``noise`` and ``noise_clip`` of one with a smoothed pass, ``shift`` of each
    network whose errors are shifted by it.

    =============  ========================================
    field          rule
    =============  ========================================
    max_norm       above 0; infinity is allowed
    sweeps         bit 0 is 1
    noise          at least 0 and finite
    noise_clip     at least 0; infinity is allowed
    shift          -8..8
    =============  ========================================

    A NaN breaks each; -0 and all subnormals count as 0.

    Parameters
    ----------
    config : LearnerConfig
        Its ``step_record`` is STEP.

    Members
    -------
    step : In(STEP)
        The record.
    wrong : Out(1)
        A field breaks its rule.
    place : Out(range(STEP.size))
        If ``wrong``, the byte of the first such number in the record.
    """

    def __init__(self, config):
        self.config = config
        super().__init__({"step": In(STEP.shape), "wrong": Out(1), "place": Out(range(STEP.size))})

    @staticmethod
    def _rates(config):
        """Places in the pair ``max_norm`` that the kernel uses."""
        return config.rates if config.clip_norm else []

    @classmethod
    def estimate(cls, config):
        """Resources for this config."""
        norms, smooths, shifts = len(cls._rates(config)), config.plan.smooths, config.plan.shifts
        return area(
            "learner.control.step_check", norms=norms, smooths=int(smooths), shifts=len(shifts)
        )

    def elaborate(self, platform):
        m = Module()
        found = {}  # byte: wrong, in the order of the bytes
        for rate in self._rates(self.config):
            limit = decode(m, self.step.max_norm[rate], name=f"max_norm_{rate}")
            place = STEP.offsets["max_norm"] + 4 * rate
            found[place] = limit.nan | limit.zero | limit.sign
        if self.config.plan.sweeps > 1:
            found[STEP.offsets["sweeps"]] = ~self.step.sweeps[0]
        if self.config.plan.smooths:
            for name in ("noise", "noise_clip"):
                number = decode(m, self.step[name], name=name)
                wrong = number.nan | (number.sign & ~number.zero)
                found[STEP.offsets[name]] = wrong | (number.infinity & (name == "noise"))
        for place in self.config.plan.shifts:
            shift = self.step.shift[place]
            wrong = (shift < -MAX_SHIFT) | (shift > MAX_SHIFT)
            found[STEP.offsets["shift"] + place] = wrong
        if not found:
            return m
        wrong, first = lowest(Cat(found.values()))
        places = Array(Const(place, len(self.place)) for place in found)
        m.d.comb += [self.wrong.eq(wrong), self.place.eq(places[first])]
        return m

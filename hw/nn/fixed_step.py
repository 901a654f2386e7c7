"""Applies a step in fixed arithmetic: it is aligned with its weight, the weight moves and clips,
and the target follows.

    weight' = clip(weight - step)
    target' = target + blend * (weight' - target)

Interval 1, free-running.
"""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.arith.multiply import B_LIMB
from hw.nn.optimizer_config import BLEND_FORMAT
from hw.stream.delay import delay

__all__ = ["FixedStep", "step_width"]

#: Least width of a step in bits.
_LEAST_WIDTH = 30


def step_width(weight_format):
    """Bits of the mantissa of a step for weights of this FixedFormat. A mantissa that is not 0 has
    a one in its top four bits, so any shift to the left takes the step beyond the weight format,
    and the weight clips."""
    return max(_LEAST_WIDTH, weight_format.width + 3)


class FixedStep(wiring.Component):
    """``new_weight = clip(weight - step)``, at the limits of the weight's format, and ``new_target
    = target + blend * (new_weight - target)``, rounded half up. A new step may enter in every
    clock; there is no back-pressure.

    Parameters
    ----------
    weight_format : FixedFormat
        At most 32 bits.

    Members
    -------
    step : In(step_width(weight_format)), negative : In(1), right : In(signed(10))
        The step is ``step * 2**-right`` units of the weight, rounded half away from zero, and is
        below zero if ``negative``.
    weight, target : In(weight)
        Raw old weight and target, ``WEIGHTS`` clocks after the step.
    blend : In(BLEND_FORMAT.shape)
        0: the target stays; 1: it becomes a copy of the weight. Steady while parameters pass.
    new_weight, new_target : Out(weight)
        Raw new weight and target, ``LATENCY`` clocks after the step.
    saturated : Out(1)
        In the same clock: the new weight was clipped.
    """

    INTERVAL = 1
    WEIGHTS = 2
    LATENCY = 8

    def __init__(self, weight_format):
        self.weight_format, self.width = weight_format, step_width(weight_format)
        weight = weight_format.shape
        super().__init__(
            {
                "step": In(self.width),
                "negative": In(1),
                "right": In(signed(10)),
                "weight": In(weight),
                "target": In(weight),
                "blend": In(BLEND_FORMAT.shape),
                "new_weight": Out(weight),
                "new_target": Out(weight),
                "saturated": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        weight_format, width = self.weight_format, self.width
        places = width.bit_length()  # bits of a shift amount that leaves some of the step
        overflow = self.right[-1] & self.step[-4:].any()
        s1_step = Signal(width + 1, reset_less=True)
        s1_amount = Signal(3, reset_less=True)
        s1_far = Signal(reset_less=True)
        s1_overflow = Signal(reset_less=True)
        s2_step = Signal(width, reset_less=True)
        s2_up = Signal(reset_less=True)
        shifted = s1_step >> s1_amount
        m.d.sync += [
            s1_step.eq(Cat(C(0, 1), self.step) >> Cat(C(0, 3), self.right[3:places])),
            s1_amount.eq(self.right[:3]),
            s1_far.eq(self.right[places:].any()),
            s1_overflow.eq(overflow),
            s2_step.eq(Mux(s1_far, s1_overflow.replicate(width), shifted[1:])),
            s2_up.eq(shifted[0] & ~s1_far),
        ]

        # weight - (step + up). To subtract is to add the complement and one, so ``up`` only
        # changes the carry in.
        s2_plus = delay(m, self.negative, 2, name="negative")
        carry = s2_up ^ ~s2_plus
        addend = Cat(carry, s2_step ^ (~s2_plus).replicate(width), ~s2_plus).as_signed()
        s3_moved = Signal(signed(width + 2), reset_less=True)
        s4_weight = Signal(weight_format.shape, reset_less=True)
        s4_clipped = Signal(reset_less=True)
        beyond = s3_moved[weight_format.width - 1 :]
        clipped = Signal()
        limit = Mux(s3_moved[-1], weight_format.low, weight_format.high)
        m.d.comb += clipped.eq(~beyond.all() & beyond.any())
        m.d.sync += [
            s3_moved.eq((Cat(C(1, 1), self.weight).as_signed() + addend) >> 1),
            s4_weight.eq(Mux(clipped, limit, s3_moved)),
            s4_clipped.eq(clipped),
        ]
        self._blend(m, s4_weight, delay(m, self.target, 2, name="target"))
        m.d.comb += self.saturated.eq(delay(m, s4_clipped, 4, name="clipped"))
        return m

    def _blend(self, m, weight, target):
        # Only a blend of 1 has its top bit set. It is a copy: the bit does not fit the DSP block.
        copy, part = self.blend[BLEND_FORMAT.fraction], self.blend[: BLEND_FORMAT.fraction]
        # At least a limb and a sign bit; with narrow weights some of these bits are not used.
        distance_width = max(self.weight_format.width + 1, B_LIMB + 1)
        s5_distance = Signal(signed(distance_width), reset_less=True)
        s6_low = Signal(B_LIMB + len(part), reset_less=True)
        s6_high = Signal(signed(len(s5_distance) - B_LIMB + len(part)), reset_less=True)
        s7_product = Signal(signed(len(s5_distance) + len(part)), reset_less=True)
        s7_target = delay(m, target, 3, name="old_target")
        s7_weight = delay(m, weight, 3, name="old_weight")
        s8_target = Signal(self.weight_format.shape, reset_less=True)
        half = 1 << (BLEND_FORMAT.fraction - 1)
        mixed = s7_target + ((s7_product + half) >> BLEND_FORMAT.fraction)
        m.d.sync += [
            s5_distance.eq(weight - target),
            s6_low.eq(s5_distance[:B_LIMB] * part),
            s6_high.eq(s5_distance[B_LIMB:].as_signed() * part),
            s7_product.eq(s6_low + (s6_high << B_LIMB)),
            s8_target.eq(Mux(copy, s7_weight, mixed)),
        ]
        m.d.comb += [
            self.new_weight.eq(delay(m, s7_weight, 1, name="moved_weight")),
            self.new_target.eq(s8_target),
        ]

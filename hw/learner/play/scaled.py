"""Fixed point to binary32, for numbers that tell how many fraction bits they have.

``hw.arith.to_float`` has one format for all numbers, of 64 bits at most; a sum of rewards has more,
and the program of a task says where its point is. Five register stages (magnitude, normalise
in three, round): interval 1, latency 5. No DSP block.
"""

from dataclasses import dataclass

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.area import area
from hw.arith.float32.format import BIAS, PRECISION, SIDE, WIDTH, normalise, rounded
from hw.config import ConfigBase, check_range
from hw.stream.delay import delay

__all__ = ["FRACTION_WIDTH", "ScaledConfig", "ScaledToFloat"]

#: Bits of a number of fraction bits, which is below 96.
FRACTION_WIDTH = 7


@dataclass(frozen=True, kw_only=True)
class ScaledConfig(ConfigBase):
    """Config of ``ScaledToFloat``.

    width : bits of a number, 26..96.
    """

    width: int

    def __post_init__(self):
        check_range("width", self.width, PRECISION + 2, 96)

    @property
    def i_layout(self):
        return data.StructLayout({"raw": signed(self.width), "fraction": FRACTION_WIDTH})


class ScaledToFloat(wiring.Component):
    """``raw * 2**-fraction`` in binary32, rounded to nearest even; zero gives +0.

    Nothing is beyond binary32: ``fraction`` is below 96 and ``raw`` below 2^96.

    Parameters
    ----------
    config : ScaledConfig

    Members
    -------
    i : In(stream of {raw, fraction})
    o : Out(stream of 32 bits)
        One result for each number, in order.
    """

    INTERVAL = 1
    LATENCY = 5

    def __init__(self, config):
        self.config = config
        super().__init__(
            {
                "i": In(stream.Signature(config.i_layout)),
                "o": Out(stream.Signature(unsigned(WIDTH))),
            }
        )

    @staticmethod
    def estimate(config):
        """Resources."""
        return area("learner.play.scaled_to_float", width=config.width)

    def elaborate(self, platform):
        m = Module()
        width, raw, advance = self.config.width, self.i.p.raw, Signal()
        m.d.comb += [advance.eq(~self.o.valid | self.o.ready), self.i.ready.eq(advance)]
        negative = raw[-1]
        s1_magnitude, s5_result = Signal(width, reset_less=True), Signal(WIDTH, reset_less=True)
        # The leading one is shifted to the top in three stages; ``far`` counts how far.
        steps = [1 << k for k in reversed(range((width - 1).bit_length()))]
        value, far = s1_magnitude, Const(0, 0)
        for stage in range(3):
            some = steps[stage * len(steps) // 3 : (stage + 1) * len(steps) // 3]
            value, next_far = normalise(m, value, some)
            value = delay(m, value, 1, name=f"normal_{stage}", enable=advance)
            far = delay(m, Cat(next_far, far), 1, name=f"far_{stage}", enable=advance)
        fraction = delay(m, self.i.p.fraction, 4, name="fraction", enable=advance)
        side = Signal(SIDE)
        m.d.comb += [
            side.exponent.eq(BIAS + width - 1 - far - fraction),
            side.sign.eq(delay(m, negative, 4, name="sign", enable=advance)),
            side.zero.eq(~value[-1]),
        ]
        guard, sticky = value[-PRECISION - 1], value[: -PRECISION - 1].any()
        with m.If(advance):
            m.d.sync += [
                s1_magnitude.eq(Mux(negative, -raw, raw)),
                s5_result.eq(rounded(m, side, value[-PRECISION:], guard, sticky)),
            ]
        valid = delay(m, self.i.valid, self.LATENCY, name="valid", enable=advance, reset=True)
        m.d.comb += [self.o.payload.eq(s5_result), self.o.valid.eq(valid)]
        return m

"""Importance-sampling weight of a drawn experience, one a clock.

Three ``Log2`` in lockstep, ``Power``, and a stage that packs a float32: interval 1, latency 12.
Five DSP blocks.
"""

from dataclasses import dataclass
from functools import cached_property

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.arith.log2 import Log2, Log2Config
from hw.arith.power import SCALE_FORMAT, Power, PowerConfig
from hw.config import ConfigBase, check_range

__all__ = ["WeightConfig", "WeightUnit"]


@dataclass(frozen=True, kw_only=True)
class WeightConfig(ConfigBase):
    """Bits of the operands of a weight: a priority, the total of all priorities, and the count of
    experiences. Priority and total have the same binary point, so it cancels.

    The bounds keep every weight a normal float32 for any ``beta`` below 2: its exponent stays
    between -126 and 96.
    """

    priority_width: int = 24
    total_width: int = 44
    count_width: int = 32

    def __post_init__(self):
        check_range("priority_width", self.priority_width, 1, 62)
        check_range("total_width", self.total_width, 1, 48)
        check_range(
            "count_width",
            self.count_width,
            1,
            63 - self.priority_width,
            " (63 - priority_width: count * p must fit the logarithm)",
        )

    @cached_property
    def log2(self):
        """Config of the logarithm of each operand, by the operand's name."""
        return {
            name: Log2Config(width=getattr(self, f"{name}_width"))
            for name in ("priority", "total", "count")
        }

    @cached_property
    def power(self):
        return PowerConfig(tag_width=1)

    @property
    def i_layout(self):
        return data.StructLayout(
            {
                "priority": self.priority_width,
                "total": self.total_width,
                "count": self.count_width,
            }
        )


class WeightUnit(wiring.Component):
    """``weight = (count * priority / total)**-beta`` as IEEE-754 binary32.

    Computed as ``2**(beta * (log2 total - log2 priority - log2 count))``; not normalised, the host
    divides by the maximum of the batch. The relative error is below 2^-17 for beta <= 1 and 2^-16.2
    for beta < 2. ``beta = 0`` gives exactly 1.0. An operand of 0 gives the weight 0.0, because such
    an experience is never drawn.

    Source: Schaul et al., Prioritized Experience Replay (ICLR 2016), section 3.4.

    Parameters
    ----------
    config : WeightConfig

    Members
    -------
    i : In(stream.Signature({priority, total, count}))
        The priority of the drawn leaf, the sum of all priorities at the draw, and the number of
        experiences.
    beta : In(16)
        UQ(1, 15), 0 to 1 in Schaul et al.; stable while operands are on their way.
    o : Out(stream.Signature(32))
        Weights in the order of their operands.
    """

    INTERVAL = 1
    LATENCY = Log2.LATENCY + Power.LATENCY + 1

    def __init__(self, config=None):
        self.config = config or WeightConfig()
        super().__init__(
            {
                "i": In(stream.Signature(self.config.i_layout)),
                "beta": In(SCALE_FORMAT.shape),
                "o": Out(stream.Signature(32)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        logs = {name: Log2(config) for name, config in self.config.log2.items()}
        m.submodules.power = power = Power(self.config.power)

        # Fed and drained together, the three move as one: any of them speaks for all.
        for name, log in logs.items():
            m.submodules[f"log2_{name}"] = log
            m.d.comb += [
                log.i.valid.eq(self.i.valid),
                log.i.p.x.eq(self.i.p[name]),
                log.o.ready.eq(power.i.ready),
            ]
        priority, total, count = (logs[name].o.p for name in ("priority", "total", "count"))
        m.d.comb += [
            self.i.ready.eq(logs["priority"].i.ready),
            power.i.valid.eq(logs["priority"].o.valid),
            power.i.p.log.eq(total.log2 - priority.log2 - count.log2),
            power.i.p.tag.eq(total.zero | priority.zero | count.zero),
            power.scale.eq(self.beta),
        ]

        # Drop the last bit of the mantissa, half up; a carry raises the exponent as it should.
        advance = Signal()
        biased = Signal(8)
        weight = Signal(32, reset_less=True)
        m.d.comb += [
            advance.eq(~self.o.valid | self.o.ready),
            power.o.ready.eq(advance),
            biased.eq(power.o.p.exponent + 127),
            self.o.payload.eq(weight),
        ]
        with m.If(advance):
            m.d.sync += [
                self.o.valid.eq(power.o.valid),
                weight.eq(Cat(power.o.p.mantissa[1:24], biased) + power.o.p.mantissa[0]),
            ]
            with m.If(power.o.p.tag):
                m.d.sync += weight.eq(0)
        return m

"""Priority of an experience from its TD error, one a clock.

A chain of stream units: float32 to fixed point, epsilon, log2, power, fixed point. Interval 1,
latency 17. Three DSP blocks.
"""

from dataclasses import dataclass
from functools import cached_property

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.arith.fixed import UQ
from hw.arith.log2 import LOG2_FORMAT, Log2, Log2Config
from hw.arith.power import SCALE_FORMAT, Power, PowerConfig
from hw.arith.to_fixed import ToFixed, ToFixedConfig
from hw.config import ConfigBase, check_range

__all__ = ["EPSILON_FORMAT", "ERROR_FORMAT", "PriorityConfig", "PriorityUnit"]

#: ``|td|`` before epsilon is added.
ERROR_FORMAT = UQ(16, 16)
EPSILON_FORMAT = UQ(0, 16)

_FLAGS = data.StructLayout({"invalid": 1, "saturated": 1, "zero": 1})


@dataclass(frozen=True, kw_only=True)
class PriorityConfig(ConfigBase):
    """Format of a priority, as in a leaf of the sum tree: unsigned, of ``priority_width`` bits, of
    which ``priority_fraction`` are behind the binary point.

    Alpha and epsilon are run-time inputs: ``SCALE_FORMAT`` and ``EPSILON_FORMAT`` quantize them.
    """

    priority_width: int = 24
    priority_fraction: int = 16

    def __post_init__(self):
        check_range("priority_width", self.priority_width, 2, 32)
        check_range(
            "priority_fraction",
            self.priority_fraction,
            0,
            self.priority_width - 1,
            " (priority_width - 1: 1.0 must fit)",
        )

    @cached_property
    def format(self):
        return UQ(self.priority_width - self.priority_fraction, self.priority_fraction)

    @cached_property
    def error(self):
        return ToFixedConfig(target=ERROR_FORMAT, tag_width=1)

    @cached_property
    def log2(self):
        # The sum of error and epsilon has one bit more than the error.
        return Log2Config(width=ERROR_FORMAT.width + 1, tag_width=_FLAGS.size)

    @cached_property
    def power(self):
        return PowerConfig(tag_width=_FLAGS.size)

    @cached_property
    def result(self):
        return ToFixedConfig(target=self.format, tag_width=_FLAGS.size)

    @property
    def o_layout(self):
        return data.StructLayout({"priority": self.format.shape, "saturated": 1, "invalid": 1})


class PriorityUnit(wiring.Component):
    """``priority = (|td| + epsilon)**alpha``, at least one raw unit, so that it can be drawn.

    ``|td|`` goes to UQ(16, 16), the result to ``config.format``, both round half up and saturating.
    Against the formula at that fixed-point ``|td|``, the relative error before the last rounding is
    below 2^-18.4 for alpha <= 1 and 2^-17.4 for alpha < 2.
    ``alpha = 0`` gives exactly 1.0, also for ``0**0``. With any other alpha, ``td = epsilon = 0``
    gives one raw unit.

    Source: Schaul et al., Prioritized Experience Replay (ICLR 2016), equation 1 and section 3.3.

    Parameters
    ----------
    config : PriorityConfig

    Members
    -------
    i : In(stream.Signature({td: 32}))
        IEEE-754 binary32, either sign.
    alpha : In(16)
        UQ(1, 15), 0 to 1 in Schaul et al.; stable while errors are on their way.
    epsilon : In(16)
        UQ(0, 16); stable while errors are on their way.
    o : Out(stream.Signature({priority: config.priority_width, saturated: 1, invalid: 1}))
        ``saturated``: ``|td|`` or the result was clipped. ``invalid``: td was infinite or not a
        number; the priority is one raw unit.
    """

    INTERVAL = 1
    LATENCY = ToFixed.LATENCY + 1 + Log2.LATENCY + Power.LATENCY + ToFixed.LATENCY + 1

    def __init__(self, config=None):
        self.config = config or PriorityConfig()
        super().__init__(
            {
                "i": In(stream.Signature(data.StructLayout({"td": 32}))),
                "alpha": In(SCALE_FORMAT.shape),
                "epsilon": In(EPSILON_FORMAT.shape),
                "o": Out(stream.Signature(self.config.o_layout)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self.config
        m.submodules.error = error = ToFixed(config.error)
        m.submodules.log2 = log2 = Log2(config.log2)
        m.submodules.power = power = Power(config.power)
        m.submodules.result = result = ToFixed(config.result)

        # float32 to fixed point. A subnormal counts as 2^-127, which is zero all the same.
        biased = self.i.p.td[23:31]
        infinite_or_nan = biased.all()
        m.d.comb += [
            error.i.valid.eq(self.i.valid),
            self.i.ready.eq(error.i.ready),
            error.i.p.mantissa.eq(Cat(0, self.i.p.td[:23], 1)),
            error.i.p.exponent.eq(Mux(infinite_or_nan, 0, biased - 127)),
            error.i.p.tag.eq(infinite_or_nan),
        ]

        # Add epsilon, in a stage of its own.
        sum_advance = Signal()
        sum_valid = Signal()
        sum_value = Signal(config.log2.width, reset_less=True)
        sum_flags = Signal(_FLAGS, reset_less=True)
        m.d.comb += [
            sum_advance.eq(~sum_valid | log2.i.ready),
            error.o.ready.eq(sum_advance),
            log2.i.valid.eq(sum_valid),
            log2.i.p.x.eq(sum_value),
            log2.i.p.tag.eq(sum_flags),
        ]
        with m.If(sum_advance):
            m.d.sync += [
                sum_valid.eq(error.o.valid),
                sum_value.eq(error.o.p.value + self.epsilon),
                sum_flags.invalid.eq(error.o.p.tag),
                sum_flags.saturated.eq(error.o.p.saturated),
            ]

        # 2**(alpha * log2(sum)); the point of the sum moves as an integer of the logarithm.
        power_flags = data.View(_FLAGS, power.i.p.tag)
        log_flags = data.View(_FLAGS, log2.o.p.tag)
        m.d.comb += [
            power.i.valid.eq(log2.o.valid),
            log2.o.ready.eq(power.i.ready),
            power.scale.eq(self.alpha),
            power.i.p.log.eq(log2.o.p.log2 - (ERROR_FORMAT.fraction << LOG2_FORMAT.fraction)),
            power_flags.invalid.eq(log_flags.invalid),
            power_flags.saturated.eq(log_flags.saturated),
            power_flags.zero.eq(log2.o.p.zero),
        ]
        m.d.comb += [
            result.i.valid.eq(power.o.valid),
            power.o.ready.eq(result.i.ready),
            result.i.p.mantissa.eq(power.o.p.mantissa),
            result.i.p.exponent.eq(power.o.p.exponent),
            result.i.p.tag.eq(power.o.p.tag),
        ]

        # Never below one raw unit.
        advance = Signal()
        flags = data.View(_FLAGS, result.o.p.tag)
        least = Signal()
        output = Signal(config.o_layout, reset_less=True)
        m.d.comb += [
            advance.eq(~self.o.valid | self.o.ready),
            result.o.ready.eq(advance),
            least.eq(flags.invalid | (flags.zero & self.alpha.any()) | ~result.o.p.value.any()),
            self.o.payload.eq(output),
        ]
        with m.If(advance):
            m.d.sync += [
                self.o.valid.eq(result.o.valid),
                output.priority.eq(Mux(least, 1, result.o.p.value)),
                output.saturated.eq((flags.saturated | result.o.p.saturated) & ~flags.invalid),
                output.invalid.eq(flags.invalid),
            ]
        return m

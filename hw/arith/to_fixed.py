"""Mantissa and exponent to unsigned fixed point.

Two register stages (shift, round): interval 1, latency 2.
"""

from dataclasses import dataclass

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.arith.exp2 import MANTISSA_FORMAT
from hw.arith.fixed import FixedFormat
from hw.config import ConfigBase, check_range
from hw.errors import UsageError
from hw.stream.delay import delay

__all__ = ["ToFixed", "ToFixedConfig"]


@dataclass(frozen=True, kw_only=True)
class ToFixedConfig(ConfigBase):
    """Config of ``ToFixed``.

    target : UQ format of the result, of at most 38 bits.
    exponent_width : bits of the signed exponent, 2 to 16.
    tag_width : bits of a tag that travels beside the operand; 0 for none.
    """

    target: FixedFormat
    exponent_width: int = 8
    tag_width: int = 0

    def __post_init__(self):
        if not isinstance(self.target, FixedFormat) or self.target.signed or self.target.width > 38:
            raise UsageError(
                f"target must be a UQ format of at most 38 bits (the twin shifts in int64), "
                f"not {self.target!r}"
            )
        check_range("exponent_width", self.exponent_width, 2, 16)
        check_range("tag_width", self.tag_width, 0, 4096)

    @property
    def i_layout(self):
        return data.StructLayout(
            {
                "mantissa": MANTISSA_FORMAT.shape,
                "exponent": signed(self.exponent_width),
                "tag": self.tag_width,
            }
        )

    @property
    def o_layout(self):
        return data.StructLayout(
            {"value": self.target.shape, "saturated": 1, "tag": self.tag_width}
        )


class ToFixed(wiring.Component):
    """``value = mantissa * 2**exponent`` in the target format, rounded half up.

    A value above the format's largest number becomes that number, and has ``saturated`` set.

    Parameters
    ----------
    config : ToFixedConfig

    Members
    -------
    i : In(stream.Signature({mantissa: UQ(1, 24), exponent: signed, tag}))
        One operand an item, and a tag, which comes out unchanged beside its value. The leading bit
        of the mantissa is 1, so 1 <= mantissa < 2.
    o : Out(stream.Signature({value: config.target.shape, saturated: 1, tag}))
        One raw value for each operand, in order.
    """

    INTERVAL = 1
    LATENCY = 2

    def __init__(self, config):
        self.config = config
        super().__init__(
            {
                "i": In(stream.Signature(config.i_layout)),
                "o": Out(stream.Signature(config.o_layout)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        target = self.config.target

        advance = Signal()
        m.d.comb += [advance.eq(~self.o.valid | self.o.ready), self.i.ready.eq(advance)]

        # raw = floor(mantissa * 2**shift / 2**(fraction of the mantissa + 1) + 1/2)
        shift = Signal(signed(max(self.config.exponent_width, 8) + 1))
        m.d.comb += shift.eq(self.i.p.exponent + (target.fraction + 1))
        over, under = shift > target.width, shift < 0
        wide = Signal(MANTISSA_FORMAT.width + target.width)
        distance = shift[: target.width.bit_length()]
        m.d.comb += wide.eq(self.i.p.mantissa << distance)

        # Stage 1: twice the result, so that the bit to round by is left.
        s1_twice = Signal(target.width + 1, reset_less=True)
        s1_over = Signal(reset_less=True)
        s1_under = Signal(reset_less=True)
        # Stage 2: round; a carry out of the top saturates too.
        rounded = Signal(target.width + 1)
        s2_value = Signal(target.width, reset_less=True)
        s2_saturated = Signal(reset_less=True)
        m.d.comb += [
            rounded.eq((s1_twice + 1) >> 1),
            self.o.p.value.eq(s2_value),
            self.o.p.saturated.eq(s2_saturated),
        ]
        with m.If(advance):
            m.d.sync += [
                s1_twice.eq(wide[MANTISSA_FORMAT.fraction :]),
                s1_over.eq(over),
                s1_under.eq(under),
                s2_saturated.eq(s1_over | (rounded[-1] & ~s1_under)),
            ]
            with m.If(s1_over | rounded[-1]):
                m.d.sync += s2_value.eq(target.high)
            with m.Else():
                m.d.sync += s2_value.eq(rounded)
            with m.If(s1_under):
                m.d.sync += s2_value.eq(0)
        m.d.comb += [
            self.o.valid.eq(
                delay(m, self.i.valid, self.LATENCY, name="valid", enable=advance, reset=True)
            ),
            self.o.p.tag.eq(delay(m, self.i.p.tag, self.LATENCY, name="tag", enable=advance)),
        ]
        return m

"""A power from a logarithm: the middle of ``x**c = 2**(c * log2 x)``.

Three register stages (operand, multiply, round) before ``Exp2``: interval 1, latency 6.
"""

from dataclasses import dataclass
from functools import cached_property

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.arith.exp2 import FRACTION_FORMAT, MANTISSA_FORMAT, Exp2, Exp2Config
from hw.arith.fixed import SQ, UQ
from hw.config import ConfigBase, check_range
from hw.stream.delay import delay
from hw.stream.ready_register import ReadyRegister

__all__ = ["EXPONENT_WIDTH", "LOG_FORMAT", "SCALE_FORMAT", "Power", "PowerConfig"]

#: Sums and differences of logarithms; times a scale it just fits one DSP block (27 x 18 signed).
LOG_FORMAT = SQ(7, 20)
SCALE_FORMAT = UQ(1, 15)
#: Integer part of ``log * scale``, signed.
EXPONENT_WIDTH = LOG_FORMAT.integer + SCALE_FORMAT.integer


@dataclass(frozen=True, kw_only=True)
class PowerConfig(ConfigBase):
    """Config of ``Power``.

    tag_width : bits of a tag that travels with the operand; 0 for none.
    """

    tag_width: int = 0

    def __post_init__(self):
        check_range("tag_width", self.tag_width, 0, 4096)

    @cached_property
    def exp2(self):
        return Exp2Config(tag_width=EXPONENT_WIDTH + self.tag_width)

    @property
    def i_layout(self):
        return data.StructLayout({"log": LOG_FORMAT.shape, "tag": self.tag_width})

    @property
    def o_layout(self):
        return data.StructLayout(
            {
                "mantissa": MANTISSA_FORMAT.shape,
                "exponent": signed(EXPONENT_WIDTH),
                "tag": self.tag_width,
            }
        )


class Power(wiring.Component):
    """``mantissa * 2**exponent = 2**(log * scale)``, 1 <= mantissa < 2.

    ``log * scale`` is rounded half up to 2^-20, a relative error of 2^-21.5; ``Exp2`` adds its own.

    Parameters
    ----------
    config : PowerConfig

    Members
    -------
    i : In(stream.Signature({log: SQ(7, 20), tag}))
        One base-2 logarithm an item, and a tag, which comes out unchanged with its power.
    scale : In(16)
        The factor of all logarithms, UQ(1, 15); steady while an operand is between ``i`` and ``o``.
    o : Out(stream.Signature({mantissa: UQ(1, 24), exponent: signed(8), tag}))
        One power for each logarithm, in order.
    """

    INTERVAL = 1
    LATENCY = 3 + Exp2.LATENCY

    def __init__(self, config=None):
        self.config = config or PowerConfig()
        super().__init__(
            {
                "i": In(stream.Signature(self.config.i_layout)),
                "scale": In(SCALE_FORMAT.shape),
                "o": Out(stream.Signature(self.config.o_layout)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self.config
        m.submodules.exp2 = exp2 = Exp2(config.exp2)

        # Callers chain a logarithm before and more stages behind: ready would pass through all.
        m.submodules.entry = entry = ReadyRegister(config.i_layout)
        wiring.connect(m, wiring.flipped(self.i), entry.i)
        operand = entry.o.p
        advance = Signal()
        valid = delay(m, entry.o.valid, 3, name="valid", enable=advance, reset=True)
        tag = delay(m, operand.tag, 3, name="tag", enable=advance)
        m.d.comb += [advance.eq(~valid | exp2.i.ready), entry.o.ready.eq(advance)]

        # Operands are registered here, so that callers may add up logarithms before the DSP block.
        s1_log = Signal(LOG_FORMAT.shape, reset_less=True)
        s1_scale = Signal(SCALE_FORMAT.shape, reset_less=True)
        s2_product = Signal(signed(LOG_FORMAT.width + SCALE_FORMAT.width), reset_less=True)
        s3_power = Signal(signed(EXPONENT_WIDTH + FRACTION_FORMAT.width), reset_less=True)
        half = 1 << (SCALE_FORMAT.fraction - 1)
        with m.If(advance):
            m.d.sync += [
                s1_log.eq(operand.log),
                s1_scale.eq(self.scale),
                s2_product.eq(s1_log * s1_scale),
                s3_power.eq((s2_product + half) >> SCALE_FORMAT.fraction),
            ]

        beside = data.StructLayout({"exponent": EXPONENT_WIDTH, "tag": config.tag_width})
        sent, back = data.View(beside, exp2.i.p.tag), data.View(beside, exp2.o.p.tag)
        m.d.comb += [
            exp2.i.valid.eq(valid),
            exp2.i.p.fraction.eq(s3_power[: FRACTION_FORMAT.width]),
            sent.exponent.eq(s3_power[FRACTION_FORMAT.width :]),
            sent.tag.eq(tag),
            self.o.valid.eq(exp2.o.valid),
            exp2.o.ready.eq(self.o.ready),
            self.o.p.mantissa.eq(exp2.o.p.mantissa),
            self.o.p.exponent.eq(back.exponent),
            self.o.p.tag.eq(back.tag),
        ]
        return m

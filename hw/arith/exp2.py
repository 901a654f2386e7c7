"""Power of two with a fraction as exponent: a table of 256 segments and interpolation.

Interval 1, latency 3. One DSP block.
"""

from dataclasses import dataclass
from decimal import Context, Decimal
from functools import cache

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.arith.fixed import UQ
from hw.arith.interpolate import Interpolate, Table
from hw.config import ConfigBase, check_range

__all__ = ["FRACTION_FORMAT", "MANTISSA_FORMAT", "Exp2", "Exp2Config", "exp2_table"]

FRACTION_FORMAT = UQ(0, 20)
#: A mantissa ``1.m``, one bit longer than that of float32.
MANTISSA_FORMAT = UQ(1, 24)

_INDEX_WIDTH = 8


@cache
def exp2_table():
    """The ``Table`` of ``Exp2``: ``2**(k / 256)`` for k = 0..256, in units of 2^-24.

    The points are rounded correctly from decimal exponentials.
    """
    context = Context(prec=40)
    ln2 = context.ln(Decimal(2))
    unit = 1 << MANTISSA_FORMAT.fraction
    points = tuple(
        int(context.exp(context.multiply(ln2, Decimal(k) / 256)) * unit + Decimal("0.5"))
        for k in range((1 << _INDEX_WIDTH) + 1)
    )
    remainder_width = FRACTION_FORMAT.fraction - _INDEX_WIDTH
    return Table(points=points, remainder_width=remainder_width, drop=remainder_width)


@dataclass(frozen=True, kw_only=True)
class Exp2Config(ConfigBase):
    """Config of ``Exp2``.

    tag_width : bits of a tag that travels with the operand, such as the integer part of an
        exponent; 0 for none.
    """

    tag_width: int = 0

    def __post_init__(self):
        check_range("tag_width", self.tag_width, 0, 4096)

    @property
    def table(self):
        return exp2_table()

    @property
    def i_layout(self):
        return data.StructLayout({"fraction": FRACTION_FORMAT.shape, "tag": self.tag_width})

    @property
    def o_layout(self):
        return data.StructLayout({"mantissa": MANTISSA_FORMAT.shape, "tag": self.tag_width})


class Exp2(wiring.Component):
    """``mantissa = 2**fraction``: UQ(0, 20) to UQ(1, 24), 1 <= mantissa < 2.

    The relative error is in [-2^-24, 2^-19.9] (chords lie above, then rounding). ``fraction = 0``
    gives exactly 1, and the result never falls as the fraction rises.

    Parameters
    ----------
    config : Exp2Config

    Members
    -------
    i : In(stream.Signature({fraction: 20, tag}))
        One operand an item, and a tag, which comes out unchanged with the operand's result.
    o : Out(stream.Signature({mantissa: 25, tag}))
        One result for each operand, in order.
    """

    INTERVAL = Interpolate.INTERVAL
    LATENCY = Interpolate.LATENCY

    def __init__(self, config=None):
        self.config = config or Exp2Config()
        super().__init__(
            {
                "i": In(stream.Signature(self.config.i_layout)),
                "o": Out(stream.Signature(self.config.o_layout)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.interpolate = interpolate = Interpolate(
            self.config.table, tag_width=self.config.tag_width
        )
        m.d.comb += [
            interpolate.i.valid.eq(self.i.valid),
            self.i.ready.eq(interpolate.i.ready),
            interpolate.i.p.x.eq(self.i.p.fraction),
            interpolate.i.p.tag.eq(self.i.p.tag),
            self.o.valid.eq(interpolate.o.valid),
            interpolate.o.ready.eq(self.o.ready),
            self.o.p.mantissa.eq(interpolate.o.p.value),
            self.o.p.tag.eq(interpolate.o.p.tag),
        ]
        return m

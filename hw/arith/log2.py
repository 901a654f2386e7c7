"""Base-2 logarithm of an integer: normalise, then interpolate in a table of 256 segments.

Two register stages normalise, three interpolate: interval 1, latency 5. One DSP block.
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
from hw.stream.delay import delay

__all__ = ["LOG2_FORMAT", "Log2", "Log2Config", "log2_table"]

#: Format of a logarithm; the fraction is what ``Exp2`` takes.
LOG2_FORMAT = UQ(6, 20)

_MANTISSA_WIDTH = 24  # bits after the leading one that count; those below move the result < 2^-23
_INDEX_WIDTH = 8


@cache
def log2_table():
    """The ``Table`` of ``Log2``: ``log2(1 + k / 256)`` for k = 0..256, in units of 2^-24.

    The points are rounded correctly from decimal logarithms.
    """
    context = Context(prec=40)
    unit = Decimal(1 << _MANTISSA_WIDTH) / context.ln(Decimal(2))
    points = tuple(
        int(context.multiply(context.ln(1 + Decimal(k) / 256), unit) + Decimal("0.5"))
        for k in range((1 << _INDEX_WIDTH) + 1)
    )
    remainder_width = _MANTISSA_WIDTH - _INDEX_WIDTH
    drop = remainder_width + _MANTISSA_WIDTH - LOG2_FORMAT.fraction
    return Table(points=points, remainder_width=remainder_width, drop=drop)


@dataclass(frozen=True, kw_only=True)
class Log2Config(ConfigBase):
    """Config of ``Log2``.

    width : bits of the operand, 1 to 64.
    tag_width : bits of a tag that travels with the operand; 0 for none.
    """

    width: int = 64
    tag_width: int = 0

    def __post_init__(self):
        check_range("width", self.width, 1, 64)
        check_range("tag_width", self.tag_width, 0, 4096)

    @property
    def table(self):
        return log2_table()

    @property
    def mantissa_width(self):
        return _MANTISSA_WIDTH

    @property
    def exponent_width(self):
        return max(1, (self.width - 1).bit_length())

    @property
    def i_layout(self):
        return data.StructLayout({"x": self.width, "tag": self.tag_width})

    @property
    def o_layout(self):
        return data.StructLayout({"log2": LOG2_FORMAT.shape, "zero": 1, "tag": self.tag_width})


class Log2(wiring.Component):
    """``log2 = log2(x)`` in UQ(6, 20) with an error of at most 2^-18; exact at powers of two.

    ``x`` is an unsigned integer. ``x = 0`` gives 0 with ``zero`` set. The result never falls as
    ``x`` rises. The chords of 256 segments give an error in [-2^-18.47, 0], rounding adds 2^-21.

    Parameters
    ----------
    config : Log2Config

    Members
    -------
    i : In(stream.Signature({x: config.width, tag}))
        One operand an item, and a tag, which comes out unchanged with its logarithm.
    o : Out(stream.Signature({log2: 26, zero: 1, tag}))
        One logarithm for each operand, in order; ``zero`` is 1 if the operand was 0.
    """

    INTERVAL = 1
    LATENCY = 2 + Interpolate.LATENCY

    def __init__(self, config=None):
        self.config = config or Log2Config()
        super().__init__(
            {
                "i": In(stream.Signature(self.config.i_layout)),
                "o": Out(stream.Signature(self.config.o_layout)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self.config

        beside = data.StructLayout(
            {"exponent": LOG2_FORMAT.integer, "zero": 1, "tag": config.tag_width}
        )
        m.submodules.interpolate = interpolate = Interpolate(config.table, tag_width=beside.size)
        advance = Signal()
        valid = delay(m, self.i.valid, 2, name="valid", enable=advance, reset=True)
        tag = delay(m, self.i.p.tag, 2, name="tag", enable=advance)
        m.d.comb += [advance.eq(~valid | interpolate.i.ready), self.i.ready.eq(advance)]

        # A binary normaliser: each step shifts out the zeros of the upper bits, if all are zero.
        # The upper half of the steps is stage 1, the lower half stage 2.
        size = 1 << config.exponent_width
        value = Signal(size)
        m.d.comb += value.eq(self.i.p.x << (size - config.width))
        exponent = Signal(range(config.width))
        m.d.comb += exponent.eq(config.width - 1)
        steps = [1 << k for k in reversed(range(config.exponent_width))]
        middle = (len(steps) + 1) // 2
        for stage, part in enumerate((steps[:middle], steps[middle:]), 1):
            for step in part:
                empty = Signal(name=f"empty_{step}")
                shifted = Signal(size, name=f"shifted_{step}")
                reduced = Signal(config.exponent_width, name=f"reduced_{step}")
                m.d.comb += [
                    empty.eq(~value[-step:].any()),
                    shifted.eq(Mux(empty, value << step, value)),
                    reduced.eq(Mux(empty, exponent - step, exponent)),
                ]
                value, exponent = shifted, reduced
            value = delay(m, value, 1, name=f"value_{stage}", enable=advance)
            exponent = delay(m, exponent, 1, name=f"exponent_{stage}", enable=advance)

        # The leading one goes; without it, x was zero.
        zero = ~value[-1]
        mantissa = Cat(Const(0, max(0, _MANTISSA_WIDTH + 1 - size)), value[:-1])
        sent, back = data.View(beside, interpolate.i.p.tag), data.View(beside, interpolate.o.p.tag)
        m.d.comb += [
            interpolate.i.valid.eq(valid),
            interpolate.i.p.x.eq(mantissa[-_MANTISSA_WIDTH:]),
            sent.exponent.eq(Mux(zero, 0, exponent)),
            sent.zero.eq(zero),
            sent.tag.eq(tag),
        ]

        # Just below the next power of two the fraction rounds to 1: it stays at its maximum.
        fraction = interpolate.o.p.value[: LOG2_FORMAT.fraction]
        carry = interpolate.o.p.value[LOG2_FORMAT.fraction]
        m.d.comb += [
            self.o.valid.eq(interpolate.o.valid),
            interpolate.o.ready.eq(self.o.ready),
            self.o.p.log2.eq(Cat(fraction | carry.replicate(LOG2_FORMAT.fraction), back.exponent)),
            self.o.p.zero.eq(back.zero),
            self.o.p.tag.eq(back.tag),
        ]
        return m

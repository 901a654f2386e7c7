"""A function of one variable from a table of its values, linear between them.

Three register stages (table, multiply, round): interval 1, latency 3. One DSP block.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from amaranth import *
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.config import ConfigBase, check_range
from hw.errors import UsageError
from hw.stream.delay import delay

__all__ = ["Interpolate", "Table"]


@dataclass(frozen=True, kw_only=True)
class Table(ConfigBase):
    """Values of a rising function at ``2**index_width + 1`` equally spaced points.

    ``x = index * 2**remainder_width + remainder`` lies between ``points[index]`` and the next;
    ``value = floor((points[index] * 2**remainder_width + slope * remainder) / 2**drop + 1/2)``
    with ``slope = points[index + 1] - points[index]``.

    points : integers that rise or stay equal, the first at least 0.
    remainder_width : bits of the remainder, 1 to 17.
    drop : bits by which the interpolated value is shifted down, with rounding half up, 1 to 48.
    """

    points: tuple
    remainder_width: int
    drop: int

    def __post_init__(self):
        if (len(self.points) - 1).bit_count() != 1 or len(self.points) < 3:
            raise UsageError(f"points must be 2**n + 1 values, n >= 1, not {len(self.points)!r}")
        if self.points[0] < 0 or min(np.diff(self.points)) < 0:
            raise UsageError(f"points must be rising from 0 or more, not {self.points!r}")
        check_range("remainder_width", self.remainder_width, 1, 17)
        check_range("drop", self.drop, 1, 48)

    @property
    def index_width(self):
        return (len(self.points) - 2).bit_length()

    @property
    def x_width(self):
        return self.index_width + self.remainder_width

    @property
    def base_width(self):
        return self.points[-2].bit_length()

    @property
    def slope_width(self):
        return int(max(self.slope)).bit_length()

    @property
    def value_width(self):
        """Bits of the greatest value, which lies one step of ``x`` below the last point."""
        top = (self.points[-1] << self.remainder_width) - int(self.slope[-1])
        return ((top + (1 << (self.drop - 1))) >> self.drop).bit_length()

    @cached_property
    def base(self):
        return np.array(self.points[:-1], dtype=np.int64)

    @cached_property
    def slope(self):
        return np.diff(np.array(self.points, dtype=np.int64))


class Interpolate(wiring.Component):
    """The function of ``table`` at ``x``, linear between the table's points, as the formula of
    ``Table`` rounds it.

    The table is an ``amaranth.lib.memory`` ROM: it needs its initial contents, is a few hundred
    words, converts in milliseconds, and every synthesizer finds either LUTs or a block RAM for it.

    Parameters
    ----------
    table : Table
    tag_width : int
        Bits of the tag that accompanies the operand; 0 for none.

    Members
    -------
    i : In(stream.Signature({x: table.x_width, tag}))
        One operand an item, unsigned, and a tag, which comes out unchanged with its value.
    o : Out(stream.Signature({value: table.value_width, tag}))
        One value for each operand, in order, unsigned.
    """

    INTERVAL = 1
    LATENCY = 3

    def __init__(self, table, *, tag_width=0):
        self.table, self.tag_width = table, tag_width
        super().__init__(
            {
                "i": In(
                    stream.Signature(data.StructLayout({"x": table.x_width, "tag": tag_width}))
                ),
                "o": Out(
                    stream.Signature(
                        data.StructLayout({"value": table.value_width, "tag": tag_width})
                    )
                ),
            }
        )

    def elaborate(self, platform):
        m = Module()
        table = self.table

        advance = Signal()
        m.d.comb += [advance.eq(~self.o.valid | self.o.ready), self.i.ready.eq(advance)]

        # Stage 1: look up both ends of the segment, as base and slope.
        segment = data.StructLayout({"base": table.base_width, "slope": table.slope_width})
        m.submodules.rom = rom = memory.Memory(
            shape=segment,
            depth=len(table.base),
            init=[
                {"base": int(base), "slope": int(slope)}
                for base, slope in zip(table.base, table.slope, strict=True)
            ],
        )
        read = rom.read_port()
        m.d.comb += [read.en.eq(advance), read.addr.eq(self.i.p.x[table.remainder_width :])]
        s1_remainder = Signal(table.remainder_width, reset_less=True)

        # Stage 2: multiply. Stage 3: add, with half of what is dropped.
        s2_base = Signal(table.base_width, reset_less=True)
        s2_product = Signal(table.slope_width + table.remainder_width, reset_less=True)
        total = Signal(table.value_width + table.drop)
        s3_value = Signal(table.value_width, reset_less=True)
        half = 1 << (table.drop - 1)
        m.d.comb += [
            total.eq((s2_base << table.remainder_width) + s2_product + half),
            self.o.p.value.eq(s3_value),
        ]
        with m.If(advance):
            m.d.sync += [
                s1_remainder.eq(self.i.p.x[: table.remainder_width]),
                s2_base.eq(read.data.base),
                s2_product.eq(read.data.slope * s1_remainder),
                s3_value.eq(total[table.drop :]),
            ]
        m.d.comb += [
            self.o.valid.eq(
                delay(m, self.i.valid, self.LATENCY, name="valid", enable=advance, reset=True)
            ),
            self.o.p.tag.eq(delay(m, self.i.p.tag, self.LATENCY, name="tag", enable=advance)),
        ]
        return m

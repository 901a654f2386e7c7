"""First approximation of 1/x and 1/sqrt(x) from a table: three stages, one DSP block.

From here both units go the same way: a Newton step to 31 bits, cut to the 24 bits of a
significand, so that the exact result lies in ``[floor, floor + 1 + 2**-7)``; then the sign of an
exact residual tells whether it lies above ``floor + 1/2``. So both round correctly.
"""

from amaranth import *
from amaranth.lib import data

from hw.arith.float32.format import SIDE
from hw.arith.interpolate import Interpolate, Table

__all__ = ["REMAINDER_WIDTH", "SEED_LATENCY", "SEED_WIDTH", "seed", "seed_table"]

#: A seed is UQ(0, 17), the unsigned limb of a DSP block.
SEED_WIDTH = 17
#: Low bits of the fraction, which interpolate; the upper eight are the index.
REMAINDER_WIDTH = 15
SEED_LATENCY = Interpolate.LATENCY

_POINT_WIDTH = 24


def seed_table(points):
    """A ``Table`` of seeds, whose relative error is in [-2^-15.9, 2^-18].

    ``points`` are exact values in units of 2^-24, rounded down. Half a unit of a seed (2^-18), and
    a little more, is subtracted from each: so the rounding of the table becomes a floor, and a seed
    of 1 does not occur.
    """
    drop = _POINT_WIDTH - SEED_WIDTH
    less = (1 << (drop - 1)) + 4
    return Table(
        points=tuple(point - less for point in points),
        remainder_width=REMAINDER_WIDTH,
        drop=REMAINDER_WIDTH + drop,
    )


def seed(m, unit, table, *, x, argument, side, clocks):
    """Adds the first ``SEED_LATENCY`` stages of ``unit`` to ``m``: they look up ``table`` at ``x``.

    ``x``, ``argument`` and ``side`` (of SIDE) are computed from the operand at ``unit.i``. Returns
    ``(advance, seed, argument, side)``: the enable of the unit's other ``clocks`` stages, the seed,
    and ``argument`` and ``side`` of the same operand, ``SEED_LATENCY`` stages later. Valid and tag
    are brought through all stages to ``unit.o``.
    """
    beside = data.StructLayout(
        {"argument": argument.shape(), "side": SIDE, "tag": unit.config.tag_width}
    )
    m.submodules.interpolate = interpolate = Interpolate(table, tag_width=beside.size)
    sent, back = data.View(beside, interpolate.i.p.tag), data.View(beside, interpolate.o.p.tag)
    advance = unit.last_stages(m, interpolate.o.valid, back.tag, clocks)
    m.d.comb += [
        interpolate.i.valid.eq(unit.i.valid),
        unit.i.ready.eq(interpolate.i.ready),
        interpolate.i.p.x.eq(x),
        sent.argument.eq(argument),
        sent.side.eq(side),
        sent.tag.eq(unit.i.p.tag),
        interpolate.o.ready.eq(advance),
    ]
    return advance, interpolate.o.p.value, back.argument, back.side

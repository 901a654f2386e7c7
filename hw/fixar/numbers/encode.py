"""A number of full precision as a cell: two register stages (shift; round, clip)."""

from amaranth import *

from hw.fixar.config import CELL_WIDTH, CODE_WIDTH

__all__ = ["ENCODE_LATENCY", "encode"]

ENCODE_LATENCY = 2


def encode(m, raw, half, shift, cut, *, name):
    """``(cell, clipped)`` of ``raw``, ``ENCODE_LATENCY`` clocks ago: free-running.

        code = clip(floor(raw * 2^-shift + 1/2))        16 bits, signed

    half : the cell is a code, in both halves; else it is ``raw``, and nothing is clipped. ``half``
    and ``shift`` are steady, as is ``cut``: a one for each of a code's lowest bits that are 0; the
    code is rounded half up to the bit above them.
    """
    wide = signed(CELL_WIDTH + 1)
    shifted = Signal(wide, name=f"{name}_shifted", reset_less=True)
    rounded = Signal(wide, name=f"{name}_rounded")
    beyond = Signal(name=f"{name}_beyond")
    code = Signal(CODE_WIDTH, name=f"{name}_code")
    cell = Signal(CELL_WIDTH, name=f"{name}_cell", reset_less=True)
    clipped = Signal(name=f"{name}_clipped", reset_less=True)
    sign, above = rounded[-1], rounded[CODE_WIDTH - 1 :]
    # Ones in all places below the last that is rounded to, and one more, add half of it.
    ones = Signal(CODE_WIDTH, name=f"{name}_ones")
    m.d.comb += [
        ones.eq(Mux(half, cut, 0)),
        rounded.eq(((shifted | ones) + 1) >> 1),
        beyond.eq(half & (above != sign.replicate(len(above)))),
        code.eq(Mux(beyond, Cat((~sign).replicate(CODE_WIDTH - 1), sign), rounded) & ~ones),
    ]
    m.d.sync += [
        shifted.eq(Cat(C(0, 1), raw).as_signed() >> Mux(half, shift, 0)),
        cell.eq(Mux(half, Cat(code, code), rounded)),
        clipped.eq(beyond),
    ]
    return cell, clipped

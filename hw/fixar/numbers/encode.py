"""A number of full precision as a cell: two register stages (shift; round, clip)."""

from amaranth import *

from hw.fixar.config import CELL_WIDTH, CODE_WIDTH

__all__ = ["ENCODE_LATENCY", "encode"]

ENCODE_LATENCY = 2


def encode(m, raw, half, shift, *, name):
    """``(cell, clipped)`` of ``raw``, ``ENCODE_LATENCY`` clocks ago: free-running.

        code = clip(floor(raw * 2^-shift + 1/2))        16 bits, signed

    half : the cell is a code, in both halves; else it is ``raw``, and nothing is clipped. ``half``
    and ``shift`` are steady.
    """
    wide = signed(CELL_WIDTH + 1)
    shifted = Signal(wide, name=f"{name}_shifted", reset_less=True)
    rounded = Signal(wide, name=f"{name}_rounded")
    beyond = Signal(name=f"{name}_beyond")
    code = Signal(CODE_WIDTH, name=f"{name}_code")
    cell = Signal(CELL_WIDTH, name=f"{name}_cell", reset_less=True)
    clipped = Signal(name=f"{name}_clipped", reset_less=True)
    sign, above = rounded[-1], rounded[CODE_WIDTH - 1 :]
    m.d.comb += [
        rounded.eq((shifted + 1) >> 1),
        beyond.eq(half & (above != sign.replicate(len(above)))),
        code.eq(Mux(beyond, Cat((~sign).replicate(CODE_WIDTH - 1), sign), rounded)),
    ]
    m.d.sync += [
        shifted.eq(Cat(C(0, 1), raw).as_signed() >> Mux(half, shift, 0)),
        cell.eq(Mux(half, Cat(code, code), rounded)),
        clipped.eq(beyond),
    ]
    return cell, clipped

"""Operands that test float32 units, and a Verilated unit to send millions of them through."""

import numpy as np
from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from sim.streams import StreamUnit

#: Numbers at which something changes, by their bits; all with both signs.
CORNERS = np.array(
    [
        0x00000000,  # zero
        0x00000001,  # subnormals
        0x00400000,
        0x007FFFFF,
        0x00800000,  # normals from the smallest
        0x00800001,
        0x00FFFFFF,
        0x01000000,
        0x01000001,
        0x20000000,  # 2**-63
        0x33800000,  # half a unit in the last place of 1, its neighbours, the unit
        0x337FFFFF,
        0x33800001,
        0x34000000,
        0x3F000000,  # a half
        0x3F7FFFFF,
        0x3F800000,  # one
        0x3F800001,
        0x3F800002,
        0x3FFFFFFF,
        0x40000000,
        0x4B7FFFFF,  # integers that a float32 just tells apart
        0x4B800000,
        0x4B800001,
        0x5F800000,  # 2**64
        0x7E800000,  # 2**126: its reciprocal is the smallest normal
        0x7E800001,
        0x7F000000,
        0x7F7FFFFE,
        0x7F7FFFFF,  # the largest
        0x7F800000,  # infinity
        0x7F800001,  # NaNs, signalling and quiet
        0x7FC00000,
        0x7FFFFFFF,
    ],
    dtype=np.uint32,
)
CORNERS = np.concatenate([CORNERS, CORNERS | np.uint32(1 << 31)])


def floats(bits):
    return np.asarray(bits).astype(np.uint32).view(np.float32)


def bits(values):
    return np.ascontiguousarray(values, dtype=np.float32).view(np.uint32)


def corners(count):
    """Bits of all corners with all corners, as ``count`` arrays."""
    grids = np.meshgrid(*[CORNERS] * count, indexing="ij")
    return [grid.reshape(-1) for grid in grids]


def _beside_ties(fraction, rng):
    """Fractions whose first two, with leading ones, have an exact product beside a tie.

    Modulo 2**24 the product is a half unit in the last place, more or less 1: the second factor is
    that times the inverse of the first. Where it lacks the leading one, it is just any factor.
    """
    first = fraction[0].astype(np.int64) | 1 << 23 | 1
    inverse = first
    for _ in range(4):
        inverse = inverse * (2 - first * inverse) & 0xFFFFFF
    half = rng.choice([1 << 22, 1 << 23, 3 << 22], first.shape)
    second = (half + rng.integers(-1, 2, first.shape)) * inverse & 0xFFFFFF
    return np.concatenate([[first & 0x7FFFFF, second & 0x7FFFFF], fraction[2:]])


def random_operands(count, rows, seed):
    """Bits of ``count`` operands, a sixth of the rows of each of six kinds.

    Any bits; few significant bits (ties); exponents that nearly agree (cancellation); equal up to
    the last bits with the sign changed; exponents that sum to the ends of the range; products
    one unit beside a tie.
    """
    rng = np.random.default_rng(seed)
    kind = rng.permutation(np.arange(rows) % 6)
    word = rng.integers(0, 1 << 32, (count, rows), dtype=np.uint32)
    sign, exponent, fraction = word >> 31, word >> 23 & 255, word & 0x7FFFFF
    few = fraction & ~((1 << rng.integers(0, 24, (count, rows))) - 1)
    fraction = np.where((kind == 1) | (rng.random((count, rows)) < 0.1), few, fraction)
    near = np.clip(exponent[0] + rng.integers(-26, 27, (count, rows)), 0, 255)
    exponent = np.where((kind == 1) | (kind == 2), near, exponent)
    end = np.where(rng.random(rows) < 0.5, 127, 381) + rng.integers(-2, 3, rows) - exponent[0]
    if count > 1:
        exponent[1] = np.where((kind == 4) & (0 < end) & (end < 255), end, exponent[1])
        fraction = np.where(kind == 5, _beside_ties(fraction, rng), fraction)
    made = (sign << 31 | exponent << 23 | fraction).astype(np.uint32)
    if count > 1:
        change = rng.integers(-4, 5, rows)
        twin = np.clip((made[0] & 0x7FFFFFFF) + change, 0, 0x7FFFFFFF) | ~made[0] & (1 << 31)
        made[-1] = np.where(kind == 3, twin, made[-1])
    return list(made)


class _Exchange(wiring.Component):
    """A unit behind the port names of ``StreamUnit``."""

    def __init__(self, unit):
        self.unit = unit
        super().__init__(
            {
                "request": In(stream.Signature(unit.i_layout.size)),
                "response": Out(stream.Signature(unit.o_layout.size)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.unit = unit = self.unit
        m.d.comb += [
            data.View(unit.i_layout, unit.i.payload).as_value().eq(self.request.payload),
            unit.i.valid.eq(self.request.valid),
            self.request.ready.eq(unit.i.ready),
            self.response.payload.eq(unit.o.payload.as_value()),
            self.response.valid.eq(unit.o.valid),
            unit.o.ready.eq(self.response.ready),
        ]
        return m


class Verilated:
    """``run(*operands)`` sends uint32 arrays through ``unit``, which has no tag."""

    def __init__(self, unit):
        self.unit = unit
        self.simulated = StreamUnit(_Exchange(unit), name=type(unit).__name__.lower())

    def run(self, *operands, source_gap=0.0, sink_gap=0.0, chunk=1 << 18):
        """Payloads of ``o`` as uint64; without gaps, the clocks are compared with the estimate."""
        results = []
        for start in range(0, len(operands[0]), chunk):
            parts = [part[start : start + chunk].astype(np.uint64) for part in operands]
            low = parts[0] if len(parts) == 1 else parts[0] | parts[1] << np.uint64(32)
            words = low.tolist()
            if len(parts) == 3:
                words = [a | b << 64 for a, b in zip(words, parts[2].tolist(), strict=True)]
            got, clocks = self.simulated.run(words, source_gap=source_gap, sink_gap=sink_gap)
            if not source_gap and not sink_gap:
                assert clocks == len(words) + self.unit.LATENCY, f"{clocks} clocks"
            results.append(np.array(got, dtype=np.uint64))
        return np.concatenate(results)

    def close(self):
        self.simulated.close()


def assert_same(got, expected, *operands):
    """Bits for bits; the message shows the first operands that differ."""
    wrong = np.flatnonzero(got != expected)
    if len(wrong):
        k = wrong[0]
        shown = ", ".join(f"{int(operand[k]):#010x}" for operand in operands)
        raise AssertionError(
            f"{len(wrong)} of {len(got)} differ; ({shown}) gave {int(got[k]):#x}, "
            f"not {int(expected[k]):#x}"
        )

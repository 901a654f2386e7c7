"""Pipelined unsigned multiplier of any width, cut to the size of one DSP block.

Free-running: no handshake and no stall. Interval 1; the attribute ``latency`` is a constant of the
two widths (1 for one DSP block, 2 up to 52 x 34 bits, 3 up to 78 x 68).
"""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.config import check_range
from hw.estimate import Estimate

__all__ = ["A_LIMB", "B_LIMB", "Multiply", "ecp5_carry", "ecp5_product"]

# A DSP48E2 multiplies signed 27 x 18; the sign bits stay zero.
A_LIMB = 26
B_LIMB = 17
# A MULT18X18D of an ECP5 multiplies 18 x 18, signed or not.
_ECP5_LIMB = 18
_OPERANDS = 3  # a carry chain of UltraScale+ adds three operands in one row of LUTs


def _limbs(width, limb):
    """Bounds ``(start, stop)`` of the limbs of a ``width``-bit operand, lowest first."""
    return [(start, min(start + limb, width)) for start in range(0, width, limb)]


def _rows(a_width, b_width):
    """Partial products in rows: a row holds products that share no bit and so need no adder.

    Each product is ``(offset, width, a_limb, b_limb)``.
    """
    products = sorted(
        (a[0] + b[0], a[1] - a[0] + b[1] - b[0], a, b)
        for a in _limbs(a_width, A_LIMB)
        for b in _limbs(b_width, B_LIMB)
    )
    rows = []
    for product in products:
        for row in rows:
            if sum(row[-1][:2]) <= product[0]:
                row.append(product)
                break
        else:
            rows.append([product])
    return rows


def _groups(values):
    return [values[k : k + _OPERANDS] for k in range(0, len(values), _OPERANDS)]


def ecp5_carry(bits):
    """Lookup tables of a carry chain of an ECP5: a CCU2C adds two bits, and takes two."""
    return bits + (bits & 1)


def ecp5_product(a, b, signed=False):
    """``(lut, dsp)`` on an ECP5 of a product of operands of ``a`` and ``b`` bits, as yosys maps it:
    a block for each 18 bits of both, whose products are added. A single bit has no block: it masks
    the other operand, or, as a sign, negates it."""
    if min(a, b) == 1:
        return max(a, b) * (a + b > 2) + signed * ecp5_carry(max(a, b) + 1), 0
    a, b = max(a, b), min(a, b)
    if a <= _ECP5_LIMB:
        return 0, 1
    low, high = ecp5_product(_ECP5_LIMB, b), ecp5_product(a - _ECP5_LIMB, b, signed)
    return low[0] + high[0] + ecp5_carry(a + b - _ECP5_LIMB), low[1] + high[1]


def _sum_ecp5(group, stop):
    """Lookup tables on an ECP5 of a sum of the sorted ``group``, which has ``stop`` bits: where two
    of three operands overlap, a bit is first made of two tables, sum and carry."""
    if len(group) == 3:
        overlap = sorted(each[1] for each in group)[1] - group[1][0]
        return ecp5_carry(stop - group[0][0]) + 2 * overlap
    return ecp5_carry(stop - group[1][0]) if len(group) == 2 else 0


class Multiply(wiring.Component):
    """``product = a * b`` of ``latency`` clocks ago, exact and unsigned.

    ``a`` is cut into limbs of 26 bits, ``b`` of 17; every pair of limbs is one DSP block. The
    registered partial products are added in registered steps of at most three operands.

    Parameters
    ----------
    a_width, b_width : int
        Bits of the operands, 1..256. Put the wider operand on ``a``.

    Attributes
    ----------
    latency : int
        Clocks from operands to product.

    Members
    -------
    a : In(a_width)
        Operand, unsigned.
    b : In(b_width)
        Operand, unsigned.
    product : Out(a_width + b_width)
        Registered, without reset: undefined for the first ``latency`` clocks.
    """

    def __init__(self, a_width, b_width):
        self.latency = self.latency_of(a_width, b_width)
        self.a_width, self.b_width = a_width, b_width
        super().__init__({"a": In(a_width), "b": In(b_width), "product": Out(a_width + b_width)})

    @staticmethod
    def latency_of(a_width, b_width):
        """``latency`` for these widths; ValueError for one outside 1..256."""
        check_range("a_width", a_width, 1, 256)
        check_range("b_width", b_width, 1, 256)
        rows, latency = len(_rows(a_width, b_width)), 1
        while rows > 1:
            rows, latency = -(-rows // _OPERANDS), latency + 1
        return latency

    @staticmethod
    def estimate(a_width, b_width):
        """Resources of a multiplier with operands of these widths."""
        products = _rows(a_width, b_width)
        # Bounds of the bits of each row that are not always 0.
        rows = [(row[0][0], sum(row[-1][:2])) for row in products]
        lut, ff = 0, sum(width for row in products for _, width, _, _ in row)
        sizes = [(a[1] - a[0], b[1] - b[0]) for row in products for _, _, a, b in row]
        small, blocks = (
            sum(each) for each in zip(*(ecp5_product(*size) for size in sizes), strict=True)
        )
        while len(rows) > 1:
            sums = []
            for group in _groups(sorted(rows)):
                carries = len(group) - 1
                stop = min(max(stop for _, stop in group) + carries, a_width + b_width)
                sums.append((group[0][0], stop))
                ff += stop - group[0][0]
                # A bit of two operands takes a table, one of three takes two.
                lut += sum(stop - start for start, stop in group[2:])
                lut += stop - group[1][0] if carries else 0
                small += _sum_ecp5(group, stop)
            rows = sums
        dsp = sum(len(row) for row in products)
        return Estimate(lut=lut, ff=ff, dsp=dsp, ecp5=(small, ff, 0, 0, blocks))

    def elaborate(self, platform):
        m = Module()
        rows = []
        for row in _rows(self.a_width, self.b_width):
            fields, end = [], 0
            for offset, width, a, b in row:
                partial = Signal(width, name=f"partial_{a[0]}_{b[0]}", reset_less=True)
                m.d.sync += partial.eq(self.a[slice(*a)] * self.b[slice(*b)])
                fields += [Const(0, offset - end), partial]
                end = offset + width
            rows.append(Cat(*fields))
        # All terms are non-negative and sum to the product, so no partial sum outgrows its width.
        step = 0
        while len(rows) > 1:
            step += 1
            sums = []
            for k, group in enumerate(_groups(rows)):
                total = sum(group[1:], group[0])
                width = min(len(total), self.a_width + self.b_width)
                sums.append(Signal(width, name=f"sum_{step}_{k}", reset_less=True))
                m.d.sync += sums[-1].eq(total)
            rows = sums
        m.d.comb += self.product.eq(rows[0])
        return m

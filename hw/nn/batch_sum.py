"""Sum of a batch's binary32 terms: a term a clock, in eight partial sums that a tree folds.

    partial[k] = +0 + x[k] + x[k + 8] + x[k + 16] + ..., added from the left, for k < 8
    total = ((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7]))

An addition takes eight clocks from the partial sum to its successor (operands, adder, register), so
one adder takes a term in every clock, and folds the partial sums at the end.
"""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.arith.binary32 import Binary32
from hw.arith.float32.format import WIDTH
from hw.stream.delay import delay

__all__ = ["PARTS", "BatchSum"]

_FLOAT = Binary32()

#: Partial sums, as many as the clocks of an addition: operands, adder, the partial sum's register.
#: A power of two, so that the tree is balanced and the place of a term wraps by itself.
PARTS = 1 + _FLOAT.add_latency + 1
assert PARTS & (PARTS - 1) == 0, "the tree of partial sums would need padding"


def _fold_order():
    """``({clock: (k, other)}, clocks)``: when partial sum ``other`` is added to partial sum ``k``,
    each as soon as both operands are there; and the clocks from ``fold`` to the total."""
    order, ready, clock, half = {}, [0] * PARTS, 0, PARTS // 2
    while half:
        for k in range(half):
            clock = max(clock, ready[k], ready[k + half])
            order[clock] = k, k + half
            ready[k] = clock + PARTS
            clock += 1
        half //= 2
    return order, 1 + ready[0]


class BatchSum(wiring.Component):
    """Adds up to one term a clock, and folds the partial sums when it is told to.

    Attributes
    ----------
    LATENCY : int
        Clocks from a term until it is in its partial sum.
    FOLD_LATENCY : int
        Clocks from ``fold`` to ``total``.

    Members
    -------
    clear : In(1)
        A pulse: sets all partial sums to +0; the next term is x[0]. Not in the ``LATENCY`` clocks
        after a term, nor between ``fold`` and ``folded``.
    i : In({valid, value})
        A term, binary32, if ``valid``. It is added to partial sum k mod 8, if it is term number k
        since ``clear``.
    fold : In(1)
        A pulse: add the partial sums up. The last term came at least ``LATENCY`` clocks ago, and
        none comes before the next ``clear``.
    folded : Out(1), total : Out(32)
        ``folded``, a pulse ``FOLD_LATENCY`` clocks after ``fold``: ``total`` is the sum, binary32.
        ``total`` stays until the next ``clear``.
    """

    _ORDER, FOLD_LATENCY = _fold_order()
    LATENCY = PARTS

    def __init__(self):
        super().__init__(
            {
                "clear": In(1),
                "i": In(data.StructLayout({"valid": 1, "value": WIDTH})),
                "fold": In(1),
                "folded": Out(1),
                "total": Out(WIDTH),
            }
        )

    def elaborate(self, platform):
        m = Module()
        partial = Array(Signal(WIDTH, name=f"partial_{k}", reset_less=True) for k in range(PARTS))
        place = Signal(range(PARTS))  # of the next term
        target, other = Signal(range(PARTS)), Signal(range(PARTS))
        adds, term = Signal(), Signal(WIDTH)
        clock, folding = Signal(range(self.FOLD_LATENCY)), Signal()
        m.d.comb += [target.eq(place), adds.eq(self.i.valid), term.eq(self.i.value)]
        with m.If(folding):
            m.d.comb += [adds.eq(0), term.eq(partial[other])]
            with m.Switch(clock):
                for at, (k, summand) in self._ORDER.items():
                    with m.Case(at):
                        m.d.comb += [adds.eq(1), target.eq(k), other.eq(summand)]
            m.d.comb += self.folded.eq(clock == self.FOLD_LATENCY - 1)
            m.d.sync += [clock.eq(clock + 1), folding.eq(~self.folded)]
        with m.If(self.i.valid):
            m.d.sync += place.eq(place + 1)
        with m.If(self.fold):
            m.d.sync += [folding.eq(1), clock.eq(0)]

        operands = [Signal(WIDTH, name=f"operand_{k}", reset_less=True) for k in range(2)]
        m.d.sync += [operands[0].eq(partial[target]), operands[1].eq(term)]
        result = _FLOAT.add(m, *operands, name="result")
        late_target = delay(m, target, PARTS - 1, name="target")
        with m.If(delay(m, adds, PARTS - 1, name="adds", reset=True)):
            m.d.sync += partial[late_target].eq(result)
        with m.If(self.clear):
            m.d.sync += [place.eq(0), *(part.eq(0) for part in partial)]
        m.d.comb += self.total.eq(partial[0])
        return m

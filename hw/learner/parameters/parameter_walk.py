"""The order in which a layer's parameters are visited: PE by PE, address by address, then biases.

One word a clock with ``advance``; the first word shows in the clock after ``start``.
"""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.estimate import Estimate

__all__ = ["ParameterWalk"]


class ParameterWalk(wiring.Component):
    """Counts through the words of a layer's memories, each word once: for each PE addresses 0, 1,
    ... of its memory, then biases 0, 1, ...

    With ``advance`` held high a walk shows a word a clock: ``words(layer, layer.length)`` words in
    all. If ``parallel``, all update units walk side by side, and there are ``words(layer, members,
    biases)``. If the last unit has fewer PEs than the others, it has no bit in ``select`` while
    those finish theirs.

    Parameters
    ----------
    layer : LayerShape
    members : int
        PEs of an update unit. If ``parallel``, PEs 0, members, 2 * members, ... are visited at the
        same time, then the PE after each of them, and so on.
    biases : int or None
        Biases of a unit in a parallel walk; None if one unit has all of them.

    Members
    -------
    start : In(1), parallel : In(1)
        ``start``, a pulse: the first word shows in the next clock. ``parallel`` is steady from
        ``start`` to the end.
    advance : In(1)
        The next word, or the end of the walk, shows in the next clock.
    active : Out(1)
        A word shows: the members below are valid.
    select : Out(layer.length)
        Bit p: PE p is visited. No bit is set in the biases.
    bias : Out(1)
        The word is a bias.
    address : Out
        The word's address in a PE's memory, or the number of the bias (of a bank if ``parallel``).
    rows : Out(layer.length)
        Bit p: this address of PE p belongs to an output, not to padding.
    columns : Out(layer.vector)
        Bit k: number k of the word belongs to an input, not to padding.
    last : Out(1)
        This word is the last.
    """

    def __init__(self, layer, members, biases=None):
        self.layer, self.members = layer, members
        self.biases = layer.outputs if biases is None else biases
        super().__init__(
            {
                "start": In(1),
                "parallel": In(1),
                "advance": In(1),
                "active": Out(1),
                "select": Out(layer.length),
                "bias": Out(1),
                "address": Out(range(max(layer.depth, layer.outputs))),
                "rows": Out(layer.length),
                "columns": Out(layer.vector),
                "last": Out(1),
            }
        )

    @staticmethod
    def words(layer, members, biases=None):
        """How many words a parallel walk shows; the parameters are those of the class. With
        ``members = layer.length`` and no ``biases``, it is the number of a walk that is not
        parallel."""
        return members * layer.depth + (layer.outputs if biases is None else biases)

    @staticmethod
    def estimate(layer):
        """Resources of a walk over a layer."""
        sizes = (max(layer.depth, layer.outputs), layer.length, layer.words, layer.rows)
        bits = layer.length + 2 + sum((size - 1).bit_length() for size in sizes)
        return Estimate(lut=7 * bits // 4, ff=bits)

    def elaborate(self, platform):
        m = Module()
        layer = self.layer
        firsts = sum(1 << pe for pe in range(0, layer.length, self.members))

        member = Signal(range(layer.length))
        word = Signal(range(layer.words))
        row = Signal(range(layer.rows))
        row_end, pe_end, final = Signal(), Signal(), Signal()
        m.d.comb += [
            row_end.eq(row == layer.rows - 1),
            pe_end.eq(row_end & (word == layer.words - 1)),
            final.eq(member == Mux(self.parallel, self.members - 1, layer.length - 1)),
            self.last.eq(
                self.bias & (self.address == Mux(self.parallel, self.biases, layer.outputs) - 1)
            ),
        ]
        with m.If(self.start):
            m.d.sync += [
                self.active.eq(1),
                self.select.eq(Mux(self.parallel, firsts, 1)),
                self.bias.eq(0),
                self.address.eq(0),
                member.eq(0),
                word.eq(0),
                row.eq(0),
            ]
        with m.Elif(self.active & self.advance):
            m.d.sync += [
                self.address.eq(self.address + 1),
                row.eq(Mux(row_end, 0, row + 1)),
                word.eq(word + row_end),
            ]
            with m.If(self.bias):
                m.d.sync += self.active.eq(~self.last)
            with m.Elif(pe_end):
                m.d.sync += [
                    self.select.eq(Mux(final, 0, self.select << 1)),
                    self.bias.eq(final),
                    self.address.eq(0),
                    member.eq(member + 1),
                    word.eq(0),
                ]

        # Padding: the outputs past the last of a PE, the inputs past the last of a word.
        used = [layer.outputs_of(pe) for pe in range(layer.length)]
        words = [-(-(layer.inputs - k) // layer.vector) for k in range(layer.vector)]
        m.d.comb += [
            self.rows.eq(Cat(Const(1, 1) if n == layer.rows else row < n for n in used)),
            self.columns.eq(Cat(Const(1, 1) if n == layer.words else word < n for n in words)),
        ]
        return m

"""The address of the parameters that each sum of gradients belongs to, and the sum's shift."""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.fixar.layouts import SHIFT_WIDTH, Layouts
from hw.fixar.parameters.layouts import first_feature, next_column, sums_layout

__all__ = ["SumAddresses"]


class SumAddresses(wiring.Component):
    """Passes the sums of all cores on, a clock later, with the address of their word of weights.

    Sum i of a tile of outputs belongs to feature i of the frame; the last one belongs to the number
    1, so it is the bias's. The true sum is ``sum * 2**shift``, where shift is the activations'
    shift plus the errors' shift. A bias multiplies errors by 1, so there the fraction of an
    activation stands for the activations' shift.

    Parameters
    ----------
    config : FixarConfig
    weights : layout
        ``PassTable.WEIGHTS``.
    sums : layout
        Layout of a core's sums: the member ``sums`` of ``AapCore``.
    sum_width : int
        Bits of a sum.

    Members
    -------
    pass_ : In(PASS), weights : In
        The pass under way, and where the weights of its layer are, as ``PassTable`` gives it.
    start : In(1)
        One clock: a pass begins.
    i : In([cores] of {valid, index, word})
        The sums of the cores, which all come in the same clock.
    o : Out(sums_layout)
        The sums, the address of their word of weights, and their shift.
    """

    def __init__(self, config, weights, sums, sum_width):
        self.config, self.layouts = config, Layouts(config)
        super().__init__(
            {
                "pass_": In(self.layouts.PASS),
                "weights": In(weights),
                "start": In(1),
                "i": In(sums).array(config.cores),
                "o": Out(sums_layout(config, sum_width)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        p, w, first = self.pass_, self.weights, self.i[0]
        base, shift, one = Signal.like(self.o.address), Signal(SHIFT_WIDTH), Signal(SHIFT_WIDTH)
        ones, exists = Signal(), Signal()
        side = self.config.side
        m.d.comb += [
            ones.eq(first.index == p.columns * side),
            exists.eq((first.index >= w.first) & (first.index < w.end)),
        ]
        m.d.sync += [
            shift.eq(p.shift + p.error_shift),
            one.eq(self.config.arithmetic.activation.fraction + p.error_shift),
            self.o.valid.eq(first.valid),
            self.o.keep.eq(exists | ones),
            self.o.address.eq(
                base + Mux(ones, w.bias, first.index - first_feature(self.config, w))
            ),
            self.o.shift.eq(Mux(ones, one, shift)),
        ]
        for own, sums in zip(self.o.sums, self.i, strict=True):
            m.d.sync += own.eq(sums.word)
        with m.If(self.start):
            m.d.sync += base.eq(w.base)
        with m.Elif(first.valid & ones):
            m.d.sync += base.eq(base + next_column(self.config, w))
        return m

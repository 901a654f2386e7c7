"""Which word of the parameters a sum of gradients is of, and how far it lies below the others."""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.fixar.layouts import SHIFT_WIDTH, Layouts
from hw.fixar.parameters.layouts import sums_layout

__all__ = ["Updates"]


class Updates(wiring.Component):
    """Sums of all cores with the address of their word, a clock later.

    Sum i of a tile of outputs is of feature i of the frame; the last is of the ones: biases. A sum
    is 2^shift times as large as it looks, by the shifts of activations and of errors; a bias's, by
    the fraction of an activation in place of the former.

    Parameters
    ----------
    config : FixarConfig
    weights : layout
        ``PassTable.WEIGHTS``.
    sums : layout
        ``sums`` of ``AapCore``.
    sum_width : int
        Bits of a sum.

    Members
    -------
    pass_ : In(PASS), weights : In
    start : In(1)
        A pass begins.
    i : In([cores] of {valid, index, word})
        In lockstep.
    o : Out(sums_layout)
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
            exists.eq((first.index >= w.first) & (first.index < w.first + w.inputs)),
        ]
        m.d.sync += [
            shift.eq(p.shift + p.error_shift),
            one.eq(self.config.arithmetic.activation.fraction + p.error_shift),
            self.o.valid.eq(first.valid),
            self.o.keep.eq(exists | ones),
            self.o.address.eq(base + Mux(ones, w.inputs, first.index - w.first)),
            self.o.shift.eq(Mux(ones, one, shift)),
        ]
        for own, sums in zip(self.o.sums, self.i, strict=True):
            m.d.sync += own.eq(sums.word)
        with m.If(self.start):
            m.d.sync += base.eq(w.base)
        with m.Elif(first.valid & ones):
            m.d.sync += base.eq(base + w.inputs + 1)
        return m

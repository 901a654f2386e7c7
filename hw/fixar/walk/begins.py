"""What sums begin with: the biases of each tile of a result, at the fraction of its sums."""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.fixar.array.foot import BEGIN_WIDTH
from hw.fixar.layouts import SHIFT_WIDTH
from hw.fixar.parameters.layouts import bias_layout
from hw.stream.queue import Queue

__all__ = ["Begins"]

#: Tiles of a result whose biases are under way: those loaded, and those whose words are.
_AHEAD = 8


class Begins(wiring.Component):
    """Biases wait until the words of their sums enter the foot.

    ``begin = bias * 2^(fraction - shift)``, with the fraction of an activation: as a sum of
    products of operands and of codes whose shift is ``shift``.

    Parameters
    ----------
    config : FixarConfig

    Members
    -------
    bias : In({valid, word}), shift : In
        ``shift`` is steady while biases come.
    forward : In(1)
        Without it sums begin with 0.
    next : In(1)
        The first words of a sum have entered with the last index: the next bias.
    begin : Out([side] of signed(47))
    """

    def __init__(self, config):
        self.config = config
        super().__init__(
            {
                "bias": In(bias_layout(config)),
                "shift": In(SHIFT_WIDTH),
                "forward": In(1),
                "next": In(1),
                "begin": Out(data.ArrayLayout(signed(BEGIN_WIDTH), config.side)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.waiting = waiting = Queue(self.begin.shape(), _AHEAD)
        fraction = self.config.arithmetic.activation.fraction
        left = Signal(range(fraction + 1))
        word, valid = Signal(self.begin.shape(), reset_less=True), Signal()
        m.d.comb += [
            left.eq(fraction - self.shift),
            waiting.i.payload.eq(word),
            waiting.i.valid.eq(valid),
            waiting.o.ready.eq(self.next & self.forward),
        ]
        m.d.sync += valid.eq(self.bias.valid)
        for lane in range(self.config.side):
            m.d.sync += word[lane].eq(self.bias.word[lane] << left)
            m.d.comb += self.begin[lane].eq(Mux(self.forward, waiting.o.payload[lane], 0))
        return m

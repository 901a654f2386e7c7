"""What sums start with: the biases of each tile of a result, at the fraction of its sums."""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.fixar.array.accumulators import BEGIN_WIDTH
from hw.fixar.layouts import SHIFT_WIDTH
from hw.fixar.parameters.layouts import bias_layout
from hw.stream.queue import Queue

__all__ = ["BiasQueue"]

#: Tiles of a result that may wait: those that are loaded, and those whose words are in the array.
_AHEAD = 8


class BiasQueue(wiring.Component):
    """A queue of biases, each of which waits until the words of its sums enter the accumulators.

    ``begin = bias * 2^(fraction - shift)``, where ``fraction`` is that of an activation: so a bias
    has the binary point of the products of weights with codes whose shift is ``shift``.

    Parameters
    ----------
    config : FixarConfig

    Members
    -------
    bias : In({valid, word})
        With ``valid``: the biases of the next tile column of the result, as operands. They wait
        here.
    shift : In
        The shift of the pass; it does not change while biases come.
    forward : In(1)
        The pass is a forward pass. In other passes sums start with 0.
    next : In(1)
        One clock: the last of the sums of the present tile column has started, so from the next
        clock on ``begin`` has the biases of the next one.
    begin : Out([side] of signed(47))
        What the sums of each column of the array start with.
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

"""What the chains of PEs share: payload layouts, and the issue of tokens.

A chain steps in macro-cycles of ``rows`` clocks. A token, one input word, enters the first PE at
the start of a macro-cycle, stays for all of it, one row of the memory word after the other, then
hops to the next PE. All PEs are in the same row in the same clock.
"""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.estimate import Estimate

__all__ = ["FORWARD_TOKEN", "TokenIssue", "next_row", "sum_shape"]

#: A word under way; ``first`` and ``last`` are the first and last ``interleave`` of a sample.
FORWARD_TOKEN = data.StructLayout({"valid": 1, "first": 1, "last": 1})


def sum_shape(config, layer):
    """Shape of a forward sum: the products of all inputs, and the bias as one more."""
    return config.arithmetic.sum_shape("weight", "activation", count=layer.inputs + 1)


def next_row(layer, row, hop, waits):
    """The row of the next clock, a Value: row + 1; after the last row (``hop``) row 0, or if the
    chain ``waits`` the last row again, in which words are taken."""
    return Mux(hop, Mux(waits, layer.rows - 1, 0), row + 1)


class TokenIssue(wiring.Component):
    """Steps a forward chain in macro-cycles of ``rows`` clocks. It takes a word in the last clock
    of a macro-cycle and makes it the token of the next one. If no word is valid then, the next
    macro-cycle has no token.

    With ``interleave`` > 1, ``interleave`` macro-cycles in a row are a group, in which all have a
    token or none has, so that a partial sum meets its next token ``rows * interleave`` clocks
    later. A group has tokens if its first word is valid; then the source must have its other words
    ready in time.

    While the chain is ``idle``, it waits in the last clock of a macro-cycle, so that the first word
    of a sample is taken as soon as it is valid (with ``interleave`` > 1, when a group begins).

    Parameters
    ----------
    layer : LayerShape

    Members
    -------
    idle : In(1)
        No sample is under way. It is still high in the clock in which a sample is ``started``.
    valid : In(1), ready : Out(1)
        Of the stream of words; a word is taken in a clock in which both are high.
    room : In(1)
        There is room for a sample's outputs. It matters only where a sample begins: its first word
        is taken only if ``room`` is high (``docs/flow_control.md``).
    hop : Out(1)
        Last clock of a macro-cycle: tokens move on.
    row : Out(range(layer.rows))
        The row (output of a PE) in which all PEs are in this clock.
    token : Out(FORWARD_TOKEN)
        The token in the first PE.
    started : Out(1)
        A pulse: the first word of a sample is taken in this clock.
    """

    def __init__(self, layer):
        self.layer = layer
        super().__init__(
            {
                "idle": In(1),
                "valid": In(1),
                "ready": Out(1),
                "room": In(1),
                "hop": Out(1),
                "row": Out(range(layer.rows)),
                "token": Out(FORWARD_TOKEN),
                "started": Out(1),
            }
        )

    @classmethod
    def estimate(cls, layer):
        """Resources of the issue of a layer's tokens."""
        counts = (layer.rows, layer.words, layer.interleave)
        bits = sum((count - 1).bit_length() for count in counts)
        return Estimate(lut=2 * bits + 4, ff=bits + FORWARD_TOKEN.size)

    def elaborate(self, platform):
        m = Module()
        layer = self.layer
        word = Signal(range(layer.words))
        turn = Signal(range(layer.interleave))  # of the macro-cycle that hop starts
        going = Signal()  # this group is one of tokens
        begin, take = Signal(), Signal()
        m.d.comb += [
            self.hop.eq(self.row == layer.rows - 1),
            begin.eq(word == 0),
            self.ready.eq(self.hop & Mux(turn == 0, ~begin | self.room, going)),
            take.eq(self.valid & self.ready),
            self.started.eq(take & begin),
        ]
        m.d.sync += self.row.eq(next_row(layer, self.row, self.hop, self.idle & ~take))
        with m.If(self.hop):
            m.d.sync += [
                turn.eq(Mux(turn == layer.interleave - 1, 0, turn + 1)),
                going.eq(take),
                self.token.eq(
                    Cat(take, word < layer.interleave, word >= layer.words - layer.interleave)
                ),
            ]
        with m.If(take):
            m.d.sync += word.eq(Mux(word == layer.words - 1, 0, word + 1))
        return m

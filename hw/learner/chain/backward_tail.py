"""Behind the last PE of a backward chain: sums over rows, rounded, times the derivative.

Interval 1; ``latency`` clocks from a word's last row in the last PE to its dx.
"""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.arith.adder_tree import (
    interleaved_sum,
    interleaved_sum_estimate,
    interleaved_sum_latency,
)
from hw.estimate import Estimate, times, together
from hw.learner.chain.backward_pe import BackwardPE, partial_layout, partial_shape
from hw.learner.memory_ports import READ_LATENCY
from hw.nn.activation import ACTIVATIONS
from hw.nn.layouts import vector_layout
from hw.stream.delay import delay, delay_estimate

__all__ = ["BackwardTail", "dx_layout"]


def dx_layout(config, layer, groups):
    """A word of input gradients: ``valid``, and ``value`` [groups][lanes][vector]. There is no
    back-pressure: a place for it is taken before (``docs/flow_control.md``)."""
    shape = config.arithmetic.shape("gradient")
    value = vector_layout(shape, groups, config.lanes, layer.vector)
    return data.StructLayout({"valid": 1, "value": value})


class BackwardTail(wiring.Component):
    """``dx = derivative(x) * sum over rows of partial`` for each group, lane and input of a word.
    The sum is rounded to a gradient before it is multiplied by the derivative.

    Parameters
    ----------
    config : LayerConfig
    layer : LayerShape
    groups : int
        Data paths beside each other.
    activation : str
        Name of the function that made x, in ``ACTIVATIONS``.

    Members
    -------
    hop : In(1), row : In(range(layer.rows))
        ``hop``: this is the last clock of a macro-cycle. ``row``: the row in which all PEs are.
    ends : In(1)
        A word is in its last row in the last PE.
    x : In [groups][lanes][vector]
        The word in the last PE, READ_LATENCY clocks behind its token.
    partial : In(partial_layout)
        ``partial_o`` of the last PE: one row of a word after the other.
    dx : Out(dx_layout)
        The gradients of a word's inputs, ``latency`` clocks after ``ends``.
    saturations : Out
        How many gradients were clipped, clock by clock.
    """

    def __init__(self, config, layer, groups, activation):
        self.config, self.layer, self.groups, self.activation = config, layer, groups, activation
        self.latency = self.latency_of(config, layer, activation)
        shape = config.arithmetic.shape("activation")
        super().__init__(
            {
                "hop": In(1),
                "row": In(range(layer.rows)),
                "ends": In(1),
                "x": In(vector_layout(shape, groups, config.lanes, layer.vector)),
                "partial": In(partial_layout(config, layer, groups)),
                "dx": Out(dx_layout(config, layer, groups)),
                "saturations": Out(range(groups * config.lanes * layer.vector + 1)),
            }
        )

    @classmethod
    def latency_of(cls, config, layer, activation):
        derived = ACTIVATIONS[activation].derivative_latency(config.arithmetic)
        return cls._rounded(config, layer) + derived

    @staticmethod
    def _rounded(config, layer):
        """Clocks from ``ends`` to the sum as a gradient."""
        arithmetic = config.arithmetic
        entry = BackwardPE.result_latency(config, layer.length - 1)
        return (
            entry + interleaved_sum_latency(arithmetic, layer.rows) + arithmetic.requantize_latency
        )

    @classmethod
    def estimate(cls, config, layer, groups, activation):
        """Resources of a tail with these arguments."""
        arithmetic, rounded = config.arithmetic, cls._rounded(config, layer)
        word = Shape.cast(arithmetic.shape("activation")).width
        total = partial_shape(config, layer).width
        levels = (layer.rows - 1).bit_length()
        # Below the point of rounding the last sum has no registers.
        lost = arithmetic.fraction("weight") - 1 if arithmetic.saturates and levels else 0
        hops = (layer.rows - 1 + rounded - READ_LATENCY) // layer.rows
        element = (
            interleaved_sum_estimate(arithmetic, total, layer.rows, 1),
            Estimate(lut=0, ff=-lost),
            arithmetic.requantize_estimate(total, "weight", "gradient", kind="gradient"),
            ACTIVATIONS[activation].derivative_estimate(arithmetic),
            delay_estimate(word, hops),
        )
        entry = BackwardPE.result_latency(config, layer.length - 1)
        latency = cls.latency_of(config, layer, activation)
        return together(
            [
                times(groups * config.lanes * layer.vector, *element),
                delay_estimate(levels, entry),
                Estimate(lut=2 * levels, ff=latency + READ_LATENCY + 2 + levels),
            ]
        )

    def elaborate(self, platform):
        m = Module()
        config, layer = self.config, self.layer
        entry = BackwardPE.result_latency(config, layer.length - 1)
        rounded = self._rounded(config, layer)
        position = delay(m, self.row, entry, name="position")

        # Macro-cycles by which the word whose sums are rounded is behind the last PE by now.
        hop = delay(m, self.hop, READ_LATENCY, name="hop", reset=True)
        hops = (layer.rows - 1 + rounded - READ_LATENCY) // layer.rows
        x = delay(m, self.x.as_value(), hops, name="x", enable=hop)
        x = data.View(self.x.shape(), x)

        clipped = []
        for group in range(self.groups):
            for lane in range(config.lanes):
                for k in range(layer.vector):
                    result, saturated = self._finish(
                        m,
                        position,
                        self.partial[group][lane][k],
                        x[group][lane][k],
                        f"{group}_{lane}_{k}",
                    )
                    m.d.comb += self.dx.value[group][lane][k].eq(result)
                    clipped.append(saturated)
        valid = delay(m, self.ends, rounded, name="rounded", reset=True)
        m.d.sync += self.saturations.eq(Mux(valid, sum(clipped), 0))
        m.d.comb += self.dx.valid.eq(
            delay(m, valid, self.latency - rounded, name="valid", reset=True)
        )
        return m

    def _finish(self, m, position, partial, x, name):
        arithmetic = self.config.arithmetic
        total, _ = interleaved_sum(
            m,
            arithmetic,
            partial,
            position,
            self.layer.rows,
            1,
            name=f"sum_{name}",
            shape=partial.shape(),
        )
        error, saturated = arithmetic.requantize(
            m, total, "weight", "gradient", kind="gradient", name=f"error_{name}"
        )
        activation = ACTIVATIONS[self.activation]
        return activation.derive(m, arithmetic, error, x, name=f"dx_{name}"), saturated

"""Forward pass of a layer: columns of a block, side by side, and the words of samples in turn.

Interval: ``shape.blocks`` clocks a sample; latencies: ``forward_stage``.
"""

from dataclasses import replace

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hw.errors import UsageError
from hw.learner.block.column import Column
from hw.learner.block.layer_clocks import (
    READ_LATENCY,
    column_clocks,
    forward_stage,
    last_latency,
    most_under_way,
)
from hw.learner.block.ports import forward_signature, word_layout
from hw.learner.block.sweep import Sweep
from hw.nn.layouts import vector_layout
from hw.shared import SharedModule
from hw.stream.delay import delay

__all__ = ["Forward"]

_SOURCES = ("online", "target", "either")


class Forward(wiring.Component):
    """``o[n] = activation(sum over inputs k of weight[n, k] * x[k] + bias[n])`` for each output n,
    group and lane. A group is a data path with the weights of one network.

    An input word is held for a clock each output word, and a block's products go to its sums,
    ``shape.input_word`` to each. The outputs of a word leave together when its last block has come.
    ``Column`` defines the order of additions. Any number of clocks may lie between two words;
    blocks inside never stall. Source: CF'22 3.2.1; PEARL V-B.

    Parameters
    ----------
    config : LayerConfig
    shape : BlockShape
        UsageError if ``Column`` cannot add its words.
    weight_sources : tuple of "online", "target" or "either"
        For each group, whose weights it takes. All groups share control and addresses.

    Members
    -------
    i : In(stream of [groups][lanes][input_word])
        The inputs of a sample: ``shape.input_words`` words, padded with zeros, in bursts of
        ``shape.interleave``: once the first word is valid, each other word is valid when it is
        requested.
    room : In(1)
        There is room for a sample's outputs. It matters only where a sample begins: its first word
        is taken only if ``room`` is high (``docs/flow_control.md``).
    o : Out(word_layout [groups][lanes][output_word])
        ``shape.output_words`` words a sample, in order. Outputs of padding follow from zero weights
        and biases.
    target, counted : In(groups)
        A bit for each group: of either network it takes the target's weights; its outputs are
        wanted, and those that are clipped are counted. Steady while a sample is under way.
    memory : Out(forward_signature)
        The ports of the parameters' memories.
    started : Out(1)
        A pulse: the first word of a sample is taken in this clock.
    idle : Out(1)
        No sample is under way: the outputs of all that have begun have left.
    saturations : Out
        How many activations were clipped, clock by clock.

    Attributes
    ----------
    latency, last_latency : int
        Clocks from a sample's first word taken to its first and its last word at ``o``, if no word
        is late.
    """

    def __init__(self, config, shape, weight_sources):
        weight_sources = tuple(weight_sources)
        if not weight_sources or any(source not in _SOURCES for source in weight_sources):
            raise UsageError(
                f"weight_sources must be of {', '.join(_SOURCES)}, not {weight_sources!r}"
            )
        self.config, self.shape, self.weight_sources = config, shape, weight_sources
        # A free output is computed as others are: its weights are 0.
        self._column = config.arithmetic, replace(shape, free=0), shape.activation
        Column.check(config.arithmetic, shape)
        self.latency = forward_stage(config, shape).latency
        self.last_latency = last_latency(config, shape)
        number = config.arithmetic.shape("activation")
        groups = len(weight_sources)
        paths = groups, config.lanes
        self._word = vector_layout(number, *paths, shape.input_word)
        clipped = len(weight_sources) * config.lanes * shape.output_word
        super().__init__(
            {
                "i": In(stream.Signature(self._word)),
                "room": In(1),
                "o": Out(word_layout(number, shape.output_words, *paths, shape.output_word)),
                "target": In(groups),
                "counted": In(groups, init=(1 << groups) - 1),
                "memory": Out(forward_signature(config, shape)),
                "started": Out(1),
                "idle": Out(1, init=1),
                "saturations": Out(range(clipped + 1)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.sweep = sweep = Sweep(self.shape, self._word)
        wiring.connect(m, wiring.flipped(self.i), sweep.i)
        bias_latency = column_clocks(*self._column).bias
        bias_output = delay(m, sweep.block.output, bias_latency, name="bias_output")
        m.d.comb += [
            sweep.room.eq(self.room),
            self.started.eq(sweep.started),
            self.memory.address.eq(sweep.address),
            self.memory.bias_address.eq(bias_output),
        ]
        self._columns(m, sweep)
        self._count(m)
        return m

    def _columns(self, m, sweep):
        """A block meets its word and its weights READ_LATENCY clocks after its address."""
        arithmetic, shape = self.config.arithmetic, self.shape
        block = Signal.like(sweep.block)
        for name in ("valid", "first", "last", "apart", "output"):
            late = delay(m, sweep.block[name], READ_LATENCY, name=name, reset=name == "valid")
            m.d.comb += block[name].eq(late)
        clipped = []  # of each path, how many
        for group, source in enumerate(self.weight_sources):
            weight, bias = self._weights(m, group, source)
            for lane in range(self.config.lanes):
                name, word = f"{group}_{lane}", sweep.word[group][lane]
                late = [READ_LATENCY - 1 + k * arithmetic.dot_skew for k in range(len(word))]
                x = [
                    delay(m, word[k], clocks, name=f"x_{name}_{k}") for k, clocks in enumerate(late)
                ]
                columns = [SharedModule(Column, *self._column) for _ in range(shape.output_word)]
                for n, column in enumerate(columns):
                    m.submodules[f"column_{name}_{n}"] = column
                    m.d.comb += [
                        column.block.eq(block),
                        column.bias.eq(bias[n]),
                        self.o.value[group][lane][n].eq(column.y.value),
                    ]
                    for k in range(shape.input_word):
                        m.d.comb += [column.x[k].eq(x[k]), column.weight[k].eq(weight[k][n])]
                total = Signal(range(shape.output_word + 1), name=f"clipped_{name}")
                m.d.sync += total.eq(
                    sum(column.y.clipped & self.counted[group] for column in columns)
                )
                clipped.append(total)
                m.d.comb += self.o.valid.eq(columns[0].y.valid)
        m.d.sync += self.saturations.eq(sum(clipped))

    def _weights(self, m, group, source):
        """The words of weights and biases that a group takes."""
        words = self.memory.weight, self.memory.bias
        if source != "either":
            return tuple(word[source] for word in words)
        chosen = []
        for word, name in zip(words, ("weight", "bias"), strict=True):
            chosen.append(Signal(word.online.shape(), name=f"{name}_{group}"))
            which = Mux(self.target[group], word.target.as_value(), word.online.as_value())
            m.d.comb += chosen[-1].as_value().eq(which)
        return tuple(chosen)

    def _count(self, m):
        """Indices of the words that leave, and samples that have not."""
        last = self.shape.output_words - 1
        index, left = Signal(range(last + 1)), Signal()
        under_way = Signal(range(most_under_way(self.config, self.shape)))
        m.d.comb += [
            self.o.index.eq(index),
            left.eq(self.o.valid & (index == last)),
            self.idle.eq(under_way == 0),
        ]
        with m.If(self.o.valid):
            m.d.sync += index.eq(Mux(left, 0, index + 1))
        m.d.sync += under_way.eq(under_way + self.started - left)

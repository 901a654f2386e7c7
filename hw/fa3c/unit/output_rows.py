"""From the sums of each lane to rows of outputs: additions, bias, ReLU or a mask.

The additions are free-running, ``drain_words`` outputs a clock; a queue for rows is behind them.
"""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.arith.adder_tree import adder_tree, interleaved_sum, interleaved_sum_latency
from hw.arith.binary32 import Binary32
from hw.arith.float32.format import WIDTH
from hw.fa3c.rows import ROW, ROW_WIDTH
from hw.stream.delay import delay
from hw.stream.queue import Queue

__all__ = ["SUMS", "OutputRows", "sums_layout"]

_ARITHMETIC = Binary32()

#: Control that comes with the sums. ``valid``: they are of the last partial sum. ``partial``: the
#: number of the partial sum. ``relu``: a negative output becomes +0.
SUMS = data.StructLayout({"valid": 1, "partial": 1, "relu": 1})


def sums_layout(config):
    """Sums of each lane for ``drain_words`` neighbouring outputs: ``[drain_words][lanes]``."""
    return data.ArrayLayout(data.ArrayLayout(WIDTH, config.lanes), config.drain_words)


class OutputRows(wiring.Component):
    """Adds up the sums of all lanes to outputs, and collects 16 outputs to a row.

    For each of ``drain_words`` outputs side by side, in binary32::

        sum = tree over p and l of  words[l] of partial p,  neighbours first, l the faster
        output = keep ? (relu ? max(+0, sum + bias) : sum + bias) : +0

    for the lanes l and the partial sums p, where max leaves a NaN, and turns -0 into +0. The words
    of a row come in ``steps`` = 16 / drain_words consecutive clocks for each partial sum, all of
    the first partial sum before the second. A row may begin only with ``room``, and is then never
    held up: see docs/flow_control.md.

    Parameters
    ----------
    config : Fa3cConfig
    ahead : int
        Clocks from ``begun`` to the first words of the row.

    Members
    -------
    room : Out(1)
        There is a place for a row.
    begun : In(1)
        A row begins, and takes a place.
    control : In(SUMS)
        Comes with ``words``. ``partial``: the number of their partial sum; ``valid``: it is the
        last one, so outputs follow; ``relu``: a negative output becomes +0.
    words : In(sums_layout)
        ``words[k][l]``: the sum of lane l for output k of the ``drain_words`` outputs.
    biases : In [drain_words]
        With the last partial sum: the bias of each output; -0 if there is none.
    keep : In(drain_words)
        With the last partial sum: a bit for each output; if 0, the output is +0.
    o : Out(stream of 512 bits)
        Rows of outputs.
    busy : Out(1)
        A row was begun in an earlier clock and has not left.
    """

    def __init__(self, config, ahead):
        self.config, self.ahead = config, ahead
        super().__init__(
            {
                "room": Out(1),
                "begun": In(1),
                "control": In(SUMS),
                "words": In(sums_layout(config)),
                "biases": In(data.ArrayLayout(WIDTH, config.drain_words)),
                "keep": In(config.drain_words),
                "o": Out(stream.Signature(ROW_WIDTH)),
                "busy": Out(1),
            }
        )

    @staticmethod
    def steps_of(config):
        """Clocks in which the 16 words of a partial sum come."""
        return ROW // config.drain_words

    @staticmethod
    def tree_latency_of(config):
        return (config.lanes - 1).bit_length() * _ARITHMETIC.add_latency

    @classmethod
    def sum_latency_of(cls, config):
        """Clocks from the words of the last partial sum to the total."""
        across = interleaved_sum_latency(_ARITHMETIC, config.partials)
        return cls.tree_latency_of(config) + across

    @classmethod
    def latency_of(cls, config):
        """Clocks from a row's first words to the row, for one partial sum. A second partial sum
        adds ``steps`` clocks, as it does to the interval between rows."""
        added = cls.sum_latency_of(config) + _ARITHMETIC.add_latency
        return added + Queue.latency_of(1) + cls.steps_of(config)

    @property
    def places(self):
        """Rows that have begun and not left, at most: enough that no row waits if each row leaves
        at once. A place is free a clock after its row has left."""
        clocks = self.ahead + self.latency_of(self.config) + 1
        return -(-clocks // self.steps_of(self.config))

    def elaborate(self, platform):
        m = Module()
        config, control = self.config, self.control
        steps = self.steps_of(config)
        sum_latency = self.sum_latency_of(config)
        latency = sum_latency + _ARITHMETIC.add_latency
        places = self.places

        s_partial = delay(m, control.partial, self.tree_latency_of(config), name="partial")
        relu = delay(m, control.relu, latency, name="relu")
        keep = delay(m, self.keep, latency, name="keep")
        valid = delay(m, control.valid, latency, name="valid", reset=True)
        outputs = Signal(data.ArrayLayout(WIDTH, config.drain_words))
        for k in range(config.drain_words):
            lanes = [self.words[k][lane] for lane in range(config.lanes)]
            total, _ = interleaved_sum(
                m,
                _ARITHMETIC,
                adder_tree(m, _ARITHMETIC, lanes, name=f"lanes_{k}"),
                s_partial,
                config.partials,
                steps,
                name=f"partials_{k}",
            )
            bias = delay(m, self.biases[k], sum_latency, name=f"bias_{k}")
            total = _ARITHMETIC.add(m, total, bias, name=f"biased_{k}")
            # The sign of a NaN from an adder is 0, so ReLU leaves it.
            m.d.comb += outputs[k].eq(Mux(keep[k] & ~(relu & total[-1]), total, 0))

        # The last place is the register in which the words of a row are collected.
        m.submodules.queue = queue = Queue(config.drain_words * WIDTH, (places - 1) * steps)
        m.d.comb += [queue.i.payload.eq(outputs), queue.i.valid.eq(valid)]
        self._row(m, queue.o, steps)

        used = Signal(range(places + 1))
        m.d.comb += [self.room.eq(used != places), self.busy.eq(used != 0)]
        m.d.sync += used.eq(used + self.begun - (self.o.valid & self.o.ready))
        return m

    def _row(self, m, words, steps):
        """Collects ``steps`` payloads of ``words`` to a row of ``o``, the first one lowest."""
        row = Signal(ROW_WIDTH, reset_less=True)
        step = Signal(range(steps))
        m.d.comb += [
            words.ready.eq(~self.o.valid | self.o.ready),
            self.o.payload.eq(row),
        ]
        with m.If(words.ready):
            m.d.sync += self.o.valid.eq(words.valid & (step == steps - 1))
            with m.If(words.valid):
                m.d.sync += [
                    row.eq(Cat(row, words.payload)[-len(row) :]),
                    step.eq(Mux(step == steps - 1, 0, step + 1)),
                ]

"""The errors of a layer's outputs, kept while blocks need them, and the gradients of the biases.

A word a clock. Words that come as a stream wait while all banks are taken, and after a sample of
very few words until its bias gradients are summed.
"""

from amaranth import *
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from hw.config import check_flag, check_range
from hw.errors import UsageError
from hw.learner.block.bias_gradients import BiasGradients
from hw.learner.block.layer_clocks import READ_LATENCY, bias_clocks, early_word
from hw.learner.block.ports import gradient_write_layout
from hw.nn.layouts import vector_layout
from hw.stream.delay import delay
from hw.stream.ram import Ram, style_of

__all__ = ["DeltaWords"]


class DeltaWords(wiring.Component):
    """Takes the errors delta of a layer's outputs word by word, into banks in turn, a sample each,
    and adds errors of the first group to the gradients of the biases (``BiasGradients``).

    A reader needs word o of a sample o clocks after it began, once for each of its input words. So
    it may begin before the last word has come, if the pace of words is known. A bank may be loaded
    again when the reader takes its last input word: new words come no faster than it reads.

    Words come as a stream; or, ``reserved``, from a source that looks at ``room`` and raises
    ``begun``, and whose words cannot wait (``docs/flow_control.md``). Such a source may not send
    the same word of two samples within ``spacing`` clocks; two samples of a ``Backward`` lie so far
    apart.

    Parameters
    ----------
    config : LayerConfig
    shape : BlockShape
    groups : int
        Data paths side by side.
    period : int or None
        Clocks from a word of a sample to its next, if the source keeps to it in each sample; None
        if it is unknown.
    reserved : bool
        How words come.
    banks : int
        Samples whose errors are kept, a power of two and at least 2.

    Attributes
    ----------
    spacing : int
        Clocks from a word to the same word of the next sample, at least.

    Members
    -------
    i : In(stream of [groups][lanes][output_word])
        ``shape.output_words`` words a sample; ready while a bank is free, or always if
        ``reserved``.
    begun : In(1), room : Out(1)
        ``begun``, a pulse: a sample will come, and takes a bank. ``room``: a bank is free for it.
    start : In(1)
        A pulse: the next sample that comes in ``i`` is the first of a batch.
    available : Out(1)
        The reader may begin the next sample: each word will have come when it is needed.
    begins, release, ended : In(1)
        Pulses of the reader: in this clock it reads the first word of a sample for the first time;
        the first word for the last time; the last word for the last time.
    output : In(range(output_words))
        The word that is read.
    delta : Out [groups][lanes][output_word], fresh : Out(1)
        That word, READ_LATENCY clocks after ``output``. ``fresh``, at once, from ``begins`` on: its
        sample is the first of its batch.
    bias_address : Out(range(output_words)), bias_gradient : In [output_word], bias_write : Out
        As in ``backward_signature``.
    """

    def __init__(self, config, shape, groups=1, *, period=None, reserved=False, banks=2):
        check_range("groups", groups, 1, 2)
        if period is not None:
            check_range("period", period, 1, 1 << 16)
        check_flag("reserved", reserved)
        check_range("banks", banks, 2, 64)
        if banks & (banks - 1):
            raise UsageError(f"banks must be a power of two, not {banks!r}")
        self.config, self.shape, self.groups = config, shape, groups
        self.period, self.reserved, self.banks = period, reserved, banks
        self.spacing = bias_clocks(config, shape).spacing
        number, lanes = config.arithmetic.shape("gradient"), config.lanes
        self._word = vector_layout(number, groups, lanes, shape.output_word)
        total, words = config.bias_sum_shape, shape.output_words
        super().__init__(
            {
                "i": In(stream.Signature(self._word)),
                "begun": In(1),
                "room": Out(1),
                "start": In(1),
                "available": Out(1),
                "begins": In(1),
                "release": In(1),
                "ended": In(1),
                "output": In(range(words)),
                "delta": Out(self._word),
                "fresh": Out(1),
                "bias_address": Out(range(words)),
                "bias_gradient": In(vector_layout(total, shape.output_word)),
                "bias_write": Out(gradient_write_layout(total, words, shape.output_word)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        words, banks = self.shape.output_words, self.banks
        number, bank = Signal(range(words)), Signal(range(banks))
        take, begins, ends = Signal(), Signal(), Signal()
        m.d.comb += [
            take.eq(self.i.valid & self.i.ready),
            begins.eq(take & (number == 0)),
            ends.eq(take & (number == words - 1)),
        ]
        with m.If(take):
            m.d.sync += number.eq(number + 1)
        with m.If(ends):
            m.d.sync += [number.eq(0), bank.eq(bank + 1)]

        first = self._read(m, number, bank, take, begins, ends)
        self._admit(m, number, take, begins, ends)
        m.submodules.bias = bias = BiasGradients(self.config, self.shape)
        m.d.comb += [
            bias.valid.eq(take),
            bias.output.eq(number),
            bias.fresh.eq(first),
            bias.delta.eq(self.i.payload[0]),
            bias.bias_gradient.eq(self.bias_gradient),
            self.bias_address.eq(bias.bias_address),
            self.bias_write.eq(bias.bias_write),
        ]
        return m

    def _admit(self, m, number, take, begins, ends):
        """Banks are taken in turn: which are free is told by how many."""
        used, there = (Signal(range(self.banks + 1), name=name) for name in ("used", "there"))
        free = used != self.banks
        if self.reserved:
            m.d.comb += [self.i.ready.eq(1), self.room.eq(free)]
        else:
            pause = bias_clocks(self.config, self.shape).pause
            waiting = Signal(range(pause + 1))
            with m.If(ends):
                m.d.sync += waiting.eq(pause)
            with m.Elif(waiting != 0):
                m.d.sync += waiting.eq(waiting - 1)
            m.d.comb += self.i.ready.eq((number != 0) | (free & (waiting == 0)))
        word, clocks = early_word(self.shape, self.period)
        enough = delay(m, take & (number == word), clocks, name="enough", reset=True)
        m.d.comb += self.available.eq(there != 0)
        m.d.sync += [
            used.eq(used + (self.begun if self.reserved else begins) - self.release),
            there.eq(there + enough - self.begins),
        ]

    def _read(self, m, number, bank, take, begins, ends):
        """The banks and their ``fresh`` bits; returns whether the word that is taken belongs to the
        first sample of a batch."""
        read_bank, fresh = Signal.like(bank), Signal(self.banks)
        new_batch, first = Signal(), Signal()
        with m.If(self.start):
            m.d.sync += new_batch.eq(1)
        with m.If(begins):
            m.d.sync += fresh.bit_select(bank, 1).eq(first)
        with m.If(ends):
            m.d.sync += new_batch.eq(0)
        with m.If(self.ended):
            m.d.sync += read_bank.eq(read_bank + 1)
        # The next sample may come to the bank before all of it is read.
        kept = Signal()
        m.d.sync += kept.eq(self.fresh)
        m.d.comb += [
            first.eq(new_batch | self.start),
            self.fresh.eq(Mux(self.begins, fresh.bit_select(read_bank, 1), kept)),
        ]

        depth = self.banks << (self.shape.output_words - 1).bit_length()
        width = Shape.cast(self._word).width
        m.submodules.words = ram = Ram(width=width, depth=depth, style=style_of(depth))
        late = delay(m, ram.read_data, READ_LATENCY - 1, name="delta")
        m.d.comb += [
            ram.write_enable.eq(take),
            ram.write_address.eq(Cat(number, bank)),
            ram.write_data.eq(self.i.payload),
            ram.read_address.eq(Cat(self.output, read_bank)),
            self.delta.as_value().eq(late),
        ]
        return first

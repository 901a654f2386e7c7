"""An update unit: all that comes from the memories of its PEs, and all that goes to them.

It selects the word that a walk visits, runs an optimizer for each number of it, and hands back the
new word, from there or from an image. Interval 1, free-running.
"""

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from hw.estimate import Estimate, chosen_tables, times, together
from hw.learner.config import PARAMETER_SETS
from hw.nn.optimizers import optimizer_of
from hw.shared import SharedModule

__all__ = ["UpdateUnit", "merge", "merge_registers", "merge_stages"]

#: Words that one register stage merges.
_RADIX = 8


def merge_stages(count):
    """How many register stages ``merge`` needs for ``count`` words: each stage merges up to 8."""
    return 1 if count <= _RADIX else 1 + merge_stages(-(-count // _RADIX))


def merge_registers(count, stages):
    """Registers of ``merge``, of a word each."""
    registers = 0
    for _ in range(stages):
        count = -(-count // _RADIX)
        registers += count
    return registers


def merge(m, words, stages, *, name):
    """OR of ``words``, ``stages`` clocks later, in registers of ``m`` with the prefix ``name``.
    ``words`` are unsigned and of one width, and ``stages`` is ``merge_stages(len(words))`` or
    more."""
    for stage in range(stages):
        merged = []
        for k in range(0, len(words), _RADIX):
            register = Signal(len(words[0]), name=f"{name}_{stage}_{k}", reset_less=True)
            value = words[k]
            for word in words[k + 1 : k + _RADIX]:
                value = value | word
            m.d.sync += register.eq(value)
            merged.append(register)
        words = merged
    return words[0]


class UpdateUnit(wiring.Component):
    """``vector`` optimizers, fed from the memories of ``sources`` banks; a word may enter in every
    clock.

    The clocks of a word whose ``moments_select`` comes in clock 0, with s = ``stages`` and at =
    ``timing`` of the optimizer::

        0               moments_select, gradient_i, first_i, second_i
        s               gradient and moments enter the optimizers
        s + at.moments  new moments leave; moments_columns
                  + 1   first_o, second_o
        at.weights      weights_select, online_i, target_i
        s + at.weights  weights enter the optimizers
        s + at.latency  new weights leave; weights_columns, counts, bias_counts
                  + 1   online_o, target_o, saturations

    So four walks over one layer, each some clocks behind the one before, read and write a word just
    when it is needed (``LayerParameters``).

    Parameters
    ----------
    config : LayerConfig
    shape : ParameterMemoryShape
        Of the PEs' memories.
    sources : int
        How many banks give their words: PEs, and perhaps a bank of biases.
    stages : int
        Register stages of the ``merge`` that selects a bank's word.

    Members
    -------
    coefficients : In
        As the optimizer takes them.
    weights_select, moments_select : In(sources)
        A bit for each bank, of which at most one is 1: the bank whose word of online and target
        (weights), or of gradient and moments (moments), enters.
    <memory>_i : In(word).array(sources)
        The words of all banks, of each memory, in the clock of their select.
    parameter_set : In(2), image_o : Out(32 * vector)
        ``image_o``: the selected word of the set with the number ``parameter_set`` in
        ``PARAMETER_SETS``, in the form of an image, ``stages`` clocks after its select; 0 if no
        bank is selected.
    updating : In(1), image_i : In(32 * vector)
        What is written: if ``updating``, the optimizers' results; if not, ``image_i``, a word of an
        image.
    weights_columns, moments_columns : In(vector)
        Bit k: number k of the word is not padding. In the clock in which ``image_i`` comes, or in
        which results leave the optimizers.
    <parameter_set>_o : Out(word)
        The word to be written, a clock after it left the optimizers or came as ``image_i``.
        Padding is zero, whatever the optimizers made of it.
    counts, bias_counts : In(1)
        The word that leaves is a row of weights that is not padding (``counts``), or a bias
        (``bias_counts``). Only then its clipped numbers are counted.
    saturations : Out
        How many weights of the word that left a clock ago were clipped.
    """

    def __init__(self, config, shape, sources, stages):
        self.config, self.shape, self.sources, self.stages = config, shape, sources, stages
        super().__init__(
            {
                "coefficients": In(optimizer_of(config.arithmetic).COEFFICIENTS),
                "weights_select": In(sources),
                "moments_select": In(sources),
                **{f"{name}_i": In(shape.words[name]).array(sources) for name in shape.memories},
                "parameter_set": In(2),
                "image_o": Out(32 * shape.vector),
                "updating": In(1),
                "image_i": In(32 * shape.vector),
                "weights_columns": In(shape.vector),
                "moments_columns": In(shape.vector),
                **{
                    f"{parameter_set}_o": Out(shape.words[parameter_set])
                    for parameter_set in shape.sets
                },
                "counts": In(1),
                "bias_counts": In(1),
                "saturations": Out(range(shape.vector + 1)),
            }
        )

    @classmethod
    def estimate(cls, config, shape, sources, stages):
        """Resources of a unit with these arguments."""
        read = sum(shape.width(name) for name in shape.memories)
        written = sum(shape.width(name) for name in shape.sets)
        optimizer = optimizer_of(config.arithmetic).estimate(config.optimizer_config)
        # A word read is selected, one of an image is of one of the sets; a word written is one of
        # two.
        own = Estimate(
            lut=read * chosen_tables(sources) + written + 32 * shape.vector + 2,
            ff=read * merge_registers(sources, stages) + written + shape.vector.bit_length(),
        )
        return together([times(shape.vector, optimizer), own])

    def elaborate(self, platform):
        m = Module()
        words = self._select(m)
        with m.Switch(self.parameter_set):
            for parameter_set in self.shape.sets:
                with m.Case(PARAMETER_SETS.index(parameter_set)):
                    # An assignment extends the sign of a weight; a Cat would not.
                    for lane in range(self.shape.vector):
                        number = self.image_o.word_select(lane, 32)
                        m.d.comb += number.eq(words[parameter_set][lane])
        self._write(m, self._optimizers(m, words))
        return m

    def _select(self, m):
        """memory -> selected word."""
        words = {}
        for name in self.shape.memories:
            group = "weights" if name in self.shape.WEIGHTS else "moments"
            select = getattr(self, f"{group}_select")
            masked = [
                Value.cast(word) & bit.replicate(Value.cast(word).shape().width)
                for word, bit in zip(getattr(self, f"{name}_i"), select, strict=True)
            ]
            words[name] = Signal(self.shape.words[name], name=f"{name}_word")
            merged = merge(m, masked, self.stages, name=name)
            m.d.comb += Value.cast(words[name]).eq(merged)
        return words

    def _optimizers(self, m, words):
        """parameter_set -> its new numbers. Of a bias, number 0 counts."""
        config, shape = self.config, self.shape
        unit = optimizer_of(config.arithmetic)
        results = {parameter_set: [] for parameter_set in shape.sets}
        saturated = []
        for lane in range(shape.vector):
            optimizer = SharedModule(
                unit, config.optimizer_config, config.arithmetic.gradient_sum_shape(config.batch)
            )
            m.submodules[f"optimizer_{lane}"] = optimizer
            m.d.comb += [
                optimizer.coefficients.eq(self.coefficients),
                optimizer.gradient.eq(words["gradient"][lane]),
            ]
            for parameter_set in shape.sets:
                port = "weight" if parameter_set == "online" else parameter_set
                m.d.comb += getattr(optimizer, port).eq(words[parameter_set][lane])
                results[parameter_set].append(getattr(optimizer, f"new_{port}"))
            saturated.append(optimizer.saturated)
        if config.arithmetic.saturates:
            counted = Signal(shape.vector)
            columns = self.weights_columns & self.counts.replicate(shape.vector)
            m.d.comb += counted.eq(Cat(*saturated) & (columns | self.bias_counts))
            m.d.sync += self.saturations.eq(sum(counted[1:], counted[0]))
        return results

    def _write(self, m, results):
        for parameter_set, new in results.items():
            group = "weights" if parameter_set in self.shape.WEIGHTS else "moments"
            columns = getattr(self, f"{group}_columns")
            register = Signal(
                self.shape.words[parameter_set], name=f"{parameter_set}_write", reset_less=True
            )
            m.d.comb += getattr(self, f"{parameter_set}_o").eq(register)
            for lane, result in enumerate(new):
                loaded = self.image_i.word_select(lane, 32)[: len(result)]
                number = Mux(self.updating, result, loaded)
                m.d.sync += register[lane].eq(Mux(columns[lane], number, 0))

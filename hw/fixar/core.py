"""FIXAR's core: the learner's core with FORMAT, and noise in ACT."""

from amaranth import *
from amaranth.lib import data

from hw.fixar.commands import COMMANDS, FIXAR, FIXAR_STATUS, FixarOpcode, shift_bytes
from hw.fixar.config import CODE_WIDTH, MOST_CUT
from hw.fixar.learner import FixarLearner
from hw.fixar.precision import slots
from hw.learner.commands import LearnOpcode
from hw.learner.core import LearnerCore
from hw.learner.samples.insert_check import InsertCheck

__all__ = ["FixarCore"]


class FixarCore(LearnerCore):
    """The core of the kernel ``fixar``.

    Parameters
    ----------
    config : FixarKernelConfig
    """

    COMMANDS = COMMANDS
    STATUS = FIXAR_STATUS

    @property
    def table(self):
        return FIXAR

    def make_learner(self):
        config = self.config
        return FixarLearner(config.learner, config.engine.data_width, config.replay.ultra_ram)

    def make_insert_check(self):
        return InsertCheck(self.config.learner, self.config.engine.data_width)

    @staticmethod
    def at_once(run):
        return run.selected.format

    def extend(self, m, run, learner):
        """Wires precision and shifts of the last FORMAT, the noise of an ACT, and the ranges.
        Returns ``{field: value}`` of the fields that FIXAR's status block has besides the
        learner's."""
        command = data.View(FIXAR[FixarOpcode.FORMAT].shape, run.raw)
        act = data.View(FIXAR[LearnOpcode.ACT].shape, run.raw)
        shifts = {
            name: Signal(data.ArrayLayout(32, 3), name=f"{name}_shifts")
            for name in ("activation", "error")
        }
        formatting = Signal()
        m.d.comb += [
            formatting.eq(run.start & run.selected.format),
            learner.clear.eq(formatting & command.clear[0]),
            learner.noise.eq(act.noise),
            learner.seed.eq(act.seed),
        ]
        bits, cut = command.activation_bits[: CODE_WIDTH.bit_length()], range(MOST_CUT)
        with m.If(formatting):
            m.d.sync += [
                learner.half_activations.eq(command.activations),
                learner.half_errors.eq(command.errors),
                learner.activation_cut.eq(Cat((bits != 0) & (bits < CODE_WIDTH - k) for k in cut)),
            ]
            for name, kept in shifts.items():
                half, words = getattr(command, f"{name}s"), getattr(command, f"{name}_shifts")
                m.d.sync += kept.eq(words)
                for own, given in zip(
                    getattr(learner, f"{name}_shifts"),
                    shift_bytes([words[k] for k in range(3)]),
                    strict=False,
                ):
                    m.d.sync += own.eq(Mux(half[0], given, 0))
        fields = {"precision": Cat(learner.half_activations, learner.half_errors)}
        first = 0
        for (name, kept), count in zip(shifts.items(), slots(self.config.learner), strict=True):
            fields[f"{name}_shifts"] = kept
            pairs = zip(learner.low[first:], learner.high[first:], strict=True)
            numbers = [number for pair in list(pairs)[:count] for number in pair]
            fields[f"{name}_ranges"] = Cat(numbers)
            first += count
        return fields

"""The samples of a batch: records come in and go to the cores' cells; TD errors leave."""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hw.fixar.batch.intake import Intake
from hw.fixar.batch.td_errors import TdErrors
from hw.fixar.layouts import Layouts
from hw.learner.samples.batch_memory import BatchMemory

__all__ = ["Samples"]


class Samples(wiring.Component):
    """The batch memory with its two readers, which take turns: ``Intake``, then ``TdErrors``.

    The next batch comes into one half of the memory while this one is read from the other.

    Parameters
    ----------
    config : FixarConfig
    data_width : int
        Bits of a beat.
    cell : StructLayout
        Layout of the member ``intake`` of ``AapCore``.

    Members
    -------
    records : In(stream of beats), begin : In(1), observations : In(1), batch : In
        ``begin``, one clock: ``batch`` records follow, experiences with their headers or, with
        ``observations``, only observations.
    loaded, bad, bad_index, weight : Out
        ``loaded``: all records have come. From then on: whether one of them has a number that is
        not allowed, the index of the first such record, and the batch's largest weight.
    take : In(1), taken : Out(1)
        One clock each. ``take``: the loaded batch goes to the cells. ``taken``: it has come there.
    acting, half, shift, cut : In
        ``acting``: the batch that is taken holds only observations. ``half``, ``shift``, ``cut``:
        the frame's cells are codes, their shift, a one for each lowest bit that is 0. Steady from
        the clock after ``take`` until ``taken``; ``half`` on to ``judged``.
    write : Out([cores] of cell)
        A word of the frame for the cells of each core.
    low, high, saturations : Out
        From ``taken`` on: lowest and highest number of the batch; how many were clipped.
    judge : In(1), judged : Out(1)
        ``judge``, one clock: compute the TD errors. ``judged``: high when all are computed, until
        the next ``judge``.
    words, pair, clip : In
        Words of Q values in each core; whether two errors share a word; the limit of TD errors in
        binary32. Steady from ``judge`` until ``judged``.
    q_address : Out({core, word}), q, next_q : In([2] of activations)
        Q values of s and of s', at the latest four clocks after their address.
    td : Out(stream.Signature(ITEM.shape)), error : Out(error_layout(config))
        Index and TD error of each sample, in the order of the batch; words of errors for E cells.
    loss, td_sum, diverged, diverged_index : Out
        Sums over the samples; whether a TD error was infinite or NaN, and the index of the first
        such experience.
    error_saturated : Out(1)
        An error was clipped in this clock.
    """

    def __init__(self, config, data_width, cell):
        self.config, self.data_width = config, data_width
        self._memory = BatchMemory(config, data_width)
        self._intake, self._errors = Intake(config, data_width), TdErrors(config)
        memory, intake, errors = (
            unit.signature.members for unit in (self._memory, self._intake, self._errors)
        )
        kept = ("td", "error", "loss", "td_sum", "diverged", "diverged_index")
        super().__init__(
            {
                "records": In(stream.Signature(unsigned(data_width))),
                "observations": In(1),
                **{name: memory[name] for name in ("begin", "batch", "take")},
                **{name: memory[name] for name in ("loaded", "bad", "bad_index", "weight")},
                "taken": Out(1),
                **{name: intake[name] for name in ("acting", "half", "shift", "cut")},
                "write": Out(data.ArrayLayout(cell, config.cores)),
                **{name: intake[name] for name in ("low", "high", "saturations")},
                "judge": In(1),
                "judged": Out(1),
                "words": errors["groups"],
                "pair": In(1),
                "clip": In(32),
                "q_address": errors["q_address"],
                "q": errors["q"],
                "next_q": errors["q_next"],
                **{name: errors[name] for name in kept},
                "error_saturated": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.memory = memory = self._memory
        m.submodules.intake = intake = self._intake
        m.submodules.errors = errors = self._errors
        connect(m, flipped(self.records), memory.records)
        connect(m, errors.td, flipped(self.td))
        reading = Signal()  # the intake has the memory's port
        with m.If(self.take):
            m.d.sync += reading.eq(1)
        with m.Elif(intake.done):
            m.d.sync += reading.eq(0)
        # The half that is taken is there a clock later.
        m.d.sync += intake.start.eq(self.take)
        m.d.comb += [
            memory.acting.eq(self.observations),
            *(getattr(memory, name).eq(getattr(self, name)) for name in ("begin", "batch", "take")),
            *(
                getattr(self, name).eq(getattr(memory, name))
                for name in ("loaded", "bad", "bad_index", "weight")
            ),
            memory.address[0].eq(Mux(reading, intake.address, errors.address)),
            *(
                getattr(intake, name).eq(getattr(self, name))
                for name in ("batch", "acting", "half", "shift", "cut")
            ),
            intake.beat.eq(memory.beat),
            self.taken.eq(intake.done),
            *(
                getattr(self, name).eq(getattr(intake, name))
                for name in ("low", "high", "saturations")
            ),
            errors.word.eq(memory.words[0]),
            errors.inverse.eq(memory.inverse),
            errors.start.eq(self.judge),
            errors.groups.eq(self.words),
            *(
                getattr(errors, name).eq(getattr(self, name))
                for name in ("batch", "half", "pair", "clip", "q")
            ),
            errors.q_next.eq(self.next_q),
            self.judged.eq(errors.done),
            self.q_address.eq(errors.q_address),
            *(
                getattr(self, name).eq(getattr(errors, name))
                for name in ("error", "loss", "td_sum", "diverged", "diverged_index")
            ),
            self.error_saturated.eq(errors.saturated),
        ]
        self._store(m, intake)
        return m

    def _store(self, m, intake):
        """Gives words of the frame their addresses: s, then s'; actions have a memory of their
        own."""
        layouts = Layouts(self.config)
        following = layouts.regions.states[1]
        for write, word in zip(self.write, intake.write, strict=True):
            place = word.word + Mux(word.acts, 0, Mux(word.next, following, 0))
            m.d.sync += [
                write.valid.eq(word.valid),
                write.action.eq(word.acts),
                write.address.eq(place * layouts.samples + word.t),
                write.halves.eq(word.halves),
                write.word.eq(word.data),
            ]

"""Errors at a network's output, where backpropagation starts: TD errors, and the actor's seeds."""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.fixar.aap.sample_mask import sample_mask
from hw.fixar.config import CELL_WIDTH, CODE_WIDTH
from hw.fixar.layouts import SHIFT_WIDTH
from hw.fixar.numbers.coder import Coder
from hw.fixar.plan import Result
from hw.stream.delay import delay

__all__ = ["OutputErrors"]


class OutputErrors(wiring.Component):
    """Writes the errors at a network's output to lane 0 of the E words from 0 on.

    TD errors come from outside. In a pass of VALUE the unit writes the error -1 for every sample, a
    word a clock from the pass's first step on, so that the actor ascends the critic.

    Parameters
    ----------
    config : FixarConfig
    layouts : Layouts

    Members
    -------
    pass_ : In(PASS), steady; for TD errors only ``half_e`` is read
        The pass under way.
    batch : In
        How many samples the batch has from this core's first on.
    begins : In(1)
        One clock: a step begins the sum of index 0. In a pass of VALUE the errors of -1 begin then.
    errors : In({valid, word, keep: 2, value: [2] of errors})
        TD errors of the samples of E word ``word``: one, or, with ``half_e``, two. ``keep``: which
        samples exist; a sample that does not exist has value 0.
    td_shift : In
        The shift of the TD errors' codes; steady.
    write : Out({valid, address, cell})
        A cell for lane 0 of an E word. TD errors leave ``LATENCY`` clocks after they came.
    saturated : Out(range(3))
        How many codes in the cell of ``write`` were clipped.
    busy : Out(1)
        The errors of -1 are being written.
    """

    LATENCY = Coder.LATENCY

    def __init__(self, config, layouts):
        self.config, self.layouts = config, layouts
        errors = data.ArrayLayout(config.arithmetic.gradient.shape, 2)
        address = range(layouts.e_depth)
        super().__init__(
            {
                "pass_": In(layouts.PASS),
                "batch": In(range(config.batch + 1)),
                "begins": In(1),
                "errors": In(
                    data.StructLayout({"valid": 1, "word": address, "keep": 2, "value": errors})
                ),
                "td_shift": In(SHIFT_WIDTH),
                "write": Out(
                    data.StructLayout({"valid": 1, "address": address, "cell": CELL_WIDTH})
                ),
                "saturated": Out(range(3)),
                "busy": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.coder = coder = Coder()
        errors, wait = self.errors, self.LATENCY
        valid = delay(m, errors.valid, wait, name="valid", reset=True)
        word, keep = (delay(m, getattr(errors, name), wait, name=name) for name in ("word", "keep"))
        m.d.comb += [
            coder.half.eq(self.pass_.half_e),
            coder.shift.eq(self.td_shift),
            *(coder.value[k].eq(errors.value[k]) for k in range(2)),
        ]
        seed = self._seed(m)
        with m.If(valid):
            clipped = coder.clipped & keep
            m.d.comb += [
                self.write.valid.eq(1),
                self.write.address.eq(word),
                self.write.cell.eq(coder.cell),
                self.saturated.eq(clipped[0] + clipped[1]),
            ]
        with m.Else():
            m.d.comb += [
                self.write.valid.eq(seed["valid"]),
                self.write.address.eq(seed["word"]),
                self.write.cell.eq(seed["cell"]),
                self.saturated.eq(Mux(seed["valid"] & seed["clips"], seed["count"], 0)),
            ]
        return m

    def _seed(self, m):
        pass_ = self.pass_
        active, word = Signal(), Signal.like(pass_.error_words)
        with m.If(self.begins & (pass_.result == Result.VALUE)):
            m.d.sync += [active.eq(1), word.eq(0)]
        with m.Elif(active):
            m.d.sync += [word.eq(word + 1), active.eq(word + 1 != pass_.error_words)]
        keep = sample_mask(m, word, pass_.half_e, self.batch, self.config, name="seeds")
        wait = 2
        valid = delay(m, active, wait, name="seeding", reset=True)
        # Its code is -2**(fraction - shift), or the lowest one.
        fraction = self.config.arithmetic.gradient.fraction
        beyond = fraction - (CODE_WIDTH - 1)
        code, cell = Signal(signed(CODE_WIDTH)), Signal(CELL_WIDTH)
        m.d.comb += code.eq(-1 << (CODE_WIDTH - 1))
        with m.Switch(pass_.seed_shift):
            for shift in range(beyond, fraction + 1):
                with m.Case(shift):
                    m.d.comb += code.eq(-1 << (fraction - shift))
        with m.If(pass_.half_e):
            m.d.comb += cell.eq(Cat(*(Mux(keep[k], code, 0)[:CODE_WIDTH] for k in range(2))))
        with m.Elif(keep[0]):
            m.d.comb += cell.eq(C(-1 << fraction, signed(CELL_WIDTH)))
        m.d.comb += self.busy.eq(active | delay(m, active, 1, name="ends", reset=True) | valid)
        return dict(
            valid=valid,
            word=delay(m, word, wait, name="seed_word"),
            cell=cell,
            count=keep[0] + keep[1],
            clips=pass_.half_e & (pass_.seed_shift < beyond),
        )

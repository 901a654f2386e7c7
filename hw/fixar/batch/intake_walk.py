"""Walks through a batch, a step a clock, sample by sample."""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from hw.fixar.batch.frame import QUAD, frame_steps
from hw.learner.records import observation_granules, record_granules

__all__ = ["IntakeWalk", "place_layout", "step_layout"]


def step_layout(config):
    """A row of ``frame_steps``, as the units after the memory need it.

    old : for each place in a granule: the number is taken from the granule before
    place, used : for each lane: the place of its number in a granule; whether the lane gets one
    head : for each lane: its number belongs to the next field's first word
    slot, head_slot : which four features of the word; of the next field's word, for ``head``
    closes : the word is complete
    acts, next, word : the word is of the action; it is of s'; its number in the frame
    """
    slots = config.side // QUAD
    return data.StructLayout(
        {
            "old": QUAD,
            "place": data.ArrayLayout(range(QUAD), QUAD),
            "used": QUAD,
            "head": QUAD,
            "slot": range(slots),
            "head_slot": range(slots),
            "closes": 1,
            "acts": 1,
            "next": 1,
            "word": range(config.networks["actor"][0].input_tiles),
        }
    )


def place_layout(config):
    """Where a sample lies: its core (one bit for each core), its cell there, and which halves of
    the cell."""
    return data.StructLayout({"core": config.cores, "t": range(config.samples), "halves": 2})


class IntakeWalk(wiring.Component):
    """Gives the steps. The first one comes two clocks after ``start``; the others follow without a
    pause.

    Parameters
    ----------
    config : FixarConfig
    granules : int
        Granules of the batch memory.

    Members
    -------
    start : In(1), batch : In, acting : In(1), half : In(1)
        ``start``, one clock: go through ``batch`` samples. ``acting``: they are only observations.
        ``half``: two samples share a cell. All but ``start`` are steady until ``last``.
    granule : Out(range(granules))
        Granule of the batch memory: the last one that the step needs.
    valid : Out(1), last : Out(1)
        ``valid``: a step in this clock. ``last`` is high only with the last step of the batch.
    step : Out(step_layout(config)), place : Out(place_layout(config))
        With ``granule``: the step, and where its sample lies. Without ``valid`` no lane is
        ``used``.
    """

    def __init__(self, config, granules):
        self.config = config
        self._table = frame_steps(config)
        self.steps, self.acting_steps = self.steps_of(config)
        super().__init__(
            {
                "start": In(1),
                "batch": In(range(config.batch + 1)),
                "acting": In(1),
                "half": In(1),
                "granule": Out(range(granules)),
                "valid": Out(1),
                "last": Out(1),
                "step": Out(step_layout(config)),
                "place": Out(place_layout(config)),
            }
        )

    @staticmethod
    def steps_of(config):
        """``(steps, acting_steps)`` of a sample."""
        table = frame_steps(config)
        return len(table), sum(step.field == "obs" for step in table)

    def elaborate(self, platform):
        m = Module()
        config = self.config
        left, number = Signal.like(self.batch), Signal(range(self.steps))
        base, core = Signal.like(self.granule), Signal(config.cores)
        sample = Signal(range(max(2, config.samples)))  # of those of its core
        last = Signal()
        m.d.comb += last.eq(number == Mux(self.acting, self.acting_steps - 1, self.steps - 1))
        with m.If(left != 0):
            m.d.sync += number.eq(Mux(last, 0, number + 1))
            with m.If(last):
                size = 1 + record_granules(config)
                m.d.sync += [
                    left.eq(left - 1),
                    base.eq(base + Mux(self.acting, observation_granules(config), size)),
                    core.eq(core.rotate_left(1)),
                    sample.eq(sample + core[-1]),
                ]
        with m.If(self.start):
            # An experience begins behind its header.
            m.d.sync += [left.eq(self.batch), base.eq(~self.acting), core.eq(1), sample.eq(0)]

        step, granule = self._step(m, number)
        registers = Signal(step_layout(config), reset_less=True)
        place = Signal(place_layout(config), reset_less=True)
        m.d.sync += [
            registers.eq(step),
            place.core.eq(core),
            place.t.eq(Mux(self.half, sample >> 1, sample)),
            place.halves.eq(Mux(self.half, Cat(~sample[0], sample[0]), 0b11)),
            self.granule.eq(base + granule),
            self.valid.eq(left != 0),
            self.last.eq((left == 1) & last),
        ]
        m.d.comb += [self.step.eq(registers), self.place.eq(place)]
        # Behind an observation there is another, not the next field.
        with m.If(self.acting):
            m.d.sync += [registers.used.eq(step.used & ~step.head), registers.head.eq(0)]
        with m.If(left == 0):
            m.d.sync += registers.used.eq(0)
        return m

    def _step(self, m, number):
        """The step of this number, and its granule."""
        step = Signal(step_layout(self.config))
        granule = Signal(range(record_granules(self.config)))

        def bits(flags):
            return sum(bool(flag) << k for k, flag in enumerate(flags))

        with m.Switch(number):
            for k, row in enumerate(self._table):
                with m.Case(k):
                    m.d.comb += [
                        granule.eq(row.granule),
                        step.old.eq(bits(row.old)),
                        step.used.eq(bits(n is not None for n in row.numbers)),
                        step.head.eq(bits(row.head)),
                        step.slot.eq(row.slot),
                        step.head_slot.eq(row.head_slot),
                        step.closes.eq(row.closes),
                        step.acts.eq(row.field == "action"),
                        step.next.eq(row.field == "next_obs"),
                        step.word.eq(row.word),
                        *(
                            step.place[lane].eq((n or 0) % QUAD)
                            for lane, n in enumerate(row.numbers)
                        ),
                    ]
        return step, granule

"""FIXAR's learner: wires cores, parameters, and the units that bring batches in and TD errors out.

FIXAR V: the batch lies in the cores' cells; every tile of weights goes to all cores at once.
"""

from functools import reduce
from operator import add

from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from hw.arith.to_float import to_float
from hw.comparison import above
from hw.fixar.aap.aap import PSUM_WIDTH, AapCore
from hw.fixar.aap.feed import TileRows
from hw.fixar.actions import Actions
from hw.fixar.batch.samples import Samples
from hw.fixar.layouts import Layouts
from hw.fixar.learner_ranges import LearnerRanges
from hw.fixar.parameters.parameters import Parameters
from hw.fixar.parameters.sum_addresses import SumAddresses
from hw.fixar.plan import Kind, Version
from hw.fixar.precision import error_slot, slots
from hw.fixar.walk.bias_queue import BiasQueue
from hw.fixar.walk.pass_table import PassTable
from hw.fixar.walk.sequencer import Sequencer
from hw.fixar.walk.walk import Walk
from hw.learner.contract import LearnerSignature, count_saturations
from hw.shared import SharedModule

__all__ = ["FixarLearner"]


class FixarLearner(wiring.Component):
    """Trains by the passes of ``hw.fixar.plan``, in lockstep on all cores; ACT uses some passes.

    Parameters
    ----------
    config : FixarConfig
    data_width : int
        Bits of a beat.
    ultra_ram : bool
        Whether deep memories may be made of UltraRAM.

    Members
    -------
    noise : In(32), seed : In(64)
        Noise and seed of an ACT (``Actions``); steady while it is under way.
    half_activations, half_errors, activation_cut, activation_shifts, error_shifts : In
        Whether activations, and errors, are codes of 16 bits; a one for each of the lowest bits of
        an activation's code that are 0; the shift of each slot's codes, 0 in full precision. They
        change only between commands.
    clear : In(1)
        One clock: forget the ranges.
    low, high : Out(signed(32)).array(slots)
        The range of each slot, activations first.
    All other members are in ``hw.learner``'s ``LearnerSignature``: batches, steps, images.
    """

    def __init__(self, config, data_width, ultra_ram):
        self.config, self.data_width, self.ultra_ram = config, data_width, ultra_ram
        self._table = PassTable(config)
        table = self._table.signature.members
        own = LearnerSignature(
            batch=config.batch,
            data_width=data_width,
            parameter_sets=len(config.parameter_sets),
        )
        self._given = ("half_activations", "half_errors", "activation_cut")
        self._given += ("activation_shifts", "error_shifts")
        super().__init__(
            {
                **own.members,
                "noise": In(32),
                "seed": In(64),
                **{name: table[name] for name in self._given},
                "clear": In(1),
                "low": Out(signed(32)).array(sum(slots(config))),
                "high": Out(signed(32)).array(sum(slots(config))),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self.config
        m.submodules.table = self.table = self._table
        m.submodules.sequencer = self.sequencer = Sequencer(config, self._table.END)
        m.submodules.parameters = self.parameters = Parameters(
            config, 2 * PSUM_WIDTH, self.data_width, self.ultra_ram
        )
        self.layouts = Layouts(config)
        self.cores = [SharedModule(AapCore, config, self.ultra_ram) for _ in range(config.cores)]
        for number, core in enumerate(self.cores):
            m.submodules[f"core_{number}"] = core
        self._passes(m)
        self._batch(m)
        self._actions(m)
        self._gradient_sums(m)
        self._ranges(m)
        self._report(m)
        return m

    def _passes(self, m):
        """Wires the walk, which all cores follow."""
        config, table, sequencer, parameters = (
            self.config,
            self.table,
            self.sequencer,
            self.parameters,
        )
        m.submodules.walk = walk = Walk(
            config, table.WEIGHTS, TileRows.TILE_LATENCY - TileRows.ROW_LATENCY
        )
        m.submodules.bias_queue = bias_queue = BiasQueue(config)
        running = walk.busy | parameters.busy
        for number, core in enumerate(self.cores):
            running = running | core.busy
            m.d.comb += [
                core.pass_.eq(table.pass_),
                core.batch.eq(Mux(above(self.batch, number), self.batch - number, 0)),
                core.acting.eq(sequencer.acting),
                core.fetch.eq(walk.fetch),
                core.step.eq(walk.step),
                core.row.eq(walk.row_o),
                core.tile.eq(walk.tile_read),
                core.begin.eq(bias_queue.begin),
                core.end.eq(sequencer.over),
                core.clear.eq(sequencer.intake),
            ]
        connect(m, walk.request, parameters.tiles)
        # All cores get the same fetches and steps, so the first core's ``fetch_room`` and
        # ``word_valid`` are all cores'. The register adds one fetch to the ``Feed.SLACK`` that may
        # follow, and keeps the cores out of each other's paths.
        room = Signal()
        m.d.sync += room.eq(self.cores[0].fetch_room)
        m.d.comb += [
            *(getattr(table, name).eq(getattr(self, name)) for name in self._given[:3]),
            *(
                own.eq(given)
                for name in self._given[3:]
                for own, given in zip(getattr(table, name), getattr(self, name), strict=True)
            ),
            table.number.eq(sequencer.number),
            table.samples.eq(sequencer.samples),
            table.pairs.eq(sequencer.pairs),
            sequencer.end.eq(table.end),
            sequencer.train.eq(self.control.train),
            sequencer.act.eq(self.act),
            sequencer.update.eq(self.control.update),
            sequencer.batch.eq(self.batch),
            sequencer.running.eq(running),
            walk.start.eq(sequencer.start),
            walk.pass_.eq(table.pass_),
            walk.weights.eq(table.weights),
            walk.room.eq(room),
            walk.word.eq(self.cores[0].word_valid),
            walk.row_i.valid.eq(parameters.rows.valid),
            walk.row_i.p.band.eq(parameters.rows.p.band),
            walk.row_i.p.words.eq(parameters.rows.p.words),
            parameters.rows.ready.eq(walk.row_i.ready),
            bias_queue.bias.eq(parameters.bias),
            bias_queue.shift.eq(table.pass_.shift),
            bias_queue.forward.eq(table.pass_.kind == Kind.FW),
            bias_queue.next.eq(self.cores[0].begun),
        ]

    def _batch(self, m):
        """Wires batches and their TD errors, which are computed during passes that do not need
        them."""
        config, control, sequencer = self.config, self.control, self.sequencer
        cell = self.cores[0].signature.members["intake"].shape
        m.submodules.samples = samples = self.samples = Samples(config, self.data_width, cell)
        connect(m, flipped(self.records), samples.records)
        connect(m, samples.td, flipped(self.td))
        q, next_q = (Array(getattr(core, name) for core in self.cores) for name in ("q", "next_q"))
        shift = error_slot(config, "critic", len(config.hidden))
        m.d.comb += [
            samples.begin.eq(control.begin),
            samples.observations.eq(self.acting),
            samples.batch.eq(self.batch),
            control.loaded.eq(samples.loaded),
            control.bad.eq(samples.bad),
            control.bad_index.eq(samples.bad_index),
            control.weight.eq(samples.weight),
            samples.take.eq(sequencer.intake),
            samples.acting.eq(sequencer.acting),
            samples.half.eq(self.half_activations),
            samples.shift.eq(self.activation_shifts[0]),
            samples.cut.eq(self.activation_cut),
            sequencer.intake_done.eq(samples.taken),
            samples.judge.eq(sequencer.errors),
            samples.words.eq(Mux(self.half_activations, sequencer.pairs, sequencer.samples)),
            samples.pair.eq(self.half_errors),
            samples.clip.eq(control.hyperparameters.clip),
            samples.q.eq(q[samples.q_address.core]),
            samples.next_q.eq(next_q[samples.q_address.core]),
            sequencer.errors_done.eq(samples.judged),
        ]
        error = samples.error
        for number, core in enumerate(self.cores):
            m.d.comb += [
                core.intake.eq(samples.write[number]),
                core.q_address.eq(samples.q_address.word),
                core.errors.valid.eq(error.valid & (error.core == number)),
                core.errors.word.eq(error.word),
                core.errors.keep.eq(error.keep),
                core.errors.value.eq(error.value),
                core.td_shift.eq(self.error_shifts[shift]),
            ]

    def _actions(self, m):
        """Wires the answers of an ACT."""
        sequencer, layouts = self.sequencer, self.layouts
        m.submodules.answer = answer = Actions(self.config, self.data_width)
        connect(m, answer.o, flipped(self.actions))
        first = (Version.POLICY - 1) * layouts.regions.action_words
        address = (first + answer.read.tile) * layouts.samples + answer.read.t
        for core in self.cores:
            m.d.comb += core.action_address.eq(address)
        begun = Signal()
        m.d.sync += begun.eq(sequencer.answer)
        m.d.comb += [
            answer.start.eq(sequencer.answer),
            answer.count.eq(self.batch),
            answer.half.eq(self.half_activations),
            answer.noise.eq(self.noise),
            answer.seed.eq(self.seed),
            answer.word.eq(Array(core.action for core in self.cores)[answer.read.core]),
            sequencer.answered.eq(~answer.busy & ~begun),
        ]

    def _gradient_sums(self, m):
        """Wires sums to the optimizers, and images."""
        table, sequencer, parameters = self.table, self.sequencer, self.parameters
        sums = self.cores[0].signature.members["sums"].shape
        m.submodules.sum_addresses = addresses = SumAddresses(
            self.config, table.WEIGHTS, sums, 2 * PSUM_WIDTH
        )
        connect(m, flipped(self.image_i), parameters.image_i)
        connect(m, parameters.image_o, flipped(self.image_o))
        m.d.comb += [
            addresses.pass_.eq(table.pass_),
            addresses.weights.eq(table.weights),
            addresses.start.eq(sequencer.start),
            *(own.eq(core.sums) for own, core in zip(addresses.i, self.cores, strict=True)),
            parameters.sums.eq(addresses.o),
            parameters.network.eq(table.pass_.network),
            parameters.hyperparameters.eq(self.control.hyperparameters),
            parameters.load.eq(self.load),
            parameters.store.eq(self.store),
            parameters.sets.eq(self.sets),
            self.control.busy.eq(
                self.control.update | sequencer.updating | self.load | self.store | parameters.busy
            ),
        ]

    def _ranges(self, m):
        sequencer, samples = self.sequencer, self.samples
        m.submodules.ranges = ranges = LearnerRanges(self.config)
        for own, core in zip(ranges.cores, self.cores, strict=True):
            connect(m, core.range, own)
        m.d.comb += [
            ranges.clear.eq(self.clear),
            ranges.intake.valid.eq(samples.taken & ~sequencer.acting),
            ranges.intake.low.eq(samples.low),
            ranges.intake.high.eq(samples.high),
            ranges.errors_begin.eq(sequencer.errors),
            ranges.errors.eq(samples.error),
            ranges.update.eq(sequencer.decided),
            ranges.seeds.eq(sequencer.over & self.table.end.seeds),
            *(a.eq(b) for a, b in zip(self.low, ranges.low, strict=True)),
            *(a.eq(b) for a, b in zip(self.high, ranges.high, strict=True)),
        ]

    def _report(self, m):
        """Wires the report of the iteration, and the counts of clipped numbers."""
        config, control, samples = self.config, self.control, self.samples
        parameters, cores = self.parameters, self.cores
        value = Signal(signed(52), reset_less=True)
        m.d.sync += value.eq(reduce(add, (core.value_sum for core in cores)))
        fraction = config.arithmetic.activation.fraction
        m.d.comb += [
            control.trained.eq(self.sequencer.trained),
            control.loss.eq(samples.loss),
            control.td_sum.eq(samples.td_sum),
            control.value.eq(to_float(m, value, fraction, name="value_float")),
            control.diverged.eq(samples.diverged),
            control.diverged_index.eq(samples.diverged_index),
        ]
        loaded = Mux(samples.taken, samples.saturations, 0)
        counts = (
            [parameters.clipped_weights],
            [loaded, *(core.saturated.activations for core in cores)],
            [
                parameters.clipped_gradients,
                samples.error_saturated,
                *(core.saturated.gradients for core in cores),
            ],
        )
        count_saturations(m, control.saturations, counts)

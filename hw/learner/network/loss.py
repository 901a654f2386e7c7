"""From the last layer's outputs to its errors: TD errors, gradients and sums.

All lanes deliver side by side; a super-sample is one sample of each lane. One binary32 pipeline
serves the lanes in turn, a sample a clock, so a super-sample takes ``lanes`` clocks, or one for
each of its words of outputs, whichever is longer.
"""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.learner.algorithms.registry import algorithm_of
from hw.learner.block.layer_clocks import most_under_way
from hw.learner.block.ports import word_layout
from hw.learner.layouts import scalars_layout
from hw.learner.network.loss_errors import LossErrors
from hw.nn.layouts import vector_layout
from hw.nn.td_loss import is_finite
from hw.replay.records import ITEM
from hw.stream.delay import delay
from hw.stream.queue import Queue
from hw.timing import Stage

__all__ = ["Loss", "send_td"]

_WAITING = 16  # super-samples that have come, before there is no more room


def send_td(m, unit, pipeline, index, depth, *, diverges=True):
    """Adds to ``m``, the module of ``unit``, the queue of TD errors between ``pipeline`` and
    ``unit.td``. Room for ``depth`` items is never exceeded: whoever fills the pipeline counts.

    Parameters
    ----------
    unit : Component
        With the stream ``td``, the pulse ``start`` and, with ``diverges``, ``diverged`` and
        ``diverged_index``: a TD error since ``start`` was infinite or NaN, and the index of the
        first.
    pipeline : TdLoss
        Or another pipeline with ``td`` and ``td_latency``.
    index : Value
        32 bits: index of the experience that enters ``pipeline``.
    """
    td, td_index = pipeline.td, Signal(32)
    m.submodules.td_queue = queue = Queue(ITEM.shape, depth)
    m.d.comb += [
        td_index.eq(delay(m, index, pipeline.td_latency, name="index")),
        queue.i.valid.eq(td.valid),
        queue.i.p.index.eq(td_index),
        queue.i.p.value.eq(td.value),
    ]
    wiring.connect(m, queue.o, wiring.flipped(unit.td))
    if diverges:
        with m.If(td.valid & ~is_finite(td.value) & ~unit.diverged):
            m.d.sync += [unit.diverged.eq(1), unit.diverged_index.eq(td_index)]
        with m.If(unit.start):
            m.d.sync += unit.diverged.eq(0)


class Loss(wiring.Component):
    """Computes TD error, gradients and loss of each sample from the outputs of the last layer, and
    their sums over the batch. The config's algorithm says which numbers of the outputs are taken,
    and which pipeline computes (``TdLoss``). A super-sample is one sample of each lane.

    Parameters
    ----------
    config : LearnerConfig

    Attributes
    ----------
    slots : int
        Super-samples that may be here: 16 that wait, and all that may be on their way.
    interval : int
        Clocks from one super-sample to the next.
    td_latency, latency : int
        Clocks from the last output of a super-sample, if the unit was idle: ``td_latency`` to the
        TD error of its first lane in ``td``, ``latency`` to its first word of ``delta``.

    Members
    -------
    i : In(word_layout)
        Outputs of a super-sample in words, in order, all groups and lanes side by side.
    room : Out(1)
        Another super-sample may begin (``docs/flow_control.md``). At most ``slots - 16`` may have
        begun whose last output has not come.
    scalars : In(stream.Signature(scalars_layout(config)))
        The scalars of each super-sample. They are valid before its first output comes, and are
        taken with its last output.
    inverse, clip : In(32)
        Reciprocal of the batch's largest importance weight, and limit of a TD error, both binary32
        (``TdLoss``); steady while a batch is under way.
    start : In(1), samples : In
        ``start``, a pulse: a batch of ``samples`` super-samples begins. It clears sums, ``done``
        and ``diverged``. ``samples`` is steady until ``done``.
    delta : Out(stream.Signature([backward groups][lanes][output_word] of gradients))
        The errors of a super-sample: a word for each word of outputs, in order. Those of padding
        are zeros.
    td : Out(stream.Signature(ITEM))
        Index and TD error of each sample, in the order of the batch.
    loss, td_sum, value : Out(32)
        Sums over the batch of losses, of absolute TD errors and of values, binary32, in the order
        of ``BatchSum``: lanes of a super-sample one after the other. They are valid once ``done``.
    done : Out(1)
        All samples are in all sums; high until the next ``start``.
    diverged : Out(1), diverged_index : Out(32)
        ``diverged``: a TD error of this batch was infinite or NaN; high until the next ``start``.
        ``diverged_index`` is the index of the first such experience. With ``early_priorities`` of
        the config no TD error diverges, and both are 0.
    saturations : Out(1)
        A gradient was clipped in this clock.
    """

    def __init__(self, config):
        self.config, self._algorithm = config, algorithm_of(config)
        network = config.last_network
        self.shape = config.last_shape
        self.outputs, self.groups = network.outputs, len(network.weight_sources)
        self.backward_groups = network.backward_groups
        lanes, arithmetic = config.lanes, config.arithmetic
        self._pipeline = self._algorithm.loss(arithmetic)
        stage = self.stage(config)
        self.interval, self.latency = stage.interval, stage.latency
        self.td_latency, self._ahead = self.td_latency_of(config), self.ahead_of(stage)
        self.slots, _ = self.slots_of(config)
        gradient = arithmetic.shape("gradient")
        words, together = self.shape.output_words, self.shape.output_word
        super().__init__(
            {
                "i": In(
                    word_layout(arithmetic.shape("activation"), words, self.groups, lanes, together)
                ),
                "room": Out(1),
                "scalars": In(stream.Signature(scalars_layout(config))),
                "inverse": In(32),
                "clip": In(32),
                "start": In(1),
                "samples": In(range(config.batch // lanes + 1)),
                "delta": Out(
                    stream.Signature(vector_layout(gradient, self.backward_groups, lanes, together))
                ),
                "td": Out(stream.Signature(ITEM.shape)),
                "loss": Out(32),
                "td_sum": Out(32),
                "value": Out(32),
                "done": Out(1),
                "diverged": Out(1),
                "diverged_index": Out(32),
                "saturations": Out(1),
            }
        )

    @staticmethod
    def slots_of(config):
        """``(slots, clocks)``: samples whose outputs may wait, and those until one is chosen."""
        slots = _WAITING + max(16, most_under_way(config.layer_config, config.last_shape))
        return slots, 2 + Queue.latency_of(slots)

    @classmethod
    def stage(cls, config):
        """The ``Stage`` of super-samples, from the last output word to the first word of errors."""
        _, gradient = algorithm_of(config).loss.latencies_of(config.arithmetic)
        # Chosen; then the pipeline, the register of all lanes, and the queue.
        latency = cls.slots_of(config)[1] + (config.lanes - 1) + gradient + 2
        return Stage(latency, max(config.lanes, config.last_shape.output_words))

    @classmethod
    def td_latency_of(cls, config):
        """Clocks from the last output word of a super-sample to its first TD error."""
        td, _ = algorithm_of(config).loss.latencies_of(config.arithmetic)
        ahead = cls.ahead_of(cls.stage(config))
        return cls.slots_of(config)[1] + td + Queue.latency_of(ahead * config.lanes)

    @staticmethod
    def ahead_of(stage):
        return -(-stage.latency // stage.interval) + 2

    def elaborate(self, platform):
        m = Module()
        m.submodules.pipeline = pipeline = self._pipeline
        freed = Signal()  # a super-sample's errors have been taken
        head, begins = self._take_turns(m, self._collect(m), freed)
        sample = head[0]
        q, bootstrap, value = self._algorithm.loss_numbers(sample)
        m.d.comb += [
            pipeline.i.valid.eq(begins),
            pipeline.i.q.eq(q),
            pipeline.i.bootstrap.eq(bootstrap),
            pipeline.i.value.eq(value),
            pipeline.i.weight.eq(sample.weight),
            pipeline.i.reward.eq(sample.reward),
            pipeline.i.discount.eq(sample.discount),
            pipeline.inverse.eq(self.inverse),
            pipeline.clip.eq(self.clip),
            pipeline.clear.eq(self.start),
            self.loss.eq(pipeline.loss_sum),
            self.td_sum.eq(pipeline.td_sum),
            self.value.eq(pipeline.value_sum),
            self.saturations.eq(pipeline.gradient.valid & pipeline.gradient.saturated),
        ]
        depth, early = self._ahead * self.config.lanes, self.config.early_priorities
        send_td(m, self, pipeline, sample.index, depth, diverges=not early)
        self._send_delta(m, sample.action, freed)
        self._fold(m)
        return m

    def _fold(self, m):
        """Folds the sums once all samples are in them, and says when that is done."""
        pipeline = self._pipeline
        left = Signal(range(self.config.batch + 1))  # samples that are not in all sums
        m.d.comb += pipeline.fold.eq(pipeline.done & (left == 1))
        with m.If(pipeline.done):
            m.d.sync += left.eq(left - 1)
        with m.If(pipeline.folded):
            m.d.sync += self.done.eq(1)
        with m.If(self.start):
            m.d.sync += [left.eq(self.samples * self.config.lanes), self.done.eq(0)]

    def _collect(self, m):
        """A queue of super-samples with the numbers that are kept of their outputs."""
        config, scalars, arithmetic = self.config, self.scalars.payload, self.config.arithmetic
        numbers = dict.fromkeys(self._algorithm.numbers, arithmetic.shape("activation"))
        given = scalars_layout(config).elem_shape.members
        sample = data.StructLayout({**numbers, **given})
        layout = data.ArrayLayout(sample, config.lanes)
        m.submodules.arrived = arrived = Queue(layout, self.slots)
        last = Signal()
        kept = Signal(layout, reset_less=True)
        m.d.comb += [
            last.eq(self.i.valid & (self.i.index == self.shape.output_words - 1)),
            self.scalars.ready.eq(last),
            arrived.i.valid.eq(delay(m, last, 1, name="collected", reset=True)),
            arrived.i.payload.eq(kept),
            # Two more are in ``i`` and in ``kept``.
            self.room.eq(arrived.level <= _WAITING - 2),
        ]
        for lane in range(config.lanes):
            outputs = [[*self.i.value[group][lane]] for group in range(self.groups)]
            with m.If(self.i.valid):
                m.d.sync += [kept[lane][name].eq(scalars[lane][name]) for name in given]
                self._take_word(m, kept[lane], outputs, scalars[lane].action)
        return arrived

    def _take_word(self, m, kept, outputs, action):
        """Keeps what the loss takes of a word. In the padding of the last word its first output
        stands once more, which is the largest of no word and nobody's own."""
        shape, index = self.shape, self.i.index
        filled, last = shape.output_words_filled()[-1], index == shape.output_words - 1
        together, own = shape.output_word, []
        numbers = [each[:filled] for each in outputs]
        for place in range(together if shape.output_words > 1 else filled):
            is_own = action == index * together + place
            own.append(is_own if place < filled else is_own & ~last)
            if place >= filled:
                for chosen, each in zip(numbers, outputs, strict=True):
                    number = Signal.like(each[place], name=f"number_{place}")
                    m.d.comb += number.eq(Mux(last, each[0], each[place]))
                    chosen.append(number)
        first, arithmetic = index == 0, self.config.arithmetic
        self._algorithm.collect(m, kept, numbers, first, own, arithmetic=arithmetic)

    def _take_turns(self, m, arrived, freed):
        """Moves super-samples lane by lane to place 0; says when a sample there begins."""
        lanes = self.config.lanes
        head = Signal(arrived.o.payload.shape(), reset_less=True)
        left = Signal(range(lanes))  # lanes behind the one at place 0
        free, load, shift, begins = Signal(), Signal(), Signal(), Signal()
        under_way = Signal(range(self._ahead + 1))  # not all of whose errors have been taken
        untaken = Signal(range(self._ahead * lanes + 1))  # TD errors to come or not taken
        m.d.comb += [
            free.eq((under_way < self._ahead) & (untaken <= (self._ahead - 1) * lanes)),
            load.eq((left == 0) & arrived.o.valid & free),
            shift.eq(left != 0),
            arrived.o.ready.eq(load),
        ]
        m.d.sync += [
            begins.eq(load | shift),
            under_way.eq(under_way + load - freed),
            untaken.eq(untaken + Mux(load, lanes, 0) - (self.td.valid & self.td.ready)),
        ]
        with m.If(load):
            m.d.sync += [head.eq(arrived.o.payload), left.eq(lanes - 1)]
        with m.Elif(shift):
            m.d.sync += [left.eq(left - 1), *(head[k].eq(head[k + 1]) for k in range(lanes - 1))]
        return head, begins

    def _send_delta(self, m, action, freed):
        pipeline, gradient = self._pipeline, self._pipeline.gradient
        m.submodules.errors = errors = LossErrors(self.config, self._ahead)
        number = Signal(errors.gradient.output.shape())
        m.d.comb += [
            number.eq(Mux(action < self.shape.outputs, action, self.shape.outputs)),
            errors.gradient.valid.eq(gradient.valid),
            errors.gradient.value.eq(gradient.value),
            errors.gradient.output.eq(delay(m, number, pipeline.gradient_latency, name="action")),
            freed.eq(errors.freed),
        ]
        wiring.connect(m, errors.o, wiring.flipped(self.delta))

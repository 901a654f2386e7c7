"""From the outputs of the last layers to their errors: TD errors, gradients and sums.

All lanes deliver side by side; a super-sample is one sample of each lane. One binary32 pipeline
serves the lanes in turn, a sample a clock, so a super-sample takes ``lanes`` clocks, or one for
each of its words of outputs, whichever is longer. A program takes ``TdProgram.INTERVAL`` clocks a
sample.
"""

from types import SimpleNamespace

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from hw.learner.block.layer_clocks import most_under_way
from hw.learner.block.ports import word_layout
from hw.learner.layouts import scalars_layout
from hw.learner.network.loss_errors import LossErrors
from hw.nn.layouts import vector_layout
from hw.nn.td_loss import is_finite
from hw.nn.td_program import TdProgram
from hw.replay.records import ITEM
from hw.stream.delay import delay
from hw.stream.queue import Queue
from hw.timing import Stage

__all__ = ["Loss", "send_td"]

_WAITING = 16  # super-samples that have come, before there is no more room


def send_td(m, unit, pipeline, index, depth, *, diverges=True, held=False):
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
    held : bool
        ``index`` is steady until the experience's TD error has come.
    """
    td, td_index = pipeline.td, Signal(32)
    m.submodules.td_queue = queue = Queue(ITEM.shape, depth)
    m.d.comb += [
        td_index.eq(index if held else delay(m, index, pipeline.td_latency, name="index")),
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


class LossPort(wiring.Signature):
    """The outputs of a network on their way to ``Loss``, and their errors.

    Parameters
    ----------
    config : LearnerConfig
    shape : BlockShape
        Of the network's last layer.
    passes, errors : int
        Passes of the network in the sweep, and those through which errors go back.

    Members
    -------
    i : Out(word_layout)
        Outputs of a super-sample in words, in order, of all passes and of all lanes side by side.
    room : In(1)
        Another super-sample may begin (``docs/flow_control.md``). At most ``slots - 16`` of the
        ``Loss`` may have begun whose last output has not come.
    scalars : Out(stream.Signature(scalars_layout(config)))
        The scalars of each super-sample. They are valid before its first output comes, and are
        taken with its last output.
    delta : In(stream.Signature([errors][lanes][output_word] of gradients))
        The errors of a super-sample: a word for each word of outputs, in order. Those of padding
        are zeros. Absent without errors.
    """

    def __init__(self, config, shape, passes, errors):
        arithmetic, lanes, together = config.arithmetic, config.lanes, shape.output_word
        number, gradient = arithmetic.shape("activation"), arithmetic.shape("gradient")
        word = word_layout(number, shape.output_words, passes, lanes, together)
        members = {
            "i": Out(word),
            "room": In(1),
            "scalars": Out(stream.Signature(scalars_layout(config))),
        }
        if errors:
            word = vector_layout(gradient, errors, lanes, together)
            members["delta"] = In(stream.Signature(word))
        super().__init__(members)


class Loss(wiring.Component):
    """Computes TD error, gradients and loss of each sample of a sweep from the outputs of the last
    layers, and their sums over the batch. The algorithm's LossRule says which numbers of the
    outputs are taken, and which pipeline computes: ``TdLoss``, in whose place stands ``TdProgram``
    if the config's ``loss_unit`` is "program". A super-sample is one sample of each lane; it begins
    when the outputs of all networks have come.

    Parameters
    ----------
    config : LearnerConfig
    sweep : int

    Attributes
    ----------
    networks : tuple of str
        The networks whose outputs are taken.
    ports : dict
        ``{network: LossPort}`` for each of ``networks``.
    slots : int
        Super-samples that may be here, of each network: 16 that wait, and all that may be on their
        way.
    interval : int
        Clocks from one super-sample to the next.
    td_latency, latency : int
        Clocks from the last output of a super-sample, if the unit was idle: ``td_latency`` to the
        TD error of its first lane in ``td``, ``latency`` to its first words of ``delta``.

    Members
    -------
    of_<network> : In(LossPort)
        The outputs of each of ``networks``, and their errors.
    inverse, clip : In(32)
        Reciprocal of the batch's largest importance weight, and limit of a TD error, both binary32
        (``TdLoss``); steady while a batch is under way.
    shift : In
        Of each gradient of the pipeline; steady while a batch is under way. Only with ``shifts`` of
        the LossRule.
    start : In(1), samples : In
        ``start``, a pulse: a batch of ``samples`` super-samples begins. It clears sums, ``done``
        and ``diverged``. ``samples`` is steady until ``done``.
    td : Out(stream.Signature(ITEM))
        Index and TD error of each sample, in the order of the batch. Absent in later sweeps.
    loss, td_sum, value : Out(32)
        Sums over the batch of losses, of absolute TD errors and of values, binary32, in the order
        of ``BatchSum``: lanes of a super-sample one after the other. They are valid once ``done``.
    done : Out(1)
        All samples are in all sums; high until the next ``start``.
    diverged : Out(1), diverged_index : Out(32)
        ``diverged``: a TD error of this batch was infinite or NaN; high until the next ``start``.
        ``diverged_index`` is the index of the first such experience. With ``early_priorities`` of
        the config no TD error diverges, and both are 0.
    saturations : Out
        How many gradients were clipped in this clock.
    """

    def __init__(self, config, sweep=0):
        self.config, self.sweep = config, sweep
        self._rule = config.plan.losses[sweep]
        self.networks = self.networks_of(config, sweep)
        self.shapes = {name: config.networks[name][-1] for name in self.networks}
        lanes, arithmetic = config.lanes, config.arithmetic
        self._pipeline = self.pipeline_of(config, sweep)(arithmetic)
        self._clocks = self.clocks_of(config)
        # One sample at a time, whose numbers stand at place 0 until its results have come.
        self._held = self._clocks > 1
        stage = self.stage(config, sweep)
        self.interval, self.latency = stage.interval, stage.latency
        self._ahead = self.ahead_of(stage)
        self.slots, _ = self.slots_of(config, sweep)
        members = {
            "inverse": In(32),
            "clip": In(32),
            "start": In(1),
            "samples": In(range(config.batch // lanes + 1)),
            "loss": Out(32),
            "td_sum": Out(32),
            "value": Out(32),
            "done": Out(1),
            "diverged": Out(1),
            "diverged_index": Out(32),
            "saturations": Out(range(len(Value.cast(self._pipeline.gradient.saturated)) + 1)),
        }
        if self._rule.shifts:
            members["shift"] = In(self._pipeline.shift.shape())
        if sweep == 0:
            self.td_latency = self.td_latency_of(config)
            members["td"] = Out(stream.Signature(ITEM.shape))
        #: Of each network, how many passes it has and through how many errors go back.
        self.passes = {
            name: (len(config.plan.paths[name][sweep]), config.plan.errors(name)[sweep])
            for name in self.networks
        }
        for name, passes in self.passes.items():
            members[f"of_{name}"] = In(LossPort(config, self.shapes[name], *passes))
        super().__init__(members)
        self.ports = {name: getattr(self, f"of_{name}") for name in self.networks}

    @staticmethod
    def networks_of(config, sweep):
        """The networks whose outputs the loss of a sweep takes, in a sample's order."""
        rule = config.plan.losses[sweep]
        return tuple(name for name in config.plan.ends if name in rule.numbers)

    @staticmethod
    def pipeline_of(config, sweep=0):
        """The class of the pipeline of a sweep: the rule's, or the program with the same bits."""
        return TdProgram if config.loss_unit == "program" else config.plan.losses[sweep].pipeline

    @staticmethod
    def clocks_of(config):
        """Clocks from one sample in the pipeline to the next."""
        return TdProgram.INTERVAL if config.loss_unit == "program" else 1

    @classmethod
    def slots_of(cls, config, sweep=0):
        """``(slots, clocks)``: samples whose outputs may wait, and those until one is chosen."""
        under_way = [
            most_under_way(config.layer_config, config.networks[name][-1])
            for name in cls.networks_of(config, sweep)
        ]
        slots = _WAITING + max(16, *under_way)
        return slots, 2 + Queue.latency_of(slots)

    @classmethod
    def stage(cls, config, sweep=0):
        """The ``Stage`` of super-samples, from the last output word to the first words of
        errors."""
        _, gradient = cls.pipeline_of(config, sweep).latencies_of(config.arithmetic)
        clocks = cls.clocks_of(config)
        # Chosen; then the pipeline, the register of all lanes, and the queue.
        latency = cls.slots_of(config, sweep)[1] + (config.lanes - 1) * clocks + gradient + 2
        names = cls.networks_of(config, sweep)
        words = (config.networks[name][-1].output_words for name in names)
        return Stage(latency, max(config.lanes * clocks, *words))

    @classmethod
    def td_latency_of(cls, config):
        """Clocks from the last output word of a super-sample to its first TD error."""
        td, _ = cls.pipeline_of(config).latencies_of(config.arithmetic)
        ahead = cls.ahead_of(cls.stage(config))
        return cls.slots_of(config)[1] + td + Queue.latency_of(ahead * config.lanes)

    @classmethod
    def summed_latency_of(cls, config):
        """Clocks from the last output word of a batch until ``done``; 0 of a pipeline, whose sums
        come before the first layer's last gradient."""
        if config.loss_unit == "pipeline":
            return 0
        samples = config.lanes * TdProgram.INTERVAL
        return cls.slots_of(config)[1] + samples + TdProgram.FOLD_LATENCY + 1

    @staticmethod
    def ahead_of(stage):
        return -(-stage.latency // stage.interval) + 2

    def elaborate(self, platform):
        m = Module()
        m.submodules.pipeline = pipeline = self._pipeline
        freed = {name: Signal(name=f"freed_{name}") for name, (_, n) in self.passes.items() if n}
        arrived = {name: self._collect(m, name) for name in self.networks}
        head, begins = self._take_turns(m, arrived, freed)
        sample = head[self.networks[0]][0]
        numbers = {name: sample[name] for name in self._rule.numbers[self.networks[0]]}
        for network in self.networks[1:]:
            numbers |= {name: head[network][0][name] for name in self._rule.numbers[network]}
        m.d.comb += [
            pipeline.i.valid.eq(begins),
            *(
                pipeline.i[name].eq(value)
                for name, value in self._rule.inputs(SimpleNamespace(**numbers)).items()
            ),
            pipeline.i.weight.eq(sample.weight),
            pipeline.i.reward.eq(sample.reward),
            pipeline.i.discount.eq(sample.discount),
            pipeline.inverse.eq(self.inverse),
            pipeline.clip.eq(self.clip),
            pipeline.clear.eq(self.start),
            self.loss.eq(pipeline.loss_sum),
            self.td_sum.eq(pipeline.td_sum),
            self.value.eq(pipeline.value_sum),
        ]
        if self._rule.shifts:
            m.d.comb += pipeline.shift.eq(self.shift)
        gradient = pipeline.gradient
        clipped = [gradient.valid & bit for bit in Value.cast(gradient.saturated)]
        m.d.comb += self.saturations.eq(sum(clipped[1:], clipped[0]))
        if self.sweep == 0:
            depth, early = self._ahead * self.config.lanes, self.config.early_priorities
            options = dict(diverges=not early, held=self._held)
            send_td(m, self, pipeline, sample.index, depth, **options)
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

    def _collect(self, m, network):
        """A queue of super-samples with the numbers that are kept of a network's outputs; the first
        network's has the scalars too."""
        config, arithmetic = self.config, self.config.arithmetic
        port = self.ports[network]
        i, scalars = port.i, port.scalars.payload
        numbers = dict.fromkeys(self._rule.numbers[network], arithmetic.shape("activation"))
        given = scalars_layout(config).elem_shape.members if network == self.networks[0] else {}
        sample = data.StructLayout({**numbers, **given})
        layout = data.ArrayLayout(sample, config.lanes)
        m.submodules[f"arrived_{network}"] = arrived = Queue(layout, self.slots)
        last = Signal(name=f"last_{network}")
        kept = Signal(layout, name=f"kept_{network}", reset_less=True)
        m.d.comb += [
            last.eq(i.valid & (i.index == self.shapes[network].output_words - 1)),
            port.scalars.ready.eq(last),
            arrived.i.valid.eq(delay(m, last, 1, name=f"collected_{network}", reset=True)),
            arrived.i.payload.eq(kept),
            # Two more are in ``i`` and in ``kept``.
            port.room.eq(arrived.level <= _WAITING - 2),
        ]
        for lane in range(config.lanes):
            outputs = [[*i.value[group][lane]] for group in range(self.passes[network][0])]
            with m.If(i.valid):
                m.d.sync += [kept[lane][name].eq(scalars[lane][name]) for name in given]
                self._take_word(m, network, kept[lane], outputs, scalars[lane].action)
        return arrived

    def _take_word(self, m, network, kept, outputs, action):
        """Keeps what the loss takes of a word. In the padding of the last word its first output
        stands once more, which is the largest of no word and nobody's own."""
        shape, index = self.shapes[network], self.ports[network].i.index
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
        self._rule.collect(m, network, kept, numbers, first, own, arithmetic=arithmetic)

    def _take_turns(self, m, arrived, freed):
        """Serialize the lanes of each super-sample once the outputs of all networks have come.

        Returns ``(head, begins)``: while ``begins``, ``head[network][0]`` enters the pipeline.
        """
        lanes = self.config.lanes
        head = {
            name: Signal(queue.o.payload.shape(), name=f"head_{name}", reset_less=True)
            for name, queue in arrived.items()
        }
        left = Signal(range(lanes))  # lanes behind the one at place 0
        free, load, shift, begins = Signal(), Signal(), Signal(), Signal()
        places = [*self._free(m, load, freed)]
        if self._held:
            # The pipeline takes a sample when its interval is over since the last one.
            wait = Signal(range(self._clocks))
            with m.If(load | shift):
                m.d.sync += wait.eq(self._clocks - 1)
            with m.Elif(wait != 0):
                m.d.sync += wait.eq(wait - 1)
            places.append(wait == 0)
        m.d.comb += [
            free.eq(Cat(places).all()),
            load.eq((left == 0) & Cat(queue.o.valid for queue in arrived.values()).all() & free),
            shift.eq((left != 0) & (wait == 0) if self._held else left != 0),
            *(queue.o.ready.eq(load) for queue in arrived.values()),
        ]
        m.d.sync += begins.eq(load | shift)
        with m.If(load):
            m.d.sync += left.eq(lanes - 1)
            m.d.sync += [head[name].eq(queue.o.payload) for name, queue in arrived.items()]
        with m.Elif(shift):
            m.d.sync += left.eq(left - 1)
            for samples in head.values():
                m.d.sync += [samples[k].eq(samples[k + 1]) for k in range(lanes - 1)]
        return head, begins

    def _free(self, m, load, freed):
        """Conditions for the next super-sample: each queue after the pipeline has room for it."""
        lanes, places = self.config.lanes, []
        for name, taken in freed.items():
            # Super-samples, not all of whose errors have been taken.
            under_way = Signal(range(self._ahead + 1), name=f"under_way_{name}")
            m.d.sync += under_way.eq(under_way + load - taken)
            places.append(under_way < self._ahead)
        if self.sweep == 0:
            untaken = Signal(range(self._ahead * lanes + 1))  # TD errors to come or not taken
            taken = self.td.valid & self.td.ready
            m.d.sync += untaken.eq(untaken + Mux(load, lanes, 0) - taken)
            places.append(untaken <= (self._ahead - 1) * lanes)
        return places

    def _send_delta(self, m, action, freed):
        pipeline, gradient = self._pipeline, self._pipeline.gradient
        for network, taken in freed.items():
            errors = LossErrors(
                self.config, self.sweep, network, gradient.value.shape(), self._ahead
            )
            m.submodules[f"errors_{network}"] = errors
            outputs, number = self.shapes[network].outputs, Signal(errors.gradient.output.shape())
            late = number
            if not self._held:
                late = delay(m, number, pipeline.gradient_latency, name=f"action_{network}")
            m.d.comb += [
                number.eq(Mux(action < outputs, action, outputs)),
                errors.gradient.valid.eq(gradient.valid),
                errors.gradient.value.eq(gradient.value),
                errors.gradient.output.eq(late),
                taken.eq(errors.freed),
            ]
            wiring.connect(m, errors.o, wiring.flipped(self.ports[network].delta))

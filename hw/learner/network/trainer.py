"""The learner: batch, networks, loss and parameter image, wired for one algorithm.

CF'22 3.2: forward through all layers, loss, backward and weight gradients, each a stage of its own
that streams samples; the target network's forward pass runs at the same time (3.2.4).
"""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import connect, flipped

from hw.comparison import at_least, below
from hw.learner.contract import LearnerSignature, count_saturations
from hw.learner.network.layer import Layer
from hw.learner.network.loss import Loss
from hw.learner.network.outputs import Outputs
from hw.learner.parameters.image_transfer import ImageTransfer
from hw.learner.samples.batch_memory import BatchMemory
from hw.learner.samples.sample_reader import SampleReader, words_a_clock
from hw.learner.step_clocks import banks_of, placed, scalars_ahead, slots_of
from hw.nn.optimizer_config import COEFFICIENTS
from hw.nn.optimizers import optimizer_of

__all__ = ["Trainer"]


class Trainer(wiring.Component):
    """CF'22's learner: a component with ``LearnerSignature`` that trains the config's networks.
    Samples stream through all stages of all networks at the same time.

    A sample of each lane enters every ``config.interval`` clocks, or more slowly if the loss needs
    longer. Forward, loss and backward of a batch overlap. After ``control.update``, each layer
    updates its parameters as soon as its own gradients are complete, so the update of the upper
    layers overlaps the gradients of the lower ones. ``hw.learner.step_clocks`` computes the clocks
    of a gradient step.

    Parameters
    ----------
    config : LearnerConfig
    data_width : int
        Bits of a beat.

    Members
    -------
    See ``LearnerSignature``.
    """

    def __init__(self, config, data_width):
        self.config, self.data_width = config, data_width
        self.transfer = ImageTransfer(config, data_width)
        super().__init__(
            LearnerSignature(
                batch=config.batch,
                data_width=data_width,
                parameter_sets=len(config.parameter_sets),
            )
        )

    def elaborate(self, platform):
        m = Module()
        config, control = self.config, self.control
        networks = self._layers(m)
        last = [*networks.values()][-1][-1]  # the layer whose outputs the loss takes
        every = [layer for layers in networks.values() for layer in layers]

        count = words_a_clock(config)
        m.submodules.batch_memory = batch = BatchMemory(config, self.data_width, count)
        m.submodules.play = play = SampleReader(config, batch.depth, scalars_ahead(config))
        m.submodules.loss_unit = loss = Loss(config)
        samples = Signal.like(play.samples)
        connect(m, flipped(self.records), batch.records)
        connect(m, play.scalars, loss.scalars)
        connect(m, loss.td, flipped(self.td))
        connect(m, loss.delta, last.delta)
        m.d.comb += [
            batch.acting.eq(self.acting),
            play.acting.eq(self.acting),
            batch.begin.eq(control.begin),
            batch.batch.eq(self.batch),
            control.loaded.eq(batch.loaded),
            control.bad.eq(batch.bad),
            control.bad_index.eq(batch.bad_index),
            control.weight.eq(batch.weight),
            batch.take.eq(control.train | self.act),
            *(batch.address[k].eq(play.address[k]) for k in range(config.lanes)),
            *(play.words[k].eq(batch.words[k]) for k in range(config.lanes)),
            # Of observations, the last sample may have fewer than there are lanes.
            samples.eq((self.batch + (config.lanes - 1)) >> (config.lanes.bit_length() - 1)),
            play.start.eq(control.train | self.act),
            play.samples.eq(samples),
            loss.start.eq(control.train),
            loss.samples.eq(samples),
            loss.inverse.eq(batch.inverse),
            loss.clip.eq(control.hyperparameters.clip),
            loss.i.eq(last.o),
            last.room.eq(loss.room),
            control.loss.eq(loss.loss),
            control.td_sum.eq(loss.td_sum),
            control.value.eq(loss.value),
            control.diverged.eq(loss.diverged),
            control.diverged_index.eq(loss.diverged_index),
        ]
        rooms = []
        for name in config.graph:
            first = networks[name][0]
            connect(m, getattr(play, name), first.feed)
            # Observations alone go to the network that acts.
            idle = self.acting & (name != config.acts)
            m.d.comb += first.feed_begun.eq(play.begun & ~idle)
            rooms.append(first.feed_room | idle)
        m.d.comb += play.room.eq(Cat(rooms).all())
        self._parameters(m, networks, every)
        self._act(m, networks, loss)

        # Complete: every layer has seen all samples, and so has the loss.
        running = Signal()
        complete = Cat(layer.done for layer in every).all() & loss.done
        with m.If(control.train):
            m.d.sync += [running.eq(1), control.trained.eq(0)]
        with m.Elif(running & complete):
            m.d.sync += [running.eq(0), control.trained.eq(1)]
        for layer in every:
            m.d.comb += [
                layer.start.eq(control.train),
                layer.samples.eq(samples),
                layer.acting.eq(self.acting),
            ]

        counts = [[layer.saturations[k] for layer in every] for k in range(3)]
        counts[1].append(play.saturations)
        counts[2].append(loss.saturations)
        counts = [[Mux(self.acting, 0, sum(values, Const(0, 1)))] for values in counts]
        count_saturations(m, control.saturations, counts, width=16)
        return m

    def _act(self, m, networks, loss):
        """While acting, the outputs go to ``actions`` and nowhere else."""
        config, layer = self.config, networks[self.config.acts][-1]
        m.submodules.outputs = outputs = Outputs(config, layer.shape, self.data_width)
        connect(m, outputs.o, flipped(self.actions))
        m.d.comb += [
            outputs.i.valid.eq(layer.o.valid & self.acting),
            outputs.i.index.eq(layer.o.index),
            outputs.i.value[0].eq(layer.o.value[0]),  # the online network's
            outputs.begun.eq(layer.started & self.acting),
            outputs.start.eq(self.act),
            outputs.count.eq(self.batch),
        ]
        with m.If(self.acting):
            m.d.comb += layer.room.eq(outputs.room)
            taking = [
                networks[name][0]
                for name, network in config.graph.items()
                if network.join and network.join.source == config.acts
            ]
            for first in taking:
                m.d.comb += [first.chain.valid.eq(0), first.chain_begun.eq(0)]
            if not taking:
                m.d.comb += loss.i.valid.eq(0)

    def _layers(self, m):
        """``{network: layers}``, as samples go, wired end to end: outputs forward, errors
        backward."""
        config = self.config
        networks, before = {name: [] for name in config.order}, None
        counts = zip(placed(config), slots_of(config), banks_of(config), strict=True)
        for own, slots, banks in counts:
            options, join = {}, None if own.position else config.graph[own.network].join
            if own.position or join:
                groups = join.groups if join else range(len(own.groups))
                options = dict(chain=groups, input_activation=own.made_by)
            layer = Layer(
                config.layer_config,
                own.shape,
                weight_sources=own.groups,
                backward_groups=own.backward_groups,
                slots=slots,
                feed=0 if own.position else words_a_clock(config),
                period=own.period,
                banks=banks,
                reserved=own.following is not None,
                **options,
            )
            m.submodules[f"{own.network}_{own.position}"] = layer
            if before is not None:
                self._wire(m, before, layer, join)
            else:
                m.d.comb += layer.dx_room.eq(1)
            networks[own.network].append(layer)
            before = layer
        return networks

    def _wire(self, m, before, layer, join):
        """Wires outputs of ``before`` into ``layer``, and the errors of its inputs back."""
        groups = join.errors if join else range(layer.backward_groups)
        first = layer.shape.joined_word if join else 0
        last = first + before.shape.output_words
        m.d.comb += [
            layer.chain.eq(before.o),
            layer.chain_begun.eq(before.started),
            before.room.eq(layer.chain_room),
            # Other words are of experiences, or padding.
            before.delta.valid.eq(
                layer.dx.valid & at_least(layer.dx.index, first) & below(layer.dx.index, last)
            ),
            before.delta_begun.eq(layer.dx_begun),
            layer.dx_room.eq(before.delta_room),
        ]
        for k, group in enumerate(groups):
            m.d.comb += before.delta.payload[k].eq(layer.dx.value[group])

    def _parameters(self, m, networks, every):
        """Wires update, load and store of the layers, in the image's order."""
        m.submodules.transfer = transfer = self.transfer
        connect(m, flipped(self.image_i), transfer.i)
        connect(m, transfer.o, flipped(self.image_o))
        order = [layer for name in self.config.networks for layer in networks[name]]
        waiting = Signal(len(order))  # layers whose update is asked for and has not begun
        m.d.comb += [
            transfer.load.eq(self.load),
            transfer.store.eq(self.store),
            transfer.sets.eq(self.sets),
            transfer.layer_busy.eq(Cat(layer.busy for layer in order)),
            self.control.busy.eq(
                self.control.update
                | self.load
                | self.store
                | transfer.busy
                | waiting.any()
                | Cat(layer.busy for layer in every).any()
            ),
        ]
        with m.If(self.control.update):
            m.d.sync += waiting.eq(~0)
        for k, layer in enumerate(order):
            with m.If(layer.update):
                m.d.sync += waiting[k].eq(0)
            connect(m, getattr(transfer, f"words_{k}"), layer.image_i)
            connect(m, layer.image_o, getattr(transfer, f"stored_{k}"))
            m.d.comb += [
                layer.update.eq(waiting[k] & layer.done),
                layer.load.eq(transfer.load_layer[k]),
                layer.store.eq(transfer.store_layer[k]),
                layer.parameter_set.eq(transfer.parameter_set),
            ]
        config = self.config.layer_config
        convert = optimizer_of(config.arithmetic).convert
        sums = config.arithmetic.gradient_sum_shape(config.batch)
        for position, name in enumerate(self.config.networks):
            given = Signal(COEFFICIENTS, name=f"{name}_given")
            for field in COEFFICIENTS.members:
                value = self.control.hyperparameters[field]
                if isinstance(value, data.View):  # one a network
                    value = value[position]
                m.d.comb += given[field].eq(value)
            coefficients = convert(
                m, config.optimizer_config, sums, given, name=f"{name}_coefficients"
            )
            for layer in networks[name]:
                m.d.comb += layer.coefficients.eq(coefficients)

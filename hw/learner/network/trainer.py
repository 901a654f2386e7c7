"""The learner: batch, networks, losses and parameter image, wired for one algorithm's plan.

CF'22 3.2: forward through all layers, loss, backward and weight gradients, each a stage of its own
that streams samples; the target network's forward pass runs at the same time (3.2.4).
"""

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import connect, flipped

from hw.arith.float32.format import times_power_of_two
from hw.comparison import below
from hw.learner.algorithms.plan import mask, of_sweep
from hw.learner.contract import LearnerSignature, count_saturations
from hw.learner.network.layer import Layer
from hw.learner.network.loss import Loss
from hw.learner.network.outputs import Outputs
from hw.learner.network.sweep_control import SweepControl
from hw.learner.network.takers import wire_takers
from hw.learner.network.update_control import UpdateControl
from hw.learner.parameters.image_transfer import ImageTransfer
from hw.learner.parameters.network_optimizer import NetworkOptimizer
from hw.learner.placed_layers import placed
from hw.learner.records import STEP
from hw.learner.samples.batch_memory import BatchMemory
from hw.learner.samples.sample_reader import SampleReader, words_a_clock
from hw.learner.step_clocks import banks_of, scalars_ahead, slots_of
from hw.nn.optimizer_config import COEFFICIENTS
from hw.nn.optimizers import optimizer_of

__all__ = ["Trainer"]


class Trainer(wiring.Component):
    """CF'22's learner: a component with ``LearnerSignature`` that trains the config's networks.
    Samples stream through all stages of all networks at the same time.

    A sample of each lane enters every ``config.interval`` clocks, or more slowly if the loss needs
    longer. Forward, loss and backward of a batch overlap. After ``control.update``, each layer
    updates its parameters as soon as its own gradients are complete, so the update of the upper
    layers overlaps the gradients of the lower ones; with ``update_units`` 0 the layers of a network
    update one after the other. With ``config.clip_norm`` each layer is measured then, and a
    network's layers are updated together once its norm is known. If the plan has several sweeps,
    the batch is read again for the next one when all updates of the one before have ended. Loss and
    TD errors are the first sweep's, the sum of values is the last one's.
    ``hw.learner.step_clocks`` computes the clocks of a gradient step.

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
                record=config.step_record,
            )
        )

    def elaborate(self, platform):
        m = Module()
        config, control = self.config, self.control
        self.sweeps = SweepControl(config)
        m.submodules.sweeps = sweeps = self.sweeps
        layers = self._layers(m)

        count = words_a_clock(config)
        m.submodules.batch_memory = batch = BatchMemory(config, self.data_width, count)
        m.submodules.play = play = SampleReader(config, batch.depth, scalars_ahead(config))
        self._losses = [Loss(config, sweep) for sweep in range(config.plan.sweeps)]
        first = self._losses[0]
        samples = Signal.like(play.samples)
        connect(m, flipped(self.records), batch.records)
        connect(m, first.td, flipped(self.td))
        m.d.comb += [
            batch.acting.eq(self.acting),
            play.acting.eq(self.acting),
            play.sweep.eq(self.running),
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
            play.start.eq(sweeps.start.any() | self.act),
            play.samples.eq(samples),
            control.loss.eq(first.loss),
            control.td_sum.eq(first.td_sum),
            control.value.eq(self._value()),
            control.diverged.eq(first.diverged),
            control.diverged_index.eq(first.diverged_index),
        ]
        for sweep, loss in enumerate(self._losses):
            m.submodules[f"loss_{sweep}"] = loss
            m.d.comb += [
                loss.start.eq(sweeps.start[sweep]),
                loss.samples.eq(samples),
                loss.inverse.eq(batch.inverse),
                loss.clip.eq(control.hyperparameters.clip),
            ]
            for name, k in config.plan.losses[sweep].shifts.items():
                m.d.comb += loss.shift[k].eq(self._shift(name))
        for name in config.plan.ends:
            self._end(m, name, layers[name][-1], play.scalars[name])
        rooms = []
        for name in config.plan.order:
            layer = layers[name][0]
            connect(m, play.feeds[name], layer.feed)
            # Observations alone go to the network that acts.
            idle = (self.acting & (name != config.acts)) | ~self.runs(name)
            m.d.comb += layer.feed_begun.eq(play.begun & ~idle)
            rooms.append(layer.feed_room | idle)
        m.d.comb += play.room.eq(Cat(rooms).all())
        every = [layer for name in config.plan.order for layer in layers[name]]
        self._parameters(m, layers)
        self._act(m, layers)
        self._run(m, layers, samples)

        count_saturations(m, control.saturations, self._clipped(every, play), width=16)
        return m

    def _clipped(self, layers, reader):
        """For weights, activations and gradients a list with the number that is clipped in this
        clock; 0 of an ACT."""
        counts = [[layer.saturations[k] for layer in layers] for k in range(3)]
        counts[1].append(reader.saturations)
        counts[2] += [each.saturations for each in (*self._losses, *self.merges)]
        return [[Mux(self.acting, 0, sum(values, Const(0, 1)))] for values in counts]

    def _shift(self, network):
        """By how many places the errors of a network are shifted."""
        return self.control.hyperparameters.shift[self.config.plan.shift_of(network)]

    def _wanted(self):
        """A bit for each sweep that a gradient step has."""
        count = self.config.plan.sweeps
        if count == 1 or self.config.step_record is not STEP:
            return Const(-1, count)
        return self.control.hyperparameters.sweeps[:count]

    def _value(self):
        """The last sweep's sum of values, 0 of a gradient step without it."""
        return Mux(self._wanted()[-1], self._losses[-1].value, 0)

    @property
    def running(self):
        """The current sweep; during an ACT, the sweep of the acting pass."""
        plan = self.config.plan
        if plan.sweeps == 1:
            return Const(0, 0)
        return Mux(self.acting, plan.passes[plan.acts].sweep, self.sweeps.sweep)

    def now(self, values):
        """The one of ``values``, numbers, for the sweep under way."""
        return of_sweep(self.running, values)

    def runs(self, network):
        return self.now([int(bool(names)) for names in self.config.plan.paths[network]])

    def _run(self, m, layers, samples):
        """Starts the layers of each sweep; tells ``SweepControl`` when layers and loss are done."""
        plan, control, sweeps, done = self.config.plan, self.control, self.sweeps, []
        for name, own in layers.items():
            errors = [int(count > 0) for count in plan.errors(name)]
            for layer in own:
                m.d.comb += [
                    layer.start.eq(sweeps.start.any() & of_sweep(sweeps.sweep, errors)),
                    layer.samples.eq(samples),
                    layer.acting.eq(self.acting | ~of_sweep(sweeps.sweep, errors)),
                ]
                done.append(layer.done | ~of_sweep(sweeps.sweep, errors))
        losses = of_sweep(sweeps.sweep, [loss.done for loss in self._losses])
        m.d.comb += [
            sweeps.train.eq(control.train),
            sweeps.wanted.eq(self._wanted()),
            sweeps.update.eq(control.update),
            sweeps.passed.eq(Cat(done).all()),
            sweeps.summed.eq(losses),
            sweeps.diverged.eq(control.diverged),
            control.trained.eq(sweeps.trained),
        ]

    def _end(self, m, name, layer, scalars):
        """Wires the last layer of a network to the losses that take its outputs, and the scalars of
        its samples."""
        plan, deltas = self.config.plan, []
        takes = [(sweep, loss) for sweep, loss in enumerate(self._losses) if name in loss.networks]
        for sweep, loss in takes:
            here = of_sweep(self.sweeps.sweep, [int(k == sweep) for k in range(plan.sweeps)])
            own, given = loss.ports[name].scalars, loss.ports[name].i
            passes = loss.passes[name][0]
            m.d.comb += [
                own.payload.eq(scalars.payload),
                own.valid.eq(scalars.valid & here),
                given.valid.eq(layer.o.valid & here),
                given.index.eq(layer.o.index),
                *(given.value[path].eq(layer.o.value[path]) for path in range(passes)),
            ]
            if loss.passes[name][1]:
                deltas.append((here, loss.ports[name].delta))
        rooms = [Const(0)] * plan.sweeps
        taken = [Const(0)] * plan.sweeps
        for sweep, loss in takes:
            rooms[sweep] = loss.ports[name].room
            taken[sweep] = loss.ports[name].scalars.ready
        m.d.comb += [
            layer.room.eq(of_sweep(self.sweeps.sweep, rooms)),
            scalars.ready.eq(of_sweep(self.sweeps.sweep, taken)),
        ]
        for here, delta in deltas:
            m.d.comb += delta.ready.eq(layer.delta.ready & here)
            with m.If(here):
                m.d.comb += layer.delta.valid.eq(delta.valid)
                for path, value in enumerate(delta.payload):
                    m.d.comb += layer.delta.payload[path].eq(value)

    def _act(self, m, layers):
        """While acting, the outputs go to ``actions`` and nowhere else."""
        config, plan = self.config, self.config.plan
        layer, acts = layers[config.acts][-1], plan.passes[plan.acts]
        path = plan.paths[config.acts][acts.sweep].index(plan.acts)
        m.submodules.outputs = outputs = Outputs(config, layer.shape, self.data_width)
        connect(m, outputs.o, flipped(self.actions))
        m.d.comb += [
            outputs.i.valid.eq(layer.o.valid & self.acting),
            outputs.i.index.eq(layer.o.index),
            outputs.i.value[0].eq(layer.o.value[path]),
            outputs.begun.eq(layer.started & self.acting),
            outputs.start.eq(self.act),
            outputs.count.eq(self.batch),
        ]
        takers = plan.takers(config.acts)
        with m.If(self.acting):
            m.d.comb += layer.room.eq(outputs.room)
            for taker in takers:
                first = layers[taker][0]
                m.d.comb += [first.chain.valid.eq(0), first.chain_begun.eq(0)]
            for loss in self._losses if not takers else ():
                if config.acts in loss.networks:
                    m.d.comb += loss.ports[config.acts].i.valid.eq(0)

    def _layers(self, m):
        """``{network: layers}``, wired end to end: outputs forward, errors backward."""
        config, plan = self.config, self.config.plan
        networks, every = {name: [] for name in plan.order}, []
        self.merges = []
        counts = zip(placed(config), slots_of(config), banks_of(config), strict=True)
        for own, slots, banks in counts:
            link, options = plan.links[own.network], {}
            if own.position:
                chain = range(own.groups)
            elif link:
                chain = sorted(set().union(*plan.taken(own.network)))
            if own.position or link:
                options = dict(chain=chain, input_activation=own.made_by)
            layer = Layer(
                config.layer_config,
                own.shape,
                weight_sources=own.weight_sources,
                backward_groups=own.backward_groups,
                slots=slots,
                feed=0 if own.position else words_a_clock(config),
                period=own.period,
                banks=banks,
                reserved=bool(own.takers),
                **options,
            )
            m.submodules[f"{own.network}_{own.position}"] = layer
            target = [mask(path == "target" for path in paths) for paths in own.weights]
            counted = [mask(path is not None for path in paths) for paths in own.weights]
            m.d.comb += [layer.target.eq(self.now(target)), layer.counted.eq(self.now(counted))]
            networks[own.network].append(layer)
            every.append(layer)
        for own, layer in zip(placed(config), every, strict=True):
            if own.before is None:
                m.d.comb += layer.dx_room.eq(1)
            elif own.position:
                self._wire(m, every[own.before], layer)
        for name in plan.order:
            if plan.takers(name):
                wire_takers(m, self, name, networks)
        return networks

    def _wire(self, m, before, layer):
        """Wires a layer to the one before it in its network."""
        m.d.comb += [
            layer.chain.eq(before.o),
            layer.chain_begun.eq(before.started),
            before.room.eq(layer.chain_room),
            # Other words are padding.
            before.delta.valid.eq(
                layer.dx.valid & below(layer.dx.index, before.shape.output_words)
            ),
            before.delta_begun.eq(layer.dx_begun),
            layer.dx_room.eq(before.delta_room),
        ]
        for path in range(layer.backward_groups):
            m.d.comb += before.delta.payload[path].eq(layer.dx.value[path])

    def _parameters(self, m, networks):
        """Wires update, load and store of the layers, in the image's order."""
        m.submodules.transfer = transfer = self.transfer
        connect(m, flipped(self.image_i), transfer.i)
        connect(m, transfer.o, flipped(self.image_o))
        order = [layer for name in self.config.networks for layer in networks[name]]
        m.submodules.updates = updates = UpdateControl(self.config)
        m.d.comb += [
            transfer.load.eq(self.load),
            transfer.store.eq(self.store),
            transfer.sets.eq(self.sets),
            transfer.layer_busy.eq(Cat(layer.busy for layer in order)),
            updates.updates.eq(self.sweeps.updates),
            updates.done.eq(Cat(layer.done for layer in order)),
            updates.busy.eq(Cat(layer.busy for layer in order)),
            self.sweeps.updating.eq(updates.updating),
            self.control.busy.eq(
                self.control.update
                | self.load
                | self.store
                | transfer.busy
                | updates.updating
                | self.sweeps.more
            ),
        ]
        for k, layer in enumerate(order):
            connect(m, getattr(transfer, f"words_{k}"), layer.image_i)
            connect(m, layer.image_o, getattr(transfer, f"stored_{k}"))
            m.d.comb += [
                layer.update.eq(updates.update[k]),
                layer.load.eq(transfer.load_layer[k]),
                layer.store.eq(transfer.store_layer[k]),
                layer.parameter_set.eq(transfer.parameter_set),
            ]
        scales = {name: self._scale(m, name) for name in self.config.networks}
        if self.config.clip_norm:
            self._measure(m, updates, order, scales)
            scales = dict(zip(scales, updates.limited, strict=True))
        given = {}
        for names in self.config.alike:
            given |= dict.fromkeys(names, self._coefficients(m, names[0], scales[names[0]]))
        for name in self.config.networks:
            self._optimizers(m, name, networks[name], given[name])

    def _optimizers(self, m, name, layers, coefficients):
        """Wires the coefficients to the optimizers of a network."""
        config = self.config.layer_config
        if not config.network_optimizer:
            m.d.comb += [layer.coefficients.eq(coefficients) for layer in layers]
            return
        optimizer = NetworkOptimizer(config, len(layers))
        m.submodules[f"{name}_optimizer"] = optimizer
        m.d.comb += [
            optimizer.coefficients.eq(coefficients),
            optimizer.begins.eq(Cat(layer.update for layer in layers)),
        ]
        for k, layer in enumerate(layers):
            connect(m, layer.optimizer, optimizer.ports[k])

    def _scale(self, m, network):
        """The scale of a network's gradients, steady from the second clock after ``train``."""
        scale = self.control.hyperparameters.scale
        if self.config.plan.shift_of(network) is None:
            return scale
        shifted = Signal(32, name=f"{network}_scale", reset_less=True)
        m.d.sync += shifted.eq(times_power_of_two(scale, self._shift(network)))
        return shifted

    def _measure(self, m, updates, order, scales):
        """Wires what limits the norms of gradients."""
        control = self.control
        m.d.comb += [
            updates.clear.eq(control.train),
            *(port.eq(scale) for port, scale in zip(updates.scales, scales.values(), strict=True)),
            updates.max_norm.eq(control.hyperparameters.max_norm),
        ]
        for k, layer in enumerate(order):
            m.d.comb += [
                layer.measure.eq(updates.measure[k]),
                updates.squares[k].eq(layer.squares),
            ]

    def _coefficients(self, m, name, scale):
        """The optimizers' coefficients for the network ``name``, and others that share them."""
        config, rate = self.config.layer_config, self.config.plan.networks[name].rate
        given = Signal(COEFFICIENTS, name=f"{name}_given")
        for field in COEFFICIENTS.members:
            value = self.control.hyperparameters[field]
            if isinstance(value, data.View):  # a pair
                value = value[rate]
            m.d.comb += given[field].eq(scale if field == "scale" else value)
        convert = optimizer_of(config.arithmetic).convert
        sums = config.arithmetic.gradient_sum_shape(config.batch)
        return convert(m, config.optimizer_config, sums, given, name=f"{name}_coefficients")

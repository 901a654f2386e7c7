"""Super-samples on their way through the layers of a learner: how many may be where, and the clocks
of a gradient step and of acting.

Each line of ``SampleWalk`` is the rule of one unit: ``SampleReader``, ``ActivationBuffer``,
``Forward``, ``Loss``, ``Backward``, ``Outputs``. Every number is the unit's own; none is fitted.

How many super-samples may be between a layer's inputs and the return of their errors, its slots,
decides the learner's pace, not its results: ``docs/flow_control.md``.
"""

from dataclasses import replace
from functools import lru_cache
from itertools import zip_longest
from operator import add
from typing import NamedTuple

from hw.learner.block.activation_buffer import ActivationBuffer
from hw.learner.block.config import BlockShape
from hw.learner.block.layer_clocks import (
    backward_stage,
    finished_latency,
    forward_stage,
    update_clocks,
)
from hw.learner.network.loss import Loss
from hw.learner.network.outputs import Outputs
from hw.learner.records import WORDS, action_granules
from hw.learner.samples.sample_reader import ReaderClocks, SampleReader
from hw.timing import Repeats, Stage, Walk, pending, picture, since, slots

__all__ = ["PlacedLayer", "SampleWalk", "StepClocks", "acting_clocks", "banks_of", "pace", "placed"]
__all__ += ["scalars_ahead", "schedule", "slots_of", "step_clocks", "step_units"]

#: Samples beyond those whose clocks are counted.
_SPARE = 2
#: Clocks from a word of a layer to the unit that takes it.
_PASSED = 2
#: Clocks from a layer's last gradient to its update, which is ``done``, and from the end of the
#: update to the end of the step.
_DONE, _SETTLED = 1, 1


class PlacedLayer(NamedTuple):
    """A layer as samples pass it.

    network, position : its place in ``LearnerConfig.networks``
    shape : its BlockShape
    groups : a weight source, "online" or "target", for each forward pass of a sample
    backward_groups : number of groups, counted from the first, that have a backward pass
    made_by : the activation of the layer whose outputs are inputs of this one, which then computes
        gradients of its inputs; None if all inputs are experiences
    following : BlockShape of the next layer; None if the loss takes the outputs
    """

    network: str
    position: int
    shape: BlockShape
    groups: tuple
    backward_groups: int
    made_by: str | None
    following: BlockShape | None

    @property
    def period(self):
        """Clocks between words of errors. The loss sends a word in each clock, the next layer one
        for each of its output words."""
        return self.following.output_words if self.following else 1

    @property
    def input_gradient(self):
        """Whether gradients of the inputs are computed."""
        return self.made_by is not None

    @property
    def backward_options(self):
        """Arguments of ``Backward`` by name, except the errors' own."""
        activation = self.made_by or "linear"
        return dict(input_gradient=self.input_gradient, input_activation=activation)

    def backward_stage(self, config):
        """``backward_stage`` of the layer in a LearnerConfig."""
        return backward_stage(config.layer_config, self.shape, **self.backward_options)


@lru_cache(maxsize=1024)
def placed(config):
    """Tuple of the PlacedLayer of each layer of a LearnerConfig, in a sample's order: outputs of
    each are inputs of the next."""
    shapes, found = config.networks, []
    places = [(name, n) for name in config.order for n in range(len(shapes[name]))]
    for (name, position), (taker, at) in zip_longest(places, places[1:], fillvalue=(None, 0)):
        network, before = config.graph[name], found[-1].shape.activation if found else None
        made_by = before if position or network.join else None
        following = shapes[taker][at] if taker else None
        groups = network.weight_sources, network.backward_groups
        found.append(
            PlacedLayer(name, position, shapes[name][position], *groups, made_by, following)
        )
    return tuple(found)


@lru_cache(maxsize=1024)
def _latencies(config):
    """``(forward, backward)`` of each layer, as in ``placed``: clocks of a sample from the first
    word that the layer takes to the last that it gives."""
    found = []
    for layer in placed(config):
        shape, latency = layer.shape, layer.backward_stage(config).latency
        forward = forward_stage(config.layer_config, shape).latency + ActivationBuffer.LATENCY
        back = 0 if latency is None else latency + shape.blocks - shape.output_words
        found.append((forward + shape.output_words - 1, back + _PASSED))
    return found


def pace(config):
    """Interval of super-samples in a gradient step: the slowest unit's."""
    units = [layer.backward_stage(config).interval for layer in placed(config)]
    return max(*units, Loss.stage(config).interval, SampleReader.interval_of(config))


def banks_of(config):
    """Samples whose errors each layer, as in ``placed``, keeps, so that none waits: the samples in
    flight from the next layer, the one that is read, and one more; a power of two."""
    under_way = [-(-back // config.interval) + 1 for _, back in _latencies(config)[1:]]
    return [*(max(2, 1 << (count - 1).bit_length()) for count in under_way), 2]


def scalars_ahead(config):
    """How many super-samples may have begun whose scalars the loss has not taken."""
    return -(-sum(forward for forward, _ in _latencies(config)) // config.interval) + 2 * _SPARE


@lru_cache(maxsize=1024)
def slots_of(config):
    """The slots of each layer, as in ``placed``: no super-sample waits for one. They hold all
    super-samples in this layer and later ones, and two more; or, if more, all that follow a
    super-sample that never waits before its slot is free. These are more if the layer before, in
    which a slot is taken, has a long latency.

    The first layer of a network takes numbers of experiences, which come as soon as a sample
    begins; so it has a slot for every sample that may be in any layer. Other layers have fewer, the
    last of all the fewest."""
    clocks, found = [*map(sum, _latencies(config))], []
    needed, loss = _needed(config), Loss.stage(config).latency
    for number, layer in enumerate(placed(config)):
        inside = sum(clocks[number if layer.position else 0 :]) + loss
        found.append(max(-(-inside // config.interval) + _SPARE, needed[number]))
    return tuple(found)


def _needed(config):
    """For each layer the number of super-samples that begin while one keeps its slot. The clocks
    are those of the second of two super-samples at the learner's pace, so that it never waits."""
    clocks = pace(config)
    walk = SampleWalk(config, [2] * len(placed(config)), interval=clocks)
    walk.go(2)
    needed, before = [], None
    for layer in walk.layers:
        taken = walk.clock if layer in walk.fed else before.started
        needed.append(-(-(layer.slots[-1] - taken) // clocks))
        before = layer
    return needed


class StepClocks(NamedTuple):
    """Clocks of a gradient step, counted from ``train``.

    td : to the TD error of the first lane of the last super-sample.
    step : until the update of all parameters has ended; REPORT has this number as the clocks of the
        gradient step.
    """

    td: int
    step: int


def step_clocks(config, batch):
    """``StepClocks`` of a LearnerConfig and a batch of ``batch`` samples."""
    # No walk depends on the updates, which come behind it: kernels that differ in them share it.
    td, left, later = _walked(replace(config, update_units=1), batch)
    ends = map(add, left, _updates(config))
    return StepClocks(td + later, max(ends) + _DONE + _SETTLED + later)


def _updates(config):
    """Clocks of each layer's update."""
    shared = config.layer_config
    return [update_clocks(shared, layer.shape) for layer in placed(config)]


@lru_cache(maxsize=4096)
def _walked(config, batch):
    """``(td, gradients, skipped)`` of a gradient step: the clock of the last TD error, a tuple of
    the clock of the last gradient of each layer, and skipped clocks, to be added to all."""
    walk = SampleWalk(config, slots_of(config))
    walk.go(-(-batch // config.lanes))
    td = walk.end + Loss.td_latency_of(config)
    return td, tuple(layer.left for layer in walk.layers), walk.skipped


def schedule(config, samples=6):
    """A picture of a gradient step of ``samples`` super-samples of a LearnerConfig, as Markdown."""
    step = step_clocks(config, samples * config.lanes).step
    each = "an experience" if config.lanes == 1 else f"{config.lanes} experiences"
    return picture(
        f"A gradient step of {samples} super-samples of {each} takes {step} clocks. A row is a "
        "unit, a digit the super-sample that it works on; # is the update of a layer.",
        step_units(config, samples),
    )


def step_units(config, samples):
    """``{unit: [(begin, end), ...]}`` of a gradient step of ``samples`` super-samples: when the
    unit begins each, and may begin the next."""
    walk, units = SampleWalk(config, slots_of(config)), {}
    for sample in range(samples):
        walk.step(sample)
        for name, span in walk.units().items():
            units.setdefault(name, []).append(span)
    for layer, update in zip(walk.layers, _updates(config), strict=True):
        begin = layer.left + _DONE
        units[f"{layer.name} update"] = [(begin, begin + update)]
    return units


def acting_clocks(config, count):
    """Clocks from ``act`` to the last beat of the actions for ``count`` observations."""
    walk = SampleWalk(config, slots_of(config), acting=True)
    walk.go(-(-count // config.lanes))
    unused = -count % config.lanes  # lanes of the last sample
    latency = Outputs.latency_of(config)
    return walk.end + walk.skipped + latency - unused * WORDS * action_granules(config)


class SampleWalk(Walk):
    """Super-samples on their way: from the reader to the loss and back or, ``acting``, to the
    actions. ``clock``: the latest one begins; the first begins in clock 1.

    config : LearnerConfig
    counts : the slots of each layer, as in ``placed``
    interval : least clocks between the beginnings of two samples
    acting : whether samples are observations
    """

    def __init__(self, config, counts, *, interval=0, acting=False):
        self.layers = [
            _Layer(config, layer, count)
            for layer, count in zip(placed(config), counts, strict=True)
            if not acting or layer.network == config.acts
        ]
        #: The read that brings a sample's last number, for each layer that takes experiences.
        self.fed = {
            layer: SampleReader.last_read_of(config, layer.placed.network, acting)
            for layer in self.layers
            if layer.placed.position == 0
        }
        self.reader = ReaderClocks(config, acting)
        self.interval, self.clock = interval, 1 - interval
        if acting:
            # The observations of a sample leave number by number.
            self.step = self._act
            walk = config.lanes * WORDS * action_granules(config)
            self.last, self.room = Stage(interval=walk), slots(Outputs.SAMPLES)
        else:
            self.step = self._train
            self.last, self.room = Loss.stage(config), slots(scalars_ahead(config))
        self.end = 0  # the clock in which the loss, or ``Outputs``, begins the latest sample

    def go(self, samples):
        """Leads ``samples`` samples through the layers."""
        self.walk(Repeats([None] * samples))

    def units(self):
        """``{unit: (begin, end)}``: when each unit begins the latest sample of a gradient step, and
        may begin the next."""
        return {
            "reader": (self.clock, self.reader.last),
            **{f"{x.name} forward": (x.started, x.forward.next) for x in self.layers},
            "loss": (self.end, self.last.next),
            **{
                f"{x.name} backward": (x.backward.next - x.backward.interval, x.left)
                for x in reversed(self.layers)
            },
        }

    def state(self):
        clocks = [self.reader.last, self.reader.left, self.last.next, *self.room]
        for layer in self.layers:
            clocks += layer.clocks()
        return since(clocks, self.clock), pending(self.reader.taken, self.clock)

    def _train(self, _):
        last = self._forward(self.room[0], 0)
        self.room.append(last + 1)  # the loss has taken the sample's scalars
        self.end = self.last.begin(last)
        first = self.end + self.last.latency
        deltas = range(first, first + self.layers[-1].shape.output_words)
        for layer, below in zip_longest(reversed(self.layers), self.layers[-2::-1]):
            words = layer.back(deltas)
            if below:
                first = layer.shape.joined_word if layer in self.fed else 0
                deltas = words[first : first + below.shape.output_words]

    def _act(self, _):
        last = self._forward(0, self.room[0])
        self.end = self.last.begin(last)
        self.room.append(self.last.next + 1)
        for layer in self.layers:
            layer.slots.append(layer.fetched + 1)

    def _forward(self, begin, room):
        """The clock of a sample's last output; it begins in ``begin`` or later, and the last layer
        in ``room`` or later."""
        free = [layer.slots[0] for layer in self.fed]
        self.clock = max(self.clock + self.interval, self.reader.last, begin, *free)
        reads, words = self.reader.read(self.clock), ()
        for layer, following in zip_longest(self.layers, self.layers[1:]):
            if layer in self.fed:
                ready = reads[self.fed[layer]]
                if words:  # of another network; the buffer waits for both
                    self.reader.taken.extend(words)
                    ready = max(ready, words[-1]) + 1
                words = [ready]
            # Words of the feed, and padding, may all be read once the last word is there.
            words = [*words, *[words[-1]] * (layer.shape.input_words - len(words))]
            words = [clock + ActivationBuffer.LATENCY for clock in words]
            words = layer.forth(words, following.slots[0] if following else room)
        return words[-1]


class _Layer:
    """A layer: its ``slots`` in the activation buffer, and the stages forward and backward.

    config : LearnerConfig
    placed : PlacedLayer
    count : slots of its ``ActivationBuffer``
    """

    def __init__(self, config, placed, count):
        shared, self.placed, self.shape = config.layer_config, placed, placed.shape
        self.name = f"{placed.network} {placed.position}"
        self.slots, words = slots(count), self.shape.output_words
        # Forward takes ``interleave`` input words at a time; outputs follow the last of them.
        latency = forward_stage(shared, self.shape).latency - self.shape.blocks
        self.forward = Stage(latency, self.shape.interleave * words)
        self.backward = placed.backward_stage(config)
        self.finished = finished_latency(shared, self.shape)
        # The clocks in which forward began the latest sample, and had fetched its last word.
        self.started = self.fetched = 0

    def clocks(self):
        """All clocks that decide about later samples."""
        return self.forward.next, self.backward.next, self.fetched, *self.slots

    def forth(self, words, room):
        """Forward of the next sample; returns the clocks of its output words.

        words : when each of its words can leave the buffer
        room : when the layer above has a free slot
        """
        together, outputs = self.shape.interleave, self.shape.output_words
        begin = self.forward.begin
        self.started = begin(max(room, words[together - 1]))
        for ready in words[2 * together - 1 :: together]:
            begin(ready)
        end = self.forward.next
        # A word is fetched while the one before it is taken.
        before = end - 2 * outputs if self.shape.input_words > 1 else 0
        self.fetched = max(words[-1] - ActivationBuffer.FETCH_LATENCY, before)
        first = end + self.forward.latency
        return range(first, first + outputs)

    def back(self, deltas):
        """Backward of the next sample; returns the clocks of its words of dx, None without dx.

        deltas : when each of its words of errors comes
        """
        words, outputs = self.shape.input_words, self.shape.output_words
        # The last word is read when the others have been, a word a clock.
        there = deltas[-1] - (outputs - 1)
        ready = max(there, self.fetched + ActivationBuffer.FETCH_LATENCY) + 1
        before = self.backward.next - self.backward.interval
        clock = self.backward.begin(ready)
        # The slot is free when backward fetches the last word, while it takes the one before.
        if words > 1:
            before = clock + (words - 2) * outputs
        self.slots.append(max(before, self.fetched + 1) + 1)
        self.left = clock + self.finished  # the last gradient
        if self.backward.latency is None:
            return None
        first = clock + self.backward.latency
        return range(first, first + self.shape.blocks, outputs)

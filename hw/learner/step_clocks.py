"""Super-samples on their way through the layers of a learner: how many may be where, and the clocks
of a gradient step and of acting.

Each line of ``SampleWalk`` is the rule of one unit: ``SampleReader``, ``ActivationBuffer``,
``Forward``, ``Loss``, ``Backward``, ``Outputs``. Every number is the unit's own; none is fitted.

How many super-samples may be between a layer's inputs and the return of their errors, its slots,
decides the learner's pace, not its results: ``docs/flow_control.md``.
"""

from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

from hw.learner.block.activation_buffer import ActivationBuffer
from hw.learner.block.layer_clocks import (
    finished_latency,
    forward_stage,
)
from hw.learner.network.loss import Loss
from hw.learner.network.outputs import Outputs
from hw.learner.network.smooth import Smooth
from hw.learner.placed_layers import merge_latency, placed, smooth_latency
from hw.learner.records import WORDS, action_granules
from hw.learner.samples.sample_reader import ReaderClocks, SampleReader
from hw.learner.update_spans import sweep_end
from hw.timing import Repeats, Stage, Walk, pending, since, slots

__all__ = ["BETWEEN", "SampleWalk", "StepClocks", "acting_clocks", "banks_of", "pace"]
__all__ += ["scalars_ahead", "slots_of", "step_clocks"]

#: Samples beyond those whose clocks are counted.
_SPARE = 2
#: Clocks from a word of a layer to the unit that takes it.
_PASSED = 2
#: Clocks from the sums of the loss to the end of the step.
_SUMMED = 1
#: Clocks from the end of a sweep to the begin of the next one.
BETWEEN = 1


def _chains(config):
    """The ways of a sample through the layers, from an experience to the loss: tuples of numbers in
    ``placed``."""
    layers = placed(config)
    for last in (number for number, layer in enumerate(layers) if not layer.takers):
        chain = [last]
        while (before := layers[chain[0]].before) is not None:
            chain.insert(0, before)
        yield tuple(chain)


@lru_cache(maxsize=1024)
def _latencies(config):
    """``(forward, backward)`` of each layer, as in ``placed``: clocks of a sample from the first
    word that the layer takes to the last that it gives."""
    found = []
    for layer in placed(config):
        shape, latency = layer.shape, layer.backward_stage(config).latency
        forward = forward_stage(config.layer_config, shape).latency + ActivationBuffer.LATENCY
        back = 0 if latency is None else latency + shape.blocks - shape.output_words
        back += merge_latency(config, layer)
        forward += smooth_latency(config, layer)
        found.append((forward + shape.output_words - 1, back + _PASSED))
    return found


def pace(config):
    """Interval of super-samples in a gradient step: the slowest unit's."""
    units = [layer.backward_stage(config).interval for layer in placed(config)]
    units += [Loss.stage(config, sweep).interval for sweep in range(config.plan.sweeps)]
    units += [
        Smooth.interval_of(config.lanes, layers[-1].outputs)
        for name, layers in config.networks.items()
        if any(config.plan.smoothed(name))
    ]
    return max(*units, SampleReader.interval_of(config))


def banks_of(config):
    """Samples whose errors each layer, as in ``placed``, keeps, so that none waits: the samples in
    flight from the next layer, the one that is read, and one more; a power of two."""
    backs = [back for _, back in _latencies(config)]
    return [
        max([2, *(1 << (-(-backs[taker] // config.interval)).bit_length() for taker in one.takers)])
        for one in placed(config)
    ]


def scalars_ahead(config):
    """How many super-samples may have begun whose scalars the loss has not taken."""
    forward = [forward for forward, _ in _latencies(config)]
    longest = max(sum(forward[number] for number in chain) for chain in _chains(config))
    return -(-longest // config.interval) + 2 * _SPARE


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
    needed, chains = _needed(config), [*_chains(config)]
    loss = max(Loss.stage(config, sweep).latency for sweep in range(config.plan.sweeps))
    for number, layer in enumerate(placed(config)):
        inside = loss + max(
            sum(clocks[each] for each in chain[chain.index(number) if layer.position else 0 :])
            for chain in chains
            if number in chain
        )
        found.append(max(-(-inside // config.interval) + _SPARE, needed[number]))
    return tuple(found)


def _needed(config):
    """For each layer the number of super-samples that begin while one keeps its slot. The clocks
    are those of the second of two super-samples at the learner's pace, so that it never waits."""
    clocks, needed = pace(config), [0] * len(placed(config))
    for sweep in range(config.plan.sweeps):
        walk = SampleWalk(config, [2] * len(needed), sweep, interval=clocks)
        walk.go(2)
        for number, layer in walk.layers.items():
            before = walk.layers.get(layer.placed.before)
            taken = walk.clock if number in walk.fed else before.started
            needed[number] = max(needed[number], -(-(layer.slots[-1] - taken) // clocks))
    return needed


class StepClocks(NamedTuple):
    """Clocks of a gradient step, counted from ``train``.

    td : to the TD error of the first lane of the last super-sample.
    step : until the update of all parameters has ended; REPORT has this number as the clocks of the
        gradient step.
    whole : until the sums of the loss have come too.
    """

    td: int
    step: int
    whole: int


def step_clocks(config, batch, sweeps=None):
    """``StepClocks`` of a LearnerConfig and a batch of ``batch`` samples. ``sweeps``: those that
    the step has, None for all."""
    # No walk depends on the updates, which come behind it: kernels that differ in them share it.
    alike, td, ends = replace(config, update_units=1, clip_norm=False), None, []
    for sweep in range(config.plan.sweeps) if sweeps is None else sweeps:
        end, left, later = _walked(alike, batch, sweep)
        if sweep == 0:
            td = end + Loss.td_latency_of(config) + later
        ends.append(sweep_end(config, sweep, left) + later)
    step = sum(ends) + BETWEEN * (len(ends) - 1) + (config.plan.sweeps > 1)
    summed = step - ends[-1] + end + later + Loss.summed_latency_of(config) + _SUMMED
    return StepClocks(td, step, max(step, summed))


@lru_cache(maxsize=4096)
def _walked(config, batch, sweep):
    """``(end, gradients, skipped)`` of a sweep: the clock when the loss begins the last sample,
    a tuple of the clock of the last gradient of each layer, None of one without errors, and skipped
    clocks, to be added to all."""
    walk = SampleWalk(config, slots_of(config), sweep)
    walk.go(-(-batch // config.lanes))
    left = [
        walk.layers[number].left if number in walk.layers and walk.layers[number].errors else None
        for number in range(len(placed(config)))
    ]
    return walk.end, tuple(left), walk.skipped


def acting_clocks(config, count):
    """Clocks from ``act`` to the last beat of the actions for ``count`` observations."""
    walk = SampleWalk(
        config, slots_of(config), config.plan.passes[config.plan.acts].sweep, acting=True
    )
    walk.go(-(-count // config.lanes))
    unused = -count % config.lanes  # lanes of the last sample
    latency = Outputs.latency_of(config)
    return walk.end + walk.skipped + latency - unused * WORDS * action_granules(config)


class SampleWalk(Walk):
    """Super-samples on their way in a sweep: from the reader to the loss and back or, ``acting``,
    to the actions. ``clock``: the latest one begins; the first begins in clock 1.

    config : LearnerConfig
    counts : the slots of each layer, as in ``placed``
    sweep : number of the sweep; if ``acting``, the sweep of the acting pass
    interval : least clocks between the beginnings of two samples
    acting : whether samples are observations
    """

    def __init__(self, config, counts, sweep=0, *, interval=0, acting=False):
        #: {number in ``placed``: _Layer} of the layers that samples pass.
        self.layers = {
            number: _Layer(config, layer, count, 0 if acting else layer.errors[sweep])
            for number, (layer, count) in enumerate(zip(placed(config), counts, strict=True))
            if (layer.network == config.acts if acting else layer.runs(sweep))
        }
        #: The read that brings a sample's last number, for each layer that takes experiences.
        self.fed = {
            number: SampleReader.last_read_of(config, layer.placed.network, sweep, acting)
            for number, layer in self.layers.items()
            if layer.placed.position == 0
        }
        self.reader = ReaderClocks(config, acting)
        self.interval, self.clock = interval, 1 - interval
        # The last layers, and for each of them where its samples go.
        ends = [number for number, layer in self.layers.items() if not self._takers(layer)]
        if acting:
            # The observations of a sample leave number by number.
            self.step = self._act
            walk = config.lanes * WORDS * action_granules(config)
            self.last, room = Stage(interval=walk), Outputs.SAMPLES
        else:
            self.step = self._train
            self.last, room = Loss.stage(config, sweep), scalars_ahead(config)
        self.rooms = {number: slots(room) for number in ends}
        self.back = {
            number: (
                layer.placed.before,
                layer.shape.joined_word if number in self.fed else 0,
                merge_latency(config, layer.placed),
            )
            for number, layer in self.layers.items()
            if self._returns(config, layer, sweep)
        }
        #: Noise of super-samples, for the last layer of each network that is smoothed.
        self.noise = {
            number: self._noise(config, layer)
            for number, layer in self.layers.items()
            if not (acting or interval) and self._smoothed(config, layer.placed, sweep)
        }
        # Actions that leave have no noise.
        self.later = {
            number: 0 if acting else smooth_latency(config, layer.placed)
            for number, layer in self.layers.items()
        }
        self.end = 0  # the clock in which the loss, or ``Outputs``, begins the latest sample

    @staticmethod
    def _smoothed(config, placed, sweep):
        last = placed.position == len(config.networks[placed.network]) - 1
        return last and config.plan.smoothed(placed.network)[sweep]

    @staticmethod
    def _noise(config, layer):
        """The ``Stage`` of the noise of super-samples."""
        numbers = config.lanes, layer.shape.outputs
        noise = Stage(interval=Smooth.interval_of(*numbers))
        noise.next = Smooth.ready_of(config.arithmetic, *numbers)
        return noise

    def _takers(self, layer):
        """Layers on a sample's way that take the outputs of ``layer``."""
        return [number for number in layer.placed.takers if number in self.layers]

    @staticmethod
    def _returns(config, layer, sweep):
        """Whether errors go from ``layer`` to the layer before."""
        if not layer.errors or layer.placed.before is None:
            return False
        return bool(layer.placed.position or config.plan.returned(layer.placed.network)[sweep])

    def go(self, samples):
        """Leads ``samples`` samples through the layers."""
        self.walk(Repeats([None] * samples))

    def units(self):
        """``{unit: (begin, end)}``: when each unit begins the latest sample of a gradient step, and
        may begin the next."""
        layers = [*self.layers.values()]
        return {
            "reader": (self.clock, self.reader.last),
            **{f"{x.name} forward": (x.started, x.forward.next) for x in layers},
            "loss": (self.end, self.last.next),
            **{
                f"{x.name} backward": (x.backward.next - x.backward.interval, x.left)
                for x in reversed(layers)
                if x.errors
            },
        }

    def state(self):
        clocks = [self.reader.last, self.reader.left, self.last.next]
        clocks += [noise.next for noise in self.noise.values()]
        for room in self.rooms.values():
            clocks += room
        for layer in self.layers.values():
            clocks += layer.clocks()
        return since(clocks, self.clock), pending(self.reader.taken, self.clock)

    def _train(self, _):
        begin = max(room[0] for room in self.rooms.values())
        lasts = self._forward(begin, dict.fromkeys(self.rooms, 0))
        for number, last in lasts.items():
            self.rooms[number].append(last + 1)  # the loss has taken the sample's scalars
        self.end = self.last.begin(max(lasts.values()))
        first = self.end + self.last.latency
        deltas = {
            number: range(first, first + self.layers[number].shape.output_words)
            for number in self.rooms
        }
        for number, layer in reversed(self.layers.items()):
            if not layer.errors:
                layer.free()
                continue
            words = layer.back(deltas[number])
            if number in self.back:
                before, first, later = self.back[number]
                words = words[first : first + self.layers[before].shape.output_words]
                deltas[before] = [word + later for word in words]

    def _act(self, _):
        [(number, room)] = self.rooms.items()
        [last] = self._forward(0, {number: room[0]}).values()
        self.end = self.last.begin(last)
        room.append(self.last.next + 1)
        for layer in self.layers.values():
            layer.free()

    def _forward(self, begin, rooms):
        """``{layer: clock}`` of a sample's last outputs; it begins in ``begin`` or later, and the
        last layers in their ``rooms`` or later."""
        free = [self.layers[number].slots[0] for number in self.fed]
        self.clock = max(self.clock + self.interval, self.reader.last, begin, *free)
        reads, given = self.reader.read(self.clock), {}
        for number, layer in self.layers.items():
            words = given.get(layer.placed.before, ())
            if number in self.fed:
                ready = reads[self.fed[number]]
                if words:  # of another network; the buffer waits for both
                    self.reader.take(words)
                    ready = max(ready, words[-1]) + 1
                words = [ready]
            # Words of the feed, and padding, may all be read once the last word is there.
            words = [*words, *[words[-1]] * (layer.shape.input_words - len(words))]
            words = [clock + ActivationBuffer.LATENCY for clock in words]
            free = [self.layers[taker].slots[0] for taker in self._takers(layer)]
            room = max(free, default=rooms.get(number, 0))
            if number in self.noise:
                room = max(room, self.noise[number].begin(0))
            outputs = layer.forth(words, room)
            given[number] = [clock + self.later[number] for clock in outputs]
        return {number: given[number][-1] for number in rooms}


class _Layer:
    """A layer: its ``slots`` in the activation buffer, and the stages forward and backward.

    config : LearnerConfig
    placed : PlacedLayer
    count : slots of its ``ActivationBuffer``
    errors : through how many of its data paths errors go back
    """

    def __init__(self, config, placed, count, errors):
        shared, self.placed, self.shape = config.layer_config, placed, placed.shape
        self.errors = errors
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

    def free(self):
        """The slot of a sample without errors is free when its last word has been fetched."""
        self.slots.append(self.fetched + 1)

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

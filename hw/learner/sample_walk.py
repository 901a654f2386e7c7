"""Super-samples on their way through the layers of a learner, clock by clock.

Each line of the walk is the rule of one unit: ``SampleReader``, ``ActivationBuffer``, ``Forward``,
``Loss``, ``DeltaWords``, ``Backward``, ``Outputs``. Every number is the unit's own; none is fitted.
"""

from collections import deque
from itertools import zip_longest

from hw.learner.algorithms.algorithm import in_order
from hw.learner.block.activation_buffer import ActivationBuffer
from hw.learner.block.backward import Backward
from hw.learner.block.delta_words import DeltaWords
from hw.learner.block.forward import Forward
from hw.learner.network.loss import Loss
from hw.learner.network.outputs import Outputs
from hw.learner.samples.sample_reader import SampleReader
from hw.learner.stages import period_of, scalars_ahead, stages
from hw.timing import Repeats, Stage, Walk, pending, since, slots

__all__ = ["ReaderClocks", "SampleWalk"]


class SampleWalk(Walk):
    """Super-samples on their way: from the reader to the loss and back or, ``acting``, to the
    actions. ``clock``: the latest one begins; the first begins in clock 1.

    config : LearnerConfig
    slots_of_layers : ``{network: tuple}`` with the slots of each layer
    interval : least clocks between the beginnings of two samples
    acting : whether samples are observations
    """

    def __init__(self, config, slots_of_layers, *, interval=0, acting=False):
        layers, names = {}, (config.acts,) if acting else in_order(config.graph)
        for name in names:
            counts = zip(stages(config)[name], slots_of_layers[name], strict=True)
            layers[name] = [
                _Layer(config, stage, count, period_of(config, name, position))
                for position, (stage, count) in enumerate(counts)
            ]
        self.layers = [layer for name in names for layer in layers[name]]
        self.names = [f"{name} {n}" for name in names for n in range(len(layers[name]))]
        #: The read that brings a sample's last number, for each layer that takes experiences.
        self.fed = {
            layers[name][0]: SampleReader.last_read_of(config, name, acting) for name in names
        }
        self.reader = ReaderClocks(config, acting)
        self.interval, self.clock = interval, 1 - interval
        if acting:
            # The observations of a sample leave number by number.
            self.step = self._act
            walk = config.lanes * Outputs.numbers_of(config.action)
            self.last, self.room = Stage(interval=walk), slots(Outputs.SAMPLES)
        else:
            self.step = self._train
            self.last, self.room = Loss.stage(config), slots(scalars_ahead(config))
            shape, pause = self.layers[-1].shape, self.layers[-1].pause
            self.deltas = Stage(interval=shape.output_words + pause)
        self.end = 0  # the clock in which the loss, or ``Outputs``, begins the latest sample

    def go(self, samples):
        """Leads ``samples`` samples through the layers."""
        self.walk(Repeats([None] * samples))

    def units(self):
        """``{unit: (begin, end)}``: when each unit begins the latest sample of a gradient step, and
        may begin the next."""
        layers = list(zip(self.names, self.layers, strict=True))
        return {
            "reader": (self.clock, self.reader.last),
            **{f"{name} forward": (layer.started, layer.forward.next) for name, layer in layers},
            "loss": (self.end, self.last.next),
            **{
                f"{name} backward": (layer.backward.next - layer.backward.interval, layer.left)
                for name, layer in reversed(layers)
            },
        }

    def state(self):
        clocks = [self.reader.last, self.reader.left, self.last.next, *self.room]
        if self.step == self._train:
            clocks.append(self.deltas.next)
        for layer in self.layers:
            clocks += layer.clocks()
        return since(clocks, self.clock), pending(self.reader.taken, self.clock)

    def _train(self, _):
        last = self._forward(self.room[0], 0)
        self.room.append(last + 1)  # the loss has taken the sample's scalars
        self.end = self.last.begin(last)
        first = self.deltas.begin(self.end + self.last.latency)
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
    placed : hw.learner.stages.PlacedLayer
    count : slots of its ``ActivationBuffer``
    period : clocks between words of errors, as ``Backward`` has it
    """

    def __init__(self, config, placed, count, period):
        shared, self.shape = config.layer_config, placed.shape
        self.slots, words = slots(count), self.shape.output_words
        # Forward takes ``interleave`` input words at a time; outputs follow the last of them.
        latency = Forward.stage(shared, self.shape).latency - self.shape.blocks
        self.forward = Stage(latency, self.shape.interleave * words)
        self.backward = placed.backward_stage(shared)
        self.finished = Backward.finished_latency_of(shared, self.shape)
        self.pause = DeltaWords.pause_of(shared, self.shape)
        self.early, self.late = DeltaWords.early(self.shape, period)
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
        ready = max(
            deltas[self.early] + self.late + 1, self.fetched + 1 + ActivationBuffer.FETCH_LATENCY
        )
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


class ReaderClocks:
    """Reads of a batch's samples, as they leave ``SampleReader`` for the first layers: one a clock,
    stalled while a layer takes a word of another network. The slots of the layers bound the reads
    in flight, so the reader's queue never fills.

    config : LearnerConfig
    acting : whether samples are observations
    """

    def __init__(self, config, acting=False):
        self.reads = SampleReader.last_read_of(config, acting=acting) + 1
        self.latency = SampleReader.latency_of(config)
        self.last = 1  # the clock of the last read, in which the next sample may begin
        self.left = 0  # the clock in which the last read left
        # Clocks in which a layer takes a word of another network, and so nothing of the reader.
        self.taken = deque()

    def read(self, begun):
        """Reads a sample that begins in clock ``begun``; returns when each of its reads leaves."""
        self.last = begun + self.reads
        first = begun + 1 + self.latency
        clocks, taken = range(first, first + self.reads), self.taken
        if taken or self.left >= first:  # some of them wait
            clocks, ready = [], clocks
            for clock in ready:
                clock = max(clock, self.left + 1)
                while taken and taken[0] <= clock:
                    clock += taken.popleft() == clock
                clocks.append(clock)
                self.left = clock
        self.left = clocks[-1]
        return clocks

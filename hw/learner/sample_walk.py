"""Super-samples on their way through the layers of a learner, clock by clock.

Each line of the walk is the rule of one unit: a super-sample waits for a slot or a bank, and leaves
after the latency of the unit. All numbers are the units' own, and none is fitted.
"""

from collections import deque
from itertools import zip_longest

from hw.learner.block.activation_buffer import ActivationBuffer
from hw.learner.layer_clocks import LayerClocks
from hw.learner.network.outputs import Outputs
from hw.learner.reader_clocks import ReaderClocks
from hw.learner.samples.sample_reader import SampleReader
from hw.learner.stages import banks_of, period_of, scalars_ahead, stages

__all__ = ["SampleWalk"]


class SampleWalk:
    """Super-samples on their way through the layers of ``names``: from the reader to the loss and
    back, or to the actions.

    config : LearnerConfig
    names : networks, in the order in which a sample passes them
    slots : ``{network: tuple}`` with the slots of each layer, those of all networks
    interval : clocks from one sample to the next, at least, beside those of the reader
    acting : whether samples are observations
    """

    def __init__(self, config, names, slots, *, interval=0, acting=False):
        layers = {}
        for name, every in stages(config).items():
            layers[name] = []
            for position, (stage, count) in enumerate(zip(every, slots[name], strict=True)):
                errors = period_of(config, name, position), banks_of(config, name, position)
                layers[name].append(LayerClocks(config, stage, count, *errors))
        self.config, self.layers = config, [layer for name in names for layer in layers[name]]
        #: Of a layer that takes experiences: the read that brings the last number of a sample.
        self.fed = {
            layers[name][0]: SampleReader.last_read_of(config, name, acting) for name in names
        }
        self.reader, self.interval = ReaderClocks(config, acting), interval
        self.ahead = scalars_ahead(config)
        self.outputs = []  # the clocks of the last outputs
        self.ends = []  # the clocks from which the loss, or ``Outputs``, works on them

    def go(self, samples, step):
        """Calls ``step(sample)`` for ``samples`` samples; the first begins in clock 1. Once they
        repeat with a period, whole periods are left out: returns the clocks of those, to be added
        to all clocks found."""
        self.begun = before = 1 - self.interval
        seen, recent, begins, later = {}, deque(maxlen=self.depth), [], 0
        sample = 0
        while sample < samples:
            step(sample)
            state = [self.ends[-1], *self.reader.state()]
            state += [clock for layer in self.layers for clock in layer.state()]
            recent.append((self.begun - before, *(clock - self.begun for clock in state)))
            before, sample = self.begun, sample + 1
            begins.append(before)
            again = len(begins) - seen.setdefault(tuple(recent), len(begins))
            if again and not later:
                times = (samples - sample) // again
                later = times * (before - begins[-1 - again])
                samples -= times * again
        return later

    @property
    def depth(self):
        """How many samples decide about the next one."""
        return max(layer.slots for layer in self.layers)

    def train(self, sample, loss):
        """A gradient step's way of a super-sample."""
        last = self._forward(sample, 0)
        self.outputs.append(last)
        begun = max(last, self.ends[-1] + loss.interval if sample else 0)
        self.ends.append(begun)
        deltas = self.layers[-1].deltas(begun + loss.latency)
        for layer, below in zip_longest(reversed(self.layers), self.layers[-2::-1]):
            words = layer.run_back(deltas, below.bank() if below else 0)
            if below:
                first = layer.shape.joined_word if layer in self.fed else 0
                deltas = words[first : first + below.shape.output_words]

    def act(self, sample, numbers):
        """The way of a super-sample of observations; ``numbers`` leave for each of them."""
        walk, waiting = self.config.lanes * numbers, sample - Outputs.SAMPLES
        room = self.ends[waiting] + walk + 1 if waiting >= 0 else 0
        last = self._forward(sample, room)
        self.ends.append(max(last, self.ends[-1] + walk if sample else 0))
        for layer in self.layers:
            layer.freed.append(layer.fetched)

    def _forward(self, sample, room):
        """The clock of the last output. ``room``: from when there is some behind the last layer."""
        waiting = len(self.outputs) - self.ahead
        taken = self.outputs[waiting] + 1 if waiting >= 0 else 0
        slots = [layer.slot(sample) for layer in self.fed]
        self.begun = max(self.begun + self.interval, self.reader.last, taken, *slots)
        reads, words = self.reader.read(self.begun), ()
        for layer, following in zip_longest(self.layers, self.layers[1:]):
            if layer in self.fed:
                there = reads[self.fed[layer]]
                if words:  # of the layer before; the buffer waits for both
                    self.reader.taken.extend(words)
                    there = max(there, words[-1]) + 1
                words = [there]
            # Words of the feed, and padding, may all be read once the last word is there.
            words = [*words, *[words[-1]] * (layer.shape.input_words - len(words))]
            words = [clock + ActivationBuffer.LATENCY for clock in words]
            words = layer.run(words, following.slot(sample) if following else room)
        return words[-1]

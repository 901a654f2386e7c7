"""The clocks in which the units of a layer take and pass on super-samples.

The rules are those of ``Forward``, ``Backward``, ``DeltaWords`` and ``ActivationBuffer``.
``hw.learner.sample_walk`` leads samples through layers.
"""

from hw.learner.block.activation_buffer import ActivationBuffer
from hw.learner.block.delta_words import DeltaWords

__all__ = ["LayerClocks"]


class LayerClocks:
    """A layer: its latencies and intervals, and the clocks in which its parts took and passed on
    the samples so far. Samples must come in order.

    config : LearnerConfig
    stage : a Stage of ``hw.learner.stages``
    slots : slots of the layer's ``ActivationBuffer``
    period, banks : of errors, as ``Backward`` has them
    """

    def __init__(self, config, stage, slots, period, banks):
        shared, shape = config.layer_config, stage.shape
        self.shape, self.slots, self.banks = shape, slots, banks
        forward, back = stage.forward(shared), stage.backward(shared)
        #: Clocks from the taking of a sample's last word to its first output word, from that of its
        #: first word to its first word of dx, and to ``finished``.
        self.tail = forward.latency - shape.blocks + shape.output_words
        self.back_latency, self.finished = back.latency, back.finished_latency
        self.spacing, self.pause = back.interval, DeltaWords.pause_of(shared, shape)
        self.early, self.late = DeltaWords.early(shape, period)
        self.free = 0  # from when forward takes a sample
        # Of each sample: where backward took its first word, where its slot was freed, where its
        # bank of errors was released.
        self.taken, self.freed, self.released = [], [], []
        self.entered = -1 - self.pause  # where the last word of errors came
        self.started = 0  # where forward took the first word of a sample
        self.fetched = 0  # where forward had fetched the last word of a sample

    def slot(self, sample):
        """The clock from which on the layer's buffer has a slot for sample number ``sample``."""
        return self.freed[sample - self.slots] + 1 if sample >= self.slots else 0

    def bank(self):
        """The clock from which on the layer has room for the errors of another sample."""
        return self.released[-self.banks] + 1 if len(self.released) >= self.banks else 0

    def run(self, words, room):
        """Forward of the next sample; returns the clocks of its output words.

        words : the clocks in which the words of the sample can leave the buffer
        room : the clock from which on there is room behind this layer
        """
        shape, together = self.shape, self.shape.interleave
        first = words[together - 1 :: together]  # those that leave the buffer together
        self.started = clock = max(room, self.free, first[0])
        for ready in first:
            clock = max(clock, ready) + together * shape.output_words
        self.free = clock
        # A word is fetched while the one before it is taken.
        self.fetched = max(
            words[-1] - ActivationBuffer.FETCH_LATENCY,
            clock - 2 * shape.output_words if shape.input_words > 1 else 0,
        )
        output = clock - shape.output_words + self.tail
        return range(output, output + shape.output_words)

    def run_back(self, deltas, room):
        """Backward of the next sample; returns the clocks of its words of dx, or None if there are
        none.

        deltas : the clocks in which its words of errors come
        room : the clock from which on there is room for its dx
        """
        shape = self.shape
        self.entered = deltas[-1]
        there = deltas[self.early] + self.late + 1
        clock = max(there, room, self.fetched + 1 + ActivationBuffer.FETCH_LATENCY)
        if self.taken:
            clock = max(clock, self.taken[-1] + self.spacing)
        self.taken.append(clock)
        self.freed.append(self._freed(len(self.taken)))
        self.released.append(clock + shape.blocks - shape.output_words)
        self.left = clock + self.finished
        if self.back_latency is None:
            return None
        first = clock + self.back_latency
        return range(first, first + shape.blocks, shape.output_words)

    def deltas(self, first):
        """The clocks in which words of errors come from a source that waits for a bank, and that
        has the first of them in clock ``first``."""
        first = max(first, self.bank(), self.entered + 1 + self.pause)
        return range(first, first + self.shape.output_words)

    def state(self):
        """A list of all clocks of past samples that decide about the samples to come."""
        clocks = [self.free, self.freed[-1], self.fetched]
        return clocks + [self.entered, *self.taken[-1:], *self.released[-self.banks :]]

    def _freed(self, samples):
        """Where backward has fetched the last word of the last of ``samples`` samples: while it
        took the word before, if forward had fetched the sample."""
        words = self.shape.input_words
        sample, word = divmod(samples * words - 2, words)
        before = self.taken[sample] + word * self.shape.output_words if sample >= 0 else 0
        return max(before, self.fetched + 1)

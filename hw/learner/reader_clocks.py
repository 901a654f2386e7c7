"""The clocks in which the reads of a batch's samples leave to the first layers.

The rules are those of ``SampleReader`` and of ``ActivationBuffer.feed``. ``hw.learner.sample_walk``
leads samples on from there.
"""

from collections import deque

from hw.learner.samples.sample_reader import SampleReader

__all__ = ["ReaderClocks"]


class ReaderClocks:
    """The reader, and the clocks in which it read and gave the samples so far.

    config : LearnerConfig
    acting : whether samples are observations
    """

    def __init__(self, config, acting=False):
        self.reads = SampleReader.last_read_of(config, acting=acting) + 1
        self.latency, self.ahead = SampleReader.latency_of(config), SampleReader.AHEAD
        self.last = 1  # the clock of the last read, in which the next sample may begin
        # Of the last reads, as many as decide about the next one: where they were, and left.
        self.read_in, self.left = (deque(maxlen=self.ahead + self.latency - 1) for _ in range(2))
        # Clocks in which a layer takes a word of another network, and so nothing of the reader.
        self.taken = deque()

    def read(self, begun):
        """Reads a sample that begins in clock ``begun``; returns the clocks in which its reads
        leave."""
        first = begun + 1 + self.latency
        if self.taken or (self.left and self.left[-1] >= first):
            self.last = begun
            return [self._leave() for _ in range(self.reads)]
        # Nothing waits.
        self.last, leave = begun + self.reads, range(first, first + self.reads)
        self.read_in.extend(range(begun + 1, self.last + 1))
        self.left.extend(leave)
        return leave

    def _leave(self):
        """The clock in which the next read leaves, which is made as early as may be."""
        left, taken, clock = self.left, self.taken, self.last + 1
        while (waits := self._waits(clock)) >= clock:
            clock = waits + 1
        self.last = clock
        clock = max(clock + self.latency, left[-1] + 1 if left else 0)
        while taken and taken[0] <= clock:
            clock += taken.popleft() == clock
        self.read_in.append(self.last)
        left.append(clock)
        return clock

    def _waits(self, clock):
        """A read may be made in ``clock`` if fewer than ``ahead`` are in the queue: the clock in
        which the one must have left that is so many before the last that has come there."""
        if not self.left or self.left[-1] < clock + self.ahead - 1:
            return 0  # so few are left
        behind = sum(read > clock - self.latency for read in self.read_in) + self.ahead
        return self.left[-behind] if behind <= len(self.left) else 0

    def state(self):
        """A list of all clocks of past samples that decide about the samples to come."""
        if self.left[-1] <= self.last + self.latency:
            return [self.last]
        return [self.last, *self.read_in, *self.left]

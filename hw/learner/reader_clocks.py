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
        self.latency = SampleReader.latency_of(config)
        self.last = 1  # the clock of the last read, in which the next sample may begin
        # Reads that have left; the next waits until the first of them has.
        self.left = deque([0], maxlen=SampleReader.ahead_of(config))
        # Clocks in which a layer takes a word of another network, and so nothing of the reader.
        self.taken = deque()

    def read(self, begun):
        """Reads a sample that begins in clock ``begun``; returns the clocks in which its reads
        leave."""
        first = begun + 1 + self.latency
        if self.taken or self.left[-1] >= first:
            self.last = begun
            return [self._leave() for _ in range(self.reads)]
        # Nothing waits.
        self.last, leave = begun + self.reads, range(first, first + self.reads)
        self.left.extend(leave)
        return leave

    def _leave(self):
        left, taken = self.left, self.taken
        waits = left[0] if len(left) == left.maxlen else 0
        self.last = max(self.last, waits) + 1
        clock = max(self.last + self.latency, left[-1] + 1)
        while taken and taken[0] <= clock:
            clock += taken.popleft() == clock
        left.append(clock)
        return clock

    def state(self):
        """A list of all clocks of past samples that decide about the samples to come."""
        return [self.last, *(clock for clock in self.left if clock > self.last)]

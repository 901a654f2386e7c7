"""The clocks in which the chains and buffers of a layer take and pass on super-samples.

The rules are those of ``Forward``, ``Backward``, ``DeltaBanks``, ``ActivationBuffer`` and
``DeltaBuffer``. ``hw.learner.step_clocks`` leads samples through layers.
"""

from hw.learner.chain.backward import Backward
from hw.learner.chain.delta_banks import DeltaBanks
from hw.learner.chain.forward import Forward
from hw.learner.network.activation_buffer import ActivationBuffer
from hw.learner.network.delta_buffer import DeltaBuffer

__all__ = ["LayerClocks"]


class Chain:
    """When a chain of PEs takes samples. A hop is the last clock of a macro-cycle of ``rows``
    clocks. A chain takes the first word of a sample in a hop, and only in one of ``turns`` hops in
    a row (``TokenIssue``). While no sample is under way, the chain waits in a hop, so that every
    clock is one.

    rows : clocks of a macro-cycle
    turns : the layer's ``interleave`` for a forward chain, else 1
    """

    def __init__(self, rows, turns=1):
        self.rows, self.turns = rows, turns
        # Of the last sample: where it was taken, the hop behind its last word, where it left.
        self.first, self.free, self.left = None, 0, 0

    def take(self, ready):
        """The clock in which the next sample is taken, if the sample is there from clock ``ready``
        on. The chain keeps this clock in ``first``."""
        clock = ready = max(ready, self.free)
        if self.first is not None:
            hops = -(-max(0, self.left + 1 - self.first) // self.rows)
            waits = self.first + hops * self.rows  # in this hop it stays, if nothing comes
            clock = ready + (self.first - ready) % (self.rows * self.turns)
            if clock > waits:
                ready = max(ready, waits)
                clock = ready + (waits - hops - ready) % self.turns
        self.first = clock
        return clock


class Words:
    """When a reader of ``ActivationBuffer`` fetches words: a word a clock while fewer than
    ``ahead`` words wait for the chain. The count of waiting words shows a fetch two clocks after
    the fetch, and a word that the chain takes one clock after it was taken."""

    def __init__(self, layer, ahead):
        self.words, self.rows, self.ahead = layer.words, layer.rows, ahead
        self.firsts = []  # the clocks in which the chain took the first words of samples
        self.fetched, self.count = -2, 0  # the last fetch, and how many there were

    def fetch(self, ready):
        """The clock in which the next word is fetched, if the word is in the buffer from clock
        ``ready`` on. The word then counts as fetched."""
        clock, taken = max(self.fetched + 1, ready), self.count - self.ahead
        hidden = clock == self.fetched + 1  # the count does not show the fetch before
        if not (hidden and (taken < 1 or self._taken(taken - 1) < clock)) and taken >= 0:
            clock = max(clock, self._taken(taken) + 1)
        self.fetched, self.count = clock, self.count + 1
        return clock

    def _taken(self, word):
        sample, word = divmod(word, self.words)
        return self.firsts[sample] + word * self.rows


class LayerClocks:
    """A layer: its latencies and intervals, and the clocks in which its parts took and passed on
    the samples so far. Samples must come in order.

    config : LearnerConfig
    stage : an item of ``hw.learner.stages.stages``
    slots : slots of the layer's ``ActivationBuffer``
    """

    def __init__(self, config, stage, slots):
        shared, (layer, groups, backward_groups, made_by) = config.layer_config, stage
        trained = 1
        self.layer, self.slots = layer, slots
        self.figures = Forward.estimate(shared, layer, groups)
        self.back = Backward.estimate(
            shared, layer, backward_groups, trained, made_by is not None, made_by or "linear"
        )
        self.spacing = Backward.spacing_of(shared, layer, trained)
        self.pause = DeltaBanks.pause_of(shared, layer, trained)
        self.forward, self.backward = Chain(layer.rows, layer.interleave), Chain(layer.rows)
        self.read = Words(layer, ActivationBuffer.ahead_of(layer.interleave))
        self.again = Words(layer, ActivationBuffer.ahead_of(1))
        # Of each sample: where its slot was freed, where its bank was released, and where the last
        # error for the layer below was passed on.
        self.freed, self.released, self.passed = [], [], []
        self.entered = -1 - self.pause  # where the last error of this layer came
        self.words_behind = []  # clocks from the first output of the layer before to each word

    def slot(self, sample):
        """The clock from which on the layer's buffer has a slot for sample number ``sample``."""
        return self.freed[sample - self.slots] + 1 if sample >= self.slots else 0

    def output(self, element):
        """Clocks from a sample's output 0 to its output ``element``: an output a clock, and one
        clock more between the outputs of two PEs."""
        return element + element // self.layer.rows

    def follow(self, before):
        """Says that the inputs of this layer are the outputs of the layer ``before``, a
        LayerClocks. Sets ``words_behind``: clocks from that layer's first output to each word."""
        layer = self.layer
        ends = range(layer.vector, layer.inputs + layer.vector, layer.vector)
        self.words_behind = [before.output(min(end, layer.inputs) - 1) for end in ends]
        padding = range(1, layer.words - len(self.words_behind) + 1)
        self.words_behind += [self.words_behind[-1] + k for k in padding]

    def run(self, words, room):
        """Forward of the next sample; returns the clock of its first output.

        words : the clocks in which the words of the sample can leave the buffer
        room : the clock from which on there is room behind this layer
        """
        layer, turns = self.layer, self.layer.interleave
        groups = words[turns - 1 :: turns]  # those of a group leave the buffer together
        first, period = self.forward.take(max(groups[0], room)), turns * layer.rows
        late = max(-((first - there) // period) - k for k, there in enumerate(groups))
        first += max(0, late) * period
        self.forward.free = first + layer.cycles
        self.forward.left = first + self.figures.last_latency
        self.read.firsts.append(first)
        for there in words:
            self.read.fetch(there - ActivationBuffer.FETCH_LATENCY)
        return first + self.figures.latency

    def run_back(self, sample, last_error):
        """Backward of ``sample``. ``last_error`` is the clock in which the sample's last error
        would enter this layer if nothing were in its way. Errors of a sample enter one a clock; the
        clock of the last one is kept in ``entered``."""
        layer, again = self.layer, self.again
        banked = self.released[sample - 2] + 1 if sample > 1 else 0
        entered = max(banked, self.entered + 1 + self.pause)
        self.entered = max(entered + layer.outputs - 1, last_error)
        there = again.fetch(self.read.fetched + 1) + ActivationBuffer.FETCH_LATENCY
        waiting = len(self.passed) - DeltaBuffer.SAMPLES
        room = self.passed[waiting] + 1 if waiting >= 0 else 0
        first = self.backward.take(max(self.entered + 1, there, room))
        self.backward.free = first + self.spacing
        self.backward.left = first + self.back.finished_latency
        self.released.append(first + (layer.words - 1) * layer.rows)
        again.firsts.append(first)
        for _ in range(layer.words - 1):
            again.fetch(0)
        self.freed.append(again.fetched)

    def last_error(self, first, count):
        """The clock in which the delta buffer passes the last error of a sample on to the layer
        below, if that layer never waits. It passes on the errors of ``count`` inputs, from input
        ``first`` on."""
        layer, last = self.layer, first + count - 1
        self.behind = layer.words * layer.vector - 1 - last  # it drops those behind, one a clock
        self.there = self.backward.first + self.back.latency + DeltaBuffer.latency_of(layer)
        begin = max(self.there, self.passed[-1] + 1 if self.passed else 0)
        word, place = divmod(last, layer.vector)
        return max(begin + last, self.there + word * layer.rows + place)

    def pass_on(self, entered):
        """Says in which clock the sample's last error ``entered`` the layer below, and notes when
        the delta buffer has done with the sample."""
        layer = self.layer
        whole = self.there + (layer.words - 1) * layer.rows + layer.vector - 1
        self.passed.append(max(entered + self.behind, whole))

    def state(self):
        """A list of all clocks of past samples that decide about the samples to come."""
        clocks = [self.forward.first, self.read.firsts[-1], self.read.fetched, self.freed[-1]]
        if self.released:
            clocks += [self.entered, self.backward.first, self.again.fetched, *self.passed[-1:]]
        return clocks

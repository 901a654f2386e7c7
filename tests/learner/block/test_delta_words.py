"""delta_words: banks taken in turn, words in time for their reader, and the bias gradients."""

import numpy as np
import pytest
from arith.adder_tree_twin import adder_tree
from clocks import Clocks
from learner.numbers import numbers
from marks import long_but

from hw.arith.arithmetic import Arithmetic
from hw.learner.block.config import BlockShape
from hw.learner.block.delta_words import DeltaWords
from hw.learner.block.layer_clocks import READ_LATENCY, bias_clocks, early_word
from hw.learner.block.layer_config import LayerConfig
from sim.model.arith.arithmetic import twin_of

ADD = Arithmetic().add_latency

#: kind, lanes, sizes and options; worked by hand: clocks from a word's arrival to the write of its
#: bias gradients, from a word to the same word of the next sample, and from a sample's first word,
#: if none is late, to when its reader may begin.
CASES = {
    "one word": ("fixed", 1, dict(outputs=2, output_word=2), dict(groups=2), 3, 3, 1),
    "three words": ("fixed", 4, dict(outputs=3), dict(banks=4), 3, 3, 3),
    "four words": ("fixed", 8, dict(inputs=3, outputs=7, output_word=2), dict(), 4, 4, 4),
    "in time": ("fixed", 1, dict(outputs=4), dict(period=1), 3, 4, 1),
    # Word 3 comes in clock 9: the reader may begin in clock 7.
    "slow": ("fixed", 2, dict(inputs=2, outputs=4), dict(period=3, reserved=True), 3, 4, 7),
    "float": ("float32", 1, dict(outputs=3), dict(reserved=True, banks=4), 2 + ADD, 2 + ADD, 3),
    "float lanes": ("float32", 4, dict(outputs=9), dict(groups=2), 3 * ADD, 3 + ADD, 9),
}
#: Each kind of pace, one lane and more; the others are longer or shorter.
QUICK = ["one word", "in time", "slow", "float", "float lanes"]
#: Samples a batch at most; gap before a word of a stream, or before a sample that is reserved; rate
#: at which the reader goes on to a word.
SAMPLES = 4
PHASES = [(0, 1), (0, 0.1), (0.7, 1), (0.4, 0.3)]


def made(case):
    kind, lanes, sizes, options, *_ = CASES[case]
    config = LayerConfig(arithmetic=Arithmetic(kind=kind), lanes=lanes, batch=SAMPLES * lanes)
    return config, BlockShape(**dict(inputs=1) | sizes), options


class Timeline:
    """Samples through a ``DeltaWords``, a reader that takes its time, and what each clock must
    show."""

    def __init__(self, case, seed):
        self.config, self.shape, options = made(case)
        self.unit = DeltaWords(self.config, self.shape, **options)
        self.groups, self.banks = options.get("groups", 1), options.get("banks", 2)
        self.period, self.reserved = options.get("period"), options.get("reserved", False)
        self.latency, self.spacing, self.ahead = CASES[case][4:]
        self.pause = max(0, self.spacing - self.shape.output_words)
        self.clocks, self.clock, self.rng = Clocks(), 0, np.random.default_rng(seed)
        self.claimed = self.released = self.began = 0
        self.arrived, self.values = [], []  # of each word
        self.fresh = []  # of each sample
        self.left, self.started = 0, False  # samples to come of this batch, and whether it started
        self.word = self.output = 0  # of inputs and of delta, that are read next
        self.memory = [*self.draw(self.shape.output_words, self.shape.output_word)]
        self.reads = []  # clock, and number of the word
        self.stalls = dict(full=0, pause=0)

    def draw(self, *shape):
        return numbers(self.config.arithmetic, "gradient", shape, self.rng)

    def play(self, samples, gap, rate, lowest=False):
        """``samples`` more, until all are read; ``lowest``: of numbers that sum up to most."""
        words, held = self.shape.output_words, None
        end, limit = self.began + samples, self.clock + samples * (words + 60) * 20
        while self.began < end or self.word or self.output:
            assert self.clock < limit, "samples must be read in time"
            if held is None and len(self.arrived) < end * words and self.comes(gap):
                held = self.draw(self.groups, self.config.lanes, self.shape.output_word)
                if lowest and self.config.arithmetic.saturates:
                    held[:] = self.config.arithmetic.gradient.low
            begun = self.claimed < end and self.rng.random() >= gap
            if self.step(held, begun, self.rng.random() < rate):
                held = None

    def comes(self, gap):
        """Whether a word is there in this clock."""
        words, arrived = self.shape.output_words, self.arrived
        if len(arrived) % words and self.period:
            return self.clock == arrived[-1] + self.period
        if not self.reserved:
            return self.rng.random() >= gap
        spaced = len(arrived) < words or self.clock >= arrived[-words] + self.spacing
        return spaced and len(arrived) < self.claimed * words

    def step(self, held, begun, goes):
        """A clock; whether the word that is ``held`` was taken."""
        clock, clocks, number = self.clock, self.clocks, len(self.arrived) % self.shape.output_words
        free = self.claimed - self.released < self.banks
        paused = bool(self.arrived) and clock <= self.arrived[-1] + self.pause
        ready = self.reserved or number > 0 or (free and not paused)
        take = held is not None and ready
        self.stalls["full"] += not free
        self.stalls["pause"] += held is not None and free and not ready
        clocks.at(clock, i__valid=held is not None, i__payload=held)
        clocks.expect(clock, i__ready=ready)
        added = clock + self.latency - self.config.arithmetic.add_latency
        clocks.at(added, bias_gradient=self.draw(self.shape.output_word))
        clocks.expect(clock + self.latency, bias_write=dict(enable=take))
        self.read(goes)
        if self.reserved:
            clocks.at(clock, begun=begun and free)
            clocks.expect(clock, room=free)
        self.claimed += (begun and free) if self.reserved else (take and number == 0)
        start = not self.left and not self.started and (take or self.rng.random() < 0.3)
        clocks.at(clock, start=start)
        self.started |= start
        if take:
            self.take(held, number)
        self.clock += 1
        return take

    def take(self, held, number):
        if number == 0:
            self.fresh.append(not self.left)
            self.left = self.left or int(self.rng.integers(1, SAMPLES + 1))
        self.arrived.append(self.clock)
        self.values.append(held)
        if number == self.shape.output_words - 1:
            self.left, self.started = self.left - 1, False
        arithmetic, words = self.config.arithmetic, self.shape.output_words
        twin, write = twin_of(arithmetic), self.clock + self.latency
        read = write - arithmetic.add_latency - READ_LATENCY
        if len(self.arrived) <= words or read > self.arrived[-words - 1] + self.latency:
            self.clocks.at(read + READ_LATENCY, bias_gradient=self.memory[number])
        # Of a first sample even -0 stays what it is.
        before = twin.zeros(()) if self.fresh[-1] else self.memory[number]
        lanes = [adder_tree(arithmetic, held[0, :, k]) for k in range(self.shape.output_word)]
        self.memory[number] = twin.add(np.array(lanes), before)
        self.clocks.expect(read, bias_address=number)
        self.clocks.expect(
            write, bias_write=dict(enable=1, address=number, value=self.memory[number])
        )

    def read(self, goes):
        """The reader takes an input word if one comes, then it reads all words of delta."""
        clock, clocks, words = self.clock, self.clocks, self.shape.output_words
        begins, last = self.word == self.output == 0, self.word == self.shape.input_words - 1
        if begins:
            needed = self.began * words + (0 if self.period else words - 1)
            there = len(self.arrived) > needed
            there = there and clock >= self.arrived[needed] + (self.ahead if self.period else 1)
            clocks.expect(clock, available=there)
            goes = goes and there
        if self.output == 0 and not goes:
            return
        self.began += begins
        ends = last and self.output == words - 1
        release = last and self.output == 0
        clocks.at(clock, output=self.output, begins=begins, release=release, ended=ends)
        clocks.expect(clock, fresh=self.fresh[self.began - 1])
        self.released += release
        self.reads.append((clock, (self.began - 1) * words + self.output))
        self.output = (self.output + 1) % words
        self.word += self.output == 0
        self.word %= self.shape.input_words

    def run(self, simulate, directory):
        for clock, number in self.reads:
            self.clocks.expect(clock + READ_LATENCY, delta=self.values[number])
        self.clocks.run(simulate, self.unit, directory)


@pytest.mark.parametrize("case", long_but(QUICK, CASES))
def test_samples(simulate, tmp_path, case):
    """A batch of the lowest numbers, then any: with pauses of the source, and of the reader."""
    timeline = Timeline(case, 1)
    timeline.play(SAMPLES, 0, 1, lowest=True)
    for gap, rate in PHASES:
        timeline.play(12, gap, rate)
    assert timeline.stalls["full"]
    assert bool(timeline.stalls["pause"]) == (timeline.pause > 0 and not timeline.reserved)
    assert 5 < sum(timeline.fresh) < len(timeline.fresh) - 5
    timeline.run(simulate, tmp_path)


@pytest.mark.parametrize("case", CASES)
def test_clocks(case):
    config, shape, options = made(case)
    latency, spacing, ahead = CASES[case][4:]
    clocks = bias_clocks(config, shape)
    assert (clocks.written, clocks.spacing) == (latency, spacing)
    period = options.get("period")
    word, clocks = early_word(shape, period)
    assert word * (period or 1) + clocks + 1 == ahead


@pytest.mark.parametrize(
    "options, message",
    [
        (dict(groups=3), r"groups must be an integer in 1\.\.2, not 3"),
        (dict(period=0), r"period must be an integer in 1\.\.65536, not 0"),
        (dict(reserved=1), "reserved must be True or False, not 1"),
        (dict(banks=1), r"banks must be an integer in 2\.\.64, not 1"),
        (dict(banks=6), "banks must be a power of two, not 6"),
    ],
)
def test_rejects(options, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        DeltaWords(LayerConfig(), BlockShape(inputs=2, outputs=2), **options)

"""delta_banks: banks taken in turn, elements to their PEs, and the bias gradients."""

import numpy as np
import pytest
from arith.adder_tree_twin import adder_tree
from clocks import Clocks
from learner.numbers import numbers

from hw.arith.arithmetic import Arithmetic
from hw.learner.chain.config import LayerConfig, LayerShape
from hw.learner.chain.delta_banks import DeltaBanks
from hw.learner.memory_ports import READ_LATENCY
from sim.model.arith.arithmetic import twin_of

ADD = Arithmetic().add_latency

#: kind, lanes, groups, trained, layer; worked by hand: clocks from a bias gradient's address to its
#: write, and pause between samples. Padded chains, a PE without an output, layers that must pause.
CASES = {
    "smallest": ("fixed", 1, 1, 1, dict(inputs=1, outputs=1), 3, 4),
    "no pause": ("fixed", 1, 2, 1, dict(inputs=1, outputs=5), 3, 0),
    "a clock of pause": ("fixed", 4, 1, 1, dict(inputs=1, outputs=4), 3, 1),
    "chain": ("fixed", 4, 2, 2, dict(inputs=6, outputs=5, length=4), 4, 1),
    "float": ("float32", 1, 2, 1, dict(inputs=1, outputs=3), 2 + ADD, 1 + ADD),
    "float lanes": (
        "float32",
        2,
        2,
        2,
        dict(inputs=6, outputs=17, length=3),
        3 * ADD,
        3 * ADD - 15,
    ),
}

#: Samples a batch at most, and gaps of the source, and rate at which banks are released.
SAMPLES = 4
PHASES = [(0, 1), (0, 0.05), (0.7, 1), (0.4, 0.2)]


def made(case):
    kind, lanes, groups, trained, shape, _, _ = CASES[case]
    batch = SAMPLES * lanes * trained
    config = LayerConfig(arithmetic=Arithmetic(kind=kind), lanes=lanes, batch=batch)
    return config, LayerShape(**shape), groups, trained


class Timeline:
    """Samples through a ``DeltaBanks``, and what every clock must show."""

    def __init__(self, case, seed):
        self.config, self.layer, self.groups, self.trained = made(case)
        self.clocks, self.clock, self.rng = Clocks(), 0, np.random.default_rng(seed)
        self.latency, self.pause = CASES[case][5:]
        self.loaded = self.released = 0
        self.output = self.resumes = 0
        self.fresh = []  # of each sample
        self.pending = True  # a start has come
        self.in_batch = 0
        garbage = self.draw(self.layer.outputs)
        self.memory, self.written = list(garbage), [-2] * self.layer.outputs
        self.stalls = dict(full=0, pause=0)

    def draw(self, *shape):
        return numbers(self.config.arithmetic, "gradient", shape, self.rng)

    def play(self, samples, gap, rate, lowest=False):
        """``samples`` more, until all are released; ``lowest``: of numbers that sum up to most."""
        end, held = self.loaded + samples, None
        limit = self.clock + samples * (self.layer.outputs + 60) * 20
        while self.released < end:
            assert self.clock < limit, "samples must be released in time"
            if held is None and self.loaded < end and self.rng.random() >= gap:
                held = self.draw(self.groups, self.config.lanes)
                if lowest and self.config.arithmetic.saturates:
                    held[:] = self.config.arithmetic.gradient.low
            if self.step(held, self.rng.random() < rate):
                held = None

    def step(self, held, release):
        """A clock; whether the element that is ``held`` was taken."""
        clock, clocks, output = self.clock, self.clocks, self.output
        room, paused = self.loaded - self.released < 2, clock < self.resumes
        available = self.loaded > self.released
        ready, release = room and not paused, available and release
        self.stalls["full"] += held is not None and not room
        self.stalls["pause"] += held is not None and room and paused
        start = self._start()
        clocks.at(clock, start=start, release=release, i__valid=held is not None)
        clocks.expect(clock, i__ready=ready, available=available, bias_address=output)
        if available:
            clocks.expect(clock, bank=self.released % 2, fresh=self.fresh[self.released])
        take = held is not None and ready
        if held is not None:
            clocks.at(clock, i__payload=held)
        self._bias(take, held)
        load, position = dict(valid=take), divmod(output, self.layer.rows)
        if take:
            load |= dict(zip(("position", "row"), position, strict=True))
            load |= dict(bank=self.loaded % 2, value=held)
            self.output = (output + 1) % self.layer.outputs
            if self.output == 0:
                self.loaded, self.resumes = self.loaded + 1, clock + 1 + self.pause
        clocks.expect(clock + 1, load=load)
        self.released += release
        self.clock += 1
        return take

    def _start(self):
        """Between two samples, before the first element or with it, perhaps more than once."""
        full = self.in_batch == SAMPLES
        start = self.output == 0 and (full or (self.loaded >= SAMPLES and self.rng.random() < 0.1))
        if start:
            self.pending, self.in_batch = True, 0
        return start or self.clock == 0

    def _bias(self, take, held):
        arithmetic, output, clocks = self.config.arithmetic, self.output, self.clocks
        clocks.at(self.clock + READ_LATENCY, bias_gradient=self.draw())
        write = dict(enable=take)
        if take:
            if output == 0:
                self.fresh.append(self.pending)
                self.in_batch, self.pending = self.in_batch + 1, False
            assert self.clock >= self.written[output] + 2, "read before it is written"
            total, before = (
                adder_tree(arithmetic, held[: self.trained].reshape(-1)),
                self.memory[output],
            )
            # Of a first sample even -0 stays what it is.
            twin = twin_of(arithmetic)
            self.memory[output] = twin.add(total, twin.zeros(()) if self.fresh[-1] else before)
            self.written[output] = self.clock + self.latency
            clocks.at(self.clock + READ_LATENCY, bias_gradient=before)
            write |= dict(address=output, value=self.memory[output])
        clocks.expect(self.clock + self.latency, bias_write=write)


@pytest.mark.parametrize("case", CASES)
def test_samples(simulate, tmp_path, case):
    """A batch of the lowest numbers, then any: with pauses of the source, and of the release."""
    timeline = Timeline(case, 1)
    timeline.play(SAMPLES, 0, 1, lowest=True)
    for gap, rate in PHASES:
        timeline.play(12, gap, rate)
    assert timeline.stalls["full"] and bool(timeline.stalls["pause"]) == (timeline.pause > 0)
    assert 5 < sum(timeline.fresh) < len(timeline.fresh) - 5
    unit = DeltaBanks(timeline.config, timeline.layer, timeline.groups, timeline.trained)
    timeline.clocks.run(simulate, unit, tmp_path)


@pytest.mark.parametrize("case", CASES)
def test_latency_and_pause(case):
    config, layer, _, trained = made(case)
    latency, pause = CASES[case][5:]
    assert DeltaBanks.latency_of(config, trained) == latency
    assert DeltaBanks.pause_of(config, layer, trained) == pause


def test_rest_of_a_bank(simulate, tmp_path):
    """Both banks full, one released: its first element is taken in the next clock, not in that."""
    config, layer = (
        LayerConfig(arithmetic=Arithmetic(kind="fixed")),
        LayerShape(inputs=1, outputs=5),
    )
    clocks = Clocks()
    for _ in range(10):
        clocks.expect(clocks.add(i__valid=1, i__payload=[[1]]), i__ready=1)
    for _ in range(3):
        clocks.expect(clocks.add(i__valid=1), i__ready=0, available=1, bank=0)
    clocks.expect(clocks.add(i__valid=1, release=1), i__ready=0, available=1, bank=0)
    clocks.expect(clocks.add(i__valid=1, release=1), i__ready=1, available=1, bank=1)
    clocks.expect(clocks.add(i__valid=1), i__ready=1, available=0)
    clocks.expect(len(clocks.inputs), load=dict(valid=1, bank=0, row=1))
    clocks.run(simulate, DeltaBanks(config, layer, 1, 1), tmp_path)

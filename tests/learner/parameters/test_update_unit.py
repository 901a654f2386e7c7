"""update_unit: the selected bank's word, through the optimizers or from an image."""

import numpy as np
import pytest
from clocks import Clocks
from later import crossed
from learner.numbers import NARROW
from nn.optimizer_cases import given

from hw.arith.arithmetic import Arithmetic
from hw.learner.chain.config import LayerConfig
from hw.learner.config import PARAMETER_SETS
from hw.learner.parameters.parameter_memory import ParameterMemoryShape
from hw.learner.parameters.update_unit import UpdateUnit, merge_stages
from hw.nn.optimizers import optimizer_of
from sim.model.nn.optimizer import update

#: optimizer, arithmetic, numbers of a word, banks, register stages of their merge. A unit of few
#: banks has the stages of the largest one.
CASES = {
    "adam": ("adam", Arithmetic(), 2, 3, 1),
    "one bank": ("sgd", Arithmetic(), 1, 1, 1),
    "two stages": ("sgd", NARROW, 4, 9, 2),
    "more stages than banks need": ("rmsprop", NARROW, 1, 2, 2),
    "fixed adam": ("adam", NARROW, 2, 8, 1),
}
#: Coefficients in the order of COEFFICIENTS; a soft target, and a copy.
STEPS = [
    (1 / 64, 0.9, 0.1, 0.999, 0.001, 0.01, 1e-3, 0.25, 0.75),
    (1, 0.5, 1, 0.9, 0.1, 0.5, 1e-6, 1, 0),
]
WORDS = 40
EACH_CASE = pytest.mark.parametrize("case", CASES)


def _timing(config):
    return optimizer_of(config.arithmetic).timing(config)


class Timeline:
    """A word a clock through an ``UpdateUnit``, and what must come of it, and when."""

    def __init__(self, case, seed):
        optimizer, arithmetic, vector, self.sources, self.stages = CASES[case]
        self.config = LayerConfig(optimizer=optimizer, arithmetic=arithmetic, batch=16)
        sums = self.config.arithmetic.gradient_sum_shape(self.config.batch)
        self.shape = ParameterMemoryShape(self.config, 4, vector, sums, dual=True)
        self.unit = UpdateUnit(self.config, self.shape, self.sources, self.stages)
        self.rng, self.clocks, self.at = np.random.default_rng(seed), Clocks(), _timing(self.config)
        self.sums = sums
        # None is selected in some clocks: those words are zeros.
        self.selected = self.rng.integers(-1, self.sources, WORDS)
        self.words = {name: self.draw(name, WORDS) for name in (*PARAMETER_SETS, "gradient")}
        for words in self.words.values():
            words[self.selected < 0] = 0

    def draw(self, name, count):
        """[count, vector] numbers of a memory."""
        rng, arithmetic, shape = self.rng, self.config.arithmetic, (count, self.shape.vector)
        if not arithmetic.saturates or name in ("first", "second"):
            usual = rng.standard_normal(shape) * np.exp2(rng.integers(-20, 3, shape))
            values = np.where(rng.random(shape) < 0.1, 0, usual).astype(np.float32)
            return np.abs(values) if name == "second" else values
        if name == "gradient":
            high = 1 << (self.sums.width - 1)
            return rng.integers(-high, high, shape) >> rng.integers(0, self.sums.width, shape)
        return rng.integers(arithmetic.weight.low, arithmetic.weight.high + 1, shape)

    def results(self, step):
        """kind -> new words; and whether each number was clipped."""
        gradient = self.words["gradient"]
        values = tuple(np.float32(value) for value in step)
        old = [self.words[kind] for kind in PARAMETER_SETS]
        new = update(self.config, values, gradient, *old)
        alone = zip(gradient.flat, *(words.flat for words in old), strict=True)
        clipped = [
            update(self.config, values, *(np.array([x]) for x in one)).saturations for one in alone
        ]
        words = dict(zip(PARAMETER_SETS, new[:4], strict=True))
        return words, np.reshape(clipped, gradient.shape)

    def drive(self, step):
        """All words, each memory's when the optimizer wants it; one bank of all has them."""
        coefficients = given(self.config, tuple(map(np.float32, step)))
        for clock in range(WORDS + self.at.latency + self.stages + 2):
            self.clocks.at(clock, coefficients=coefficients)
        for group in ("weights", "moments"):
            names = [
                name
                for name in self.shape.memories
                if (name in self.shape.WEIGHTS) == (group == "weights")
            ]
            for k in range(WORDS):
                clock = k + (self.at.weights if group == "weights" else 0)
                select = 1 << self.selected[k] if self.selected[k] >= 0 else 0
                self.clocks.at(clock, **{f"{group}_select": select})
                for name in names:
                    others = self.draw(name, self.sources)
                    if select:
                        others[self.selected[k]] = self.words[name][k]
                    banks = {f"{name}_i__{bank}": word for bank, word in enumerate(others)}
                    self.clocks.at(clock, **banks)

    def entered(self, name, clock):
        """Number of the word that is selected in this clock, or None."""
        k = clock - (self.at.weights if name in self.shape.WEIGHTS else 0)
        return k if 0 <= k < WORDS else None

    def watch_image(self):
        """Words as they stand in an image: weights extended by their sign."""
        for clock in range(self.stages, WORDS + self.at.weights + self.stages):
            kind = int(self.rng.integers(len(PARAMETER_SETS)))
            self.clocks.at(clock, parameter_set=kind)
            name, word = PARAMETER_SETS[kind], [0] * self.shape.vector
            k = self.entered(name, clock - self.stages)
            if k is not None and name in self.shape.sets:
                word = self.words[name][k]
            self.clocks.expect(clock, image_o=image(word))

    def watch_results(self, results, clipped, loads):
        """New words, less their padding; or of an image, in a share ``loads`` of the clocks."""
        rng, vector = self.rng, self.shape.vector
        for clock in range(WORDS + self.stages + self.at.latency):
            updating = rng.random() >= loads
            loaded = {kind: self.draw(kind, 1)[0] for kind in self.shape.sets}
            # One image is loaded at a time: of weights, or of moments.
            kind = self.shape.sets[rng.integers(len(self.shape.sets))]
            self.clocks.at(clock, updating=updating, image_i=image(loaded[kind]))
            for group, wait in (("weights", self.at.latency), ("moments", self.at.moments)):
                columns = int(rng.integers(1 << vector))
                self.clocks.at(clock, **{f"{group}_columns": columns})
                k = clock - self.stages - wait
                for name in self.shape.sets:
                    if (name in self.shape.WEIGHTS) != (group == "weights"):
                        continue
                    if updating and 0 <= k < WORDS:
                        word = results[name][k]
                    elif not updating and name == kind:
                        word = loaded[kind]
                    else:
                        continue
                    shown = [x if columns >> lane & 1 else 0 for lane, x in enumerate(word)]
                    self.clocks.expect(clock + 1, **{f"{name}_o": shown})
                if group == "weights" and 0 <= k < WORDS:
                    self._count(clock, columns, clipped[k])

    def _count(self, clock, columns, clipped):
        """Of a PE's output all numbers but padding, of a bias the first; else none."""
        counts, bias = ((1, 0), (0, 1), (0, 0))[self.rng.integers(3)]
        self.clocks.at(clock, counts=counts, bias_counts=bias)
        counted = [x for lane, x in enumerate(clipped) if columns >> lane & 1] if counts else []
        counted = clipped[:1] if bias else counted
        self.clocks.expect(clock + 1, saturations=sum(counted))


def image(word):
    """Numbers of 32 bits side by side."""
    raw = word.view(np.uint32) if getattr(word, "dtype", None) == np.float32 else word
    return sum((int(x) & 0xFFFFFFFF) << 32 * lane for lane, x in enumerate(raw))


@pytest.mark.parametrize(
    "case, step", crossed(list(CASES), dict(zip(("soft", "copy"), STEPS, strict=True)))
)
def test_updates(simulate, tmp_path, case, step):
    timeline = Timeline(case, 1)
    timeline.drive(step)
    results, clipped = timeline.results(step)
    assert not timeline.config.arithmetic.saturates or step is STEPS[0] or clipped.any()
    timeline.watch_image()
    timeline.watch_results(results, clipped, loads=0)
    timeline.clocks.run(simulate, timeline.unit, tmp_path)


@pytest.mark.parametrize("case", ["adam", "two stages", "fixed adam"])
def test_loads(simulate, tmp_path, case):
    """Words of an image, with updates between them."""
    timeline = Timeline(case, 2)
    timeline.drive(STEPS[0])
    timeline.watch_results(*timeline.results(STEPS[0]), loads=0.7)
    timeline.clocks.run(simulate, timeline.unit, tmp_path)


@pytest.mark.parametrize(
    "count, stages", [(1, 1), (2, 1), (8, 1), (9, 2), (64, 2), (65, 3), (512, 3), (513, 4)]
)
def test_merge_stages(count, stages):
    assert merge_stages(count) == stages

"""hw.nn.td_loss: TD error, gradient, loss and their sums, against the formulas in float32."""

import numpy as np
import pytest
from arith.float32_cases import CORNERS, bits, floats
from arith.free_running import FreeRunning, check
from clocks import Clocks
from later import later

from hw.arith.arithmetic import Arithmetic
from hw.arith.fixed_point import DualPrecision
from hw.nn.td_loss import TdLoss, is_finite
from sim.model.arith import float32
from sim.model.nn.batch_sum import batch_sum

FLOAT, FIXED, DUAL = Arithmetic(), Arithmetic(kind="fixed"), DualPrecision()
ALL = pytest.mark.parametrize(
    "arithmetic", [FLOAT, FIXED, later(DUAL)], ids=["float32", "fixed", "dual"]
)
MULTIPLY, ADD = FLOAT.multiply_latency, FLOAT.add_latency
NAMES = "q", "bootstrap", "value", "weight", "reward", "discount"
ACTIVATIONS = NAMES[:3]
MAGNITUDE = np.uint32(0x7FFFFFFF)
INFINITY, NAN = np.float32(np.inf), np.float32(np.nan)


def formulas(q, bootstrap, weight, reward, discount, inverse, clip, multiply, add, shift=0):
    """``(td, gradient, loss)``; a NaN is beyond every limit."""
    td = add(q, -add(reward, multiply(discount, bootstrap)))
    w = multiply(weight, inverse)
    beyond = (bits(td) & MAGNITUDE) > (bits([clip]) & MAGNITUDE)
    clipped = np.where(beyond, np.copysign(clip, td), td)
    excess = add(td, -multiply(np.float32(0.5), clipped))
    gradient = multiply(clipped, multiply(w, np.float32(2.0**-shift)))
    return td, gradient, multiply(multiply(clipped, excess), w)


def quantized(target, x):
    """``(raw, saturated)`` of float32 ``x``: half up, clipped; nothing of a NaN."""
    with np.errstate(invalid="ignore"):
        exact = np.floor(np.where(np.isnan(x), 0, x).astype(np.float64) * 2**target.fraction + 0.5)
    raw = np.clip(exact, target.low, target.high)
    return raw.astype(np.int64), (raw != exact) | np.isnan(x)


class Timeline:
    """Batches of samples through a ``TdLoss`` or another ``kind`` of loss, and what every clock
    must show."""

    def __init__(self, arithmetic, seed=1, kind=TdLoss):
        self.arithmetic, self.rng = arithmetic, np.random.default_rng(seed)
        self.unit, self.clocks, self.clock = kind(arithmetic), Clocks(), 0
        self.leaves = {name: {} for name in ("td", "gradient", "done", "folded")}

    def batch(self, samples, inverse, clip, gaps, multiply=float32.multiply, add=float32.add):
        """``samples``: name -> numbers, as float32; ``gaps`` [n] clocks between two of them."""
        wide = dict(samples)
        if self.arithmetic.saturates:
            for name in ACTIVATIONS:
                raw, _ = quantized(self.arithmetic.activation, samples[name])
                samples = {**samples, name: raw}
                wide[name] = (raw / 2**self.arithmetic.activation.fraction).astype(np.float32)
        operands = (wide[name] for name in NAMES if name != "value")
        td, gradient, loss = formulas(*operands, inverse, clip, multiply, add)
        saturated = np.zeros(len(td), bool)
        if self.arithmetic.saturates:
            gradient, saturated = quantized(self.arithmetic.gradient, gradient)

        unit, start = self.unit, self.clock
        sums = dict(loss_sum=loss, td_sum=np.abs(td), value_sum=wide["value"])
        sums = {name: batch_sum(terms) for name, terms in sums.items()}
        self.clocks.at(start, clear=1)
        clock = start + 1
        for k, gap in enumerate(gaps):
            self.clocks.at(clock, i=dict(valid=1, **{name: samples[name][k] for name in NAMES}))
            for other in range(clock + 1, clock + gap):
                self.clocks.at(other, i=dict(valid=0, q=1, reward=0x7F800000, weight=0x7FC00000))
            self.leaves["td"][clock + unit.td_latency] = dict(value=td[k])
            self.leaves["gradient"][clock + unit.gradient_latency] = dict(
                value=gradient[k], saturated=saturated[k]
            )
            done = clock + unit.latency
            self.leaves["done"][done] = 1
            clock += gap
        self.clocks.at(done, fold=1)
        self.leaves["folded"][done + unit.FOLD_LATENCY] = 1
        self.clocks.expect(done + unit.FOLD_LATENCY, **sums)
        self.clock = done + unit.FOLD_LATENCY + 3
        self.clocks.expect(self.clock, **sums)
        for clock in range(start, self.clock):
            self.clocks.at(clock, inverse=inverse, clip=clip)

    def run(self, simulate, directory):
        for clock in range(self.clock):
            for name in ("td", "gradient"):
                left = self.leaves[name].get(clock)
                shown = dict(valid=0) if left is None else dict(valid=1, **left)
                self.clocks.expect(clock, **{name: shown})
            self.clocks.expect(
                clock, **{name: clock in self.leaves[name] for name in ("done", "folded")}
            )
        self.clocks.run(simulate, self.unit, directory)


def of_rows(rows):
    """Samples from rows in the order of ``NAMES``."""
    columns = np.array(rows, np.float32).T
    return dict(zip(NAMES, columns, strict=True))


#: q, bootstrap, value, weight, reward, discount; clip, td, gradient, loss: worked by hand.
STATED = [
    ((5, 2, 1, 1, 0, 1), 0.5, 3, 0.5, 1.375),  # beyond the clip the loss is a line
    ((-1, 2, 1, 1, 0, 1), 0.5, -3, -0.5, 1.375),
    ((5, 2, 1, 1, 0, 1), INFINITY, 3, 3, 4.5),
    ((2.5, 2, 0, 1, 0, 1), 0.5, 0.5, 0.5, 0.125),  # at the clip
    ((1.5, 2, 0, 1, 0, 1), 0.5, -0.5, -0.5, 0.125),
    ((2, 2, 1, 1, 0, 1), 0.5, 0, 0, 0),
    ((3, 100, 0, 0.25, 1, 0), 8, 2, 0.5, 0.5),  # a terminal step has no bootstrap
    ((1, 2, 1, 0.5, 1, 0.5), 8, -1, -0.5, 0.25),
    ((3, 1, 1, 1, 0, 1), 0, 2, 0, 0),
]
#: Float alone: what has diverged.
WILD = [
    ((INFINITY, 0, 0, 1, 0, 1), 0.5, INFINITY, 0.5, INFINITY),
    ((0, INFINITY, 0, 1, 0, 1), 0.5, -INFINITY, -0.5, INFINITY),
    ((0, INFINITY, 0, 1, 0, 0), 0.5, NAN, 0.5, NAN),
    ((NAN, 0, 0, 1, 0, 1), INFINITY, NAN, INFINITY, NAN),
]


@ALL
def test_stated_cases(simulate, tmp_path, arithmetic):
    """A batch of each; the reference of the other tests has the same results."""
    timeline = Timeline(arithmetic)
    for row, clip, td, gradient, loss in STATED + WILD * (not arithmetic.saturates):
        samples = of_rows([row])
        operands = (samples[name] for name in NAMES if name != "value")
        result = formulas(*operands, np.float32(1), np.float32(clip), float32.multiply, float32.add)
        np.testing.assert_array_equal(np.concatenate(result), [td, gradient, loss])
        timeline.batch(samples, np.float32(1), np.float32(clip), [1])
    timeline.run(simulate, tmp_path)


def ordinary(rng, count):
    """Neither subnormal nor so large that a product overflows."""
    samples = {name: rng.normal(scale=2, size=count).astype(np.float32) for name in NAMES}
    samples["weight"] = np.abs(samples["weight"]) + np.float32(0.05)
    samples["discount"] = np.where(rng.random(count) < 0.2, 0, 0.99).astype(np.float32)
    return samples


@ALL
def test_random(simulate, tmp_path, arithmetic):
    """NumPy's own float32: a sample a clock, at any distance, one at a time."""
    timeline = Timeline(arithmetic)
    rng, alone = timeline.rng, timeline.unit.latency + 1
    for gaps, inverse, clip in (
        ([1] * 60, 0.7, 1),
        (rng.integers(1, 20, 30), 1.3, np.inf),
        ([alone] * 5, 1, 0.25),
    ):
        samples = ordinary(rng, len(gaps))
        timeline.batch(samples, np.float32(inverse), np.float32(clip), gaps, np.multiply, np.add)
    timeline.run(simulate, tmp_path)


@ALL
def test_corners(simulate, tmp_path, arithmetic):
    """Limits of float32, subnormals, infinities and NaNs among the numbers; gradients clipped."""
    timeline = Timeline(arithmetic, 2)
    rng, count = timeline.rng, 40
    for share in (0.03, 0.2, 0.6):
        samples = ordinary(rng, count)
        for name, numbers in samples.items():
            wild = floats(rng.choice(CORNERS, count))
            samples[name] = np.where(rng.random(count) < share, wild, numbers)
        samples["weight"][::7] = 4 << arithmetic.gradient.integer
        timeline.batch(samples, np.float32(0.9), np.float32(1), [1] * count)
    saturated = sum(left["saturated"] for left in timeline.leaves["gradient"].values())
    assert not arithmetic.saturates or saturated > 10
    timeline.run(simulate, tmp_path)


@ALL
def test_latencies(arithmetic):
    """Worked by hand from the formulas."""
    unit = TdLoss(arithmetic)
    converted, quantize = {"float32": (0, 0)}.get(arithmetic.kind, (4, 3))
    assert unit.td_latency == converted + MULTIPLY + 2 * ADD
    assert unit.gradient_latency == unit.td_latency + 1 + MULTIPLY + quantize
    # Clip; half, excess, square, loss; the sum, its operands and its register.
    assert unit.latency == unit.td_latency + 1 + MULTIPLY + ADD + 2 * MULTIPLY + 1 + ADD + 1


def test_is_finite(simulate, tmp_path):
    unit = FreeRunning({"x": 32}, {"finite": 1}, lambda m, i: {"finite": is_finite(i["x"])})
    finite = np.isfinite(floats(CORNERS))
    assert 0 < finite.sum() < len(finite)
    check(simulate, tmp_path, unit, {"x": CORNERS}, {"finite": finite}, {"finite": 0})

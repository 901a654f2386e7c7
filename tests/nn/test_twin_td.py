"""hw.nn.twin_td: TD errors, gradients, losses of two critics and their sums, and the actor's loss,
against the formulas in float32."""

import numpy as np
import pytest
from arith.float32_cases import CORNERS, floats
from clocks import Clocks
from later import later
from nn.test_td_loss import ADD, FIXED, FLOAT, MULTIPLY, formulas, ordinary, quantized

from hw.nn.td_loss import TdLoss
from hw.nn.twin_td import ClimbLoss, TwinTd
from sim.model.arith import float32
from sim.model.arith.arithmetic import twin_of
from sim.model.nn.batch_sum import batch_sum
from sim.model.nn.losses import twin_td

NUMBERS = "q", "bootstrap", "q_2", "bootstrap_2"
ALL = pytest.mark.parametrize("arithmetic", [FLOAT, FIXED], ids=["float32", "fixed"])


def samples_of(rng, count, wild=0.0):
    one, two = ordinary(rng, count), ordinary(rng, count)
    found = {name: one[name] for name in (*NUMBERS[:2], "weight", "reward", "discount")}
    found |= {"q_2": two["q"], "bootstrap_2": two["bootstrap"]}
    found["q_2"][::5] = found["q"][::5]  # errors of one magnitude, with one sign or two
    found["q_2"][1::5] = -found["q"][1::5]
    found["reward"][1::5] = found["discount"][1::5] = 0
    for name in found:
        corner = floats(rng.choice(CORNERS, count))
        found[name] = np.where(rng.random(count) < wild, corner, found[name])
    # Activations have one NaN and no subnormals.
    return found | {name: float32.flush(found[name]) for name in NUMBERS}


def expected(arithmetic, samples, inverse, clip, shifts):
    """``(activations, td, gradients, saturated, loss)``."""
    wide, raw = dict(samples), dict(samples)
    if arithmetic.saturates:
        for name in NUMBERS:
            raw[name], _ = quantized(arithmetic.activation, samples[name])
            wide[name] = (raw[name] / 2**arithmetic.activation.fraction).astype(np.float32)
    keys = [twin_of(arithmetic).order_key(raw[name]) for name in ("bootstrap", "bootstrap_2")]
    smaller = np.where(keys[1] < keys[0], wide["bootstrap_2"], wide["bootstrap"])
    rows = [
        formulas(
            wide[name], smaller, *(wide[n] for n in ("weight", "reward", "discount")), inverse,
            clip, float32.multiply, float32.add, shift,
        )
        for name, shift in zip(("q", "q_2"), shifts, strict=True)
    ]  # fmt: skip
    (one, a, loss), (two, b, loss_2) = rows
    sizes = [each.view(np.uint32) & 0x7FFF_FFFF for each in (one, two)]
    td = np.where(sizes[1] > sizes[0], two, one)
    gradients, saturated = [a, b], [np.zeros(len(a), bool)] * 2
    if arithmetic.saturates:
        gradients, saturated = zip(
            *(quantized(arithmetic.gradient, each) for each in (a, b)), strict=True
        )
    scalars = {name: samples[name] for name in ("weight", "reward", "discount")}
    twin = twin_td([wide["q"], wide["q_2"]], smaller, scalars, inverse, clip, shifts)
    np.testing.assert_array_equal(twin[0].view(np.uint32), td.view(np.uint32))
    np.testing.assert_array_equal(twin[1], [a, b])
    return raw, td, gradients, saturated, float32.add(loss, loss_2)


@ALL
@pytest.mark.parametrize(
    "wild, shifts", [(0.0, (-3, 1)), (0.3, (8, -8)), later(0.3, (0, 0)), later(0.3, (-1, 8))]
)
def test_matches_the_formulas(simulate, tmp_path, arithmetic, wild, shifts):
    rng, unit, clocks = np.random.default_rng(4), TwinTd(arithmetic), Clocks()
    inverse, clip, clock, over = np.float32(0.7), np.float32(1), 1, 0
    shows = {name: {} for name in ("td", "gradient", "done", "folded")}
    clocks.at(0, clear=1)
    samples = samples_of(rng, 50, wild)
    samples["weight"][::7] = 4 << arithmetic.gradient.integer
    raw, td, gradients, saturated, loss = expected(arithmetic, samples, inverse, clip, shifts)
    for k in range(50):
        clocks.at(clock, i=dict(valid=1, **{name: x[k] for name, x in raw.items()}))
        shows["td"][clock + unit.td_latency] = dict(valid=1, value=td[k])
        shows["gradient"][clock + unit.gradient_latency] = dict(
            valid=1,
            value=[each[k] for each in gradients],
            saturated=sum(int(each[k]) << n for n, each in enumerate(saturated)),
        )
        over += sum(int(each[k]) for each in saturated)
        shows["done"][clock + unit.latency] = 1
        last = clock + unit.latency
        clock += 1 if k < 30 else int(rng.integers(1, 4))
    clocks.at(last, fold=1)
    shows["folded"][last + unit.FOLD_LATENCY] = 1
    for each in range(last + unit.FOLD_LATENCY + 1):
        clocks.at(each, inverse=inverse, clip=clip, shift=shifts)
        clocks.expect(each, **{name: of.get(each, _nothing(name)) for name, of in shows.items()})
    sums = dict(loss_sum=batch_sum(loss), td_sum=batch_sum(np.abs(td)), value_sum=0)
    clocks.expect(last + unit.FOLD_LATENCY, **sums)
    assert bool(over) == arithmetic.saturates
    clocks.run(simulate, unit, tmp_path)


def _nothing(name):
    return dict(valid=0) if name in ("td", "gradient") else 0


@ALL
def test_climb(simulate, tmp_path, arithmetic):
    """Every gradient is -1, shifted by any number of places, in the clock of its sample; values are
    added up."""
    rng, unit, clocks = np.random.default_rng(5), ClimbLoss(arithmetic), Clocks()
    values = wide = rng.normal(size=20).astype(np.float32)
    shifts = rng.permutation(np.arange(-8, 9))
    errors, over = np.float32(-(2.0**-shifts)), np.zeros(len(shifts), bool)
    if arithmetic.saturates:
        values, _ = quantized(arithmetic.activation, values)
        wide = (values / 2**arithmetic.activation.fraction).astype(np.float32)
        errors, over = quantized(arithmetic.gradient, errors)
        assert over.sum() == 5  # 8 is the largest of the format
    clocks.at(0, clear=1)
    comes = {1 + k + (k > 9) * 3: value for k, value in enumerate(values)}
    for clock in range(1, 30):
        valid = int(clock in comes)
        turn = clock % len(shifts)
        clocks.at(clock, i=dict(valid=valid, value=comes.get(clock, 7)), shift=[shifts[turn]])
        error = dict(value=errors[turn], saturated=int(over[turn]))
        gradient = dict(valid=valid) | (error if valid else {})
        clocks.expect(clock, gradient=gradient)
        clocks.expect(clock + unit.latency, done=valid)
    last = max(comes) + unit.latency
    clocks.at(last, fold=1)
    clocks.expect(last + unit.FOLD_LATENCY, folded=1, value_sum=batch_sum(wide), loss_sum=0)
    clocks.run(simulate, unit, tmp_path)


@ALL
def test_latencies(arithmetic):
    """Worked by hand: those of one critic, and a clock for each choice between two."""
    unit, alone = TwinTd(arithmetic), TdLoss(arithmetic)
    quantize = 3 if arithmetic.saturates else 0
    assert unit.td_latency == alone.td_latency + 2
    assert unit.gradient_latency == alone.td_latency + 1 + 1 + MULTIPLY + quantize
    assert unit.latency == alone.latency + 1 + ADD

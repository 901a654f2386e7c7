"""hw.gae.array.estimator against its twin, and the twin against sums that others wrote down."""

import json

import numpy as np
import pytest
from gae.array.estimator_cases import (
    BOOTSTRAP,
    NONE,
    STEP,
    TERMINAL,
    Script,
    any_slots,
    legal_slots,
    ordinary,
    wild,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from later import later

from bench.gae.estimator import measure
from hw.gae.array.estimator import Estimator
from hw.gae.config import GaeConfig
from sim.model.gae.array.estimator import Estimator as Twin

WIDTHS = [(8, 8), (8, 32), (16, 8), (16, 16), (32, 16), (32, 32)]


def run(simulate, tmp_path, script, **options):
    file = tmp_path / "script.json"
    file.write_text(json.dumps(script.steps))
    unit = Estimator(script.config)
    simulate(unit, "gae.array.estimator_bench", name="estimator", script=str(file), **options)


def random_script(config, seed):
    """Every fill from 0 on, two more stacks of each number of slots that the memory can hold."""
    rng, script = np.random.default_rng(seed), Script(config)
    for fill in [*range(config.depth + 2), config.depth, config.depth + 1]:
        for slots, numbers in ((legal_slots, ordinary), (any_slots, wild)):
            kinds, rewards, values = slots(config, rng, fill)
            if not rng.integers(0, 4):
                # A PUSH that failed, and what was pushed instead.
                kept = int(rng.integers(0, fill + 1))
                script.push(*(part[:kept] for part in (kinds, rewards, values)))
                script.push(*(part[kept:] for part in any_slots(config, rng, fill)))
                script.rewind(kept)
                script.push(*(part[kept:] for part in (kinds, rewards, values)))
            else:
                script.push(kinds, rewards, values)
            script.estimate(numbers(config, rng))
            count = fill if rng.random() < 0.7 else int(rng.integers(0, fill + 1))
            script.pull(count, gap=float(rng.choice([0, 0.5])))
            script.pull(fill)
            # Once in a while the counters go on.
            script.clear() if rng.random() < 0.8 else script.rewind(0)
    if config.code_width < 32:
        _ends(script, config)
    return script


def _ends(script, config):
    """Results that are exactly the largest and the lowest, and one beyond."""
    one, limit = np.ones((1, config.rows), np.int64), config.result_limit
    for result in (limit, limit + 1, -limit, -limit - 1):
        script.clear()
        script.push(one * TERMINAL, one * 0, one * 0)
        mean = result << config.result_shift
        script.estimate(dict(gamma=0, decay=0, decay_power=0, reward_mean=mean))
        script.pull(1)


@pytest.mark.parametrize(
    "code_width, result_width, lookahead",
    [
        # Every width of codes and of results and every lookahead in `make test`, every combination
        # of them in the long tests.
        pytest.param(
            *widths, k, marks=[pytest.mark.long] * ((number + k) % 3 != 0 or number in (1, 3))
        )
        for number, widths in enumerate(WIDTHS)
        for k in (1, 2, 3)
    ],
)
@pytest.mark.parametrize("depth", [6, later(16)])
def test_any_stack(simulate, tmp_path, lookahead, code_width, result_width, depth):
    config = GaeConfig(
        rows=3, depth=depth, lookahead=lookahead, code_width=code_width, result_width=result_width
    )
    script = random_script(config, seed=lookahead)
    counts = [step["counts"] for step in script.steps if step["step"] == "estimate"]
    # What the script is for does happen; a word of 35 bits holds every sum of 32-bit words.
    assert any(count["overflows"] for count in counts) or code_width == 32
    assert any(count["saturated"] for count in counts) or result_width == 32
    run(simulate, tmp_path, script)


@pytest.mark.parametrize(
    "config",
    [
        dict(rows=1, depth=2, lookahead=3),
        later(dict(rows=1, depth=3, lookahead=2)),
        dict(rows=7, depth=5, lookahead=1),
    ],
    ids=str,
)
def test_small_and_odd(simulate, tmp_path, config):
    run(simulate, tmp_path, random_script(GaeConfig(**config), seed=9))


@pytest.mark.long
def test_heppos_array():
    """64 rows of 1024 steps and their bootstraps: the twin's bytes, in at most 1024 + 64 clocks."""
    config = GaeConfig()
    kinds, _, _ = legal_slots(config, np.random.default_rng(5), 1025, mean_length=100)
    kinds[:1024, :9], kinds[1024, :9] = STEP, BOOTSTRAP
    clocks, steps, _, _ = measure(config, kinds)
    assert clocks == Estimator.cycles_of(config, 1025) <= 1024 + 64
    assert steps == np.isin(kinds, (STEP, TERMINAL)).sum()


# -- the twin against what others wrote

BITS = 12  # of a word below 1


def estimated(config, kinds, rewards, values, gamma, trace):
    """Advantages and rewards-to-go of the twin in float64, and the numbers that it worked on.

    Rewards and values are codes, in units of 1/8; results are exact, of config's 32 bits.
    """
    coefficient = config.coefficient
    raw = [round(x * 2**coefficient.fraction) for x in (gamma, gamma * trace,
           (gamma * trace) ** config.lookahead)]  # fmt: skip
    twin = Twin(config)
    twin.push(kinds, rewards, values)
    numbers = dict(gamma=raw[0], decay=raw[1], decay_power=raw[2])
    if config.code_width < 32:
        scale = 1 << (BITS - 3 + config.scale.fraction)
        numbers |= dict(reward_scale=scale, value_scale=scale)
    twin.estimate(**numbers)
    assert not twin.overflows and not twin.saturated
    assert twin.busy == np.isin(kinds, [STEP, TERMINAL]).sum()
    unit = 2.0 ** -(BITS if config.code_width < 32 else 3)
    return [unit * result for result in twin.pull(len(kinds))]


def bound(config, gamma, trace, slots, largest):
    """Largest error of an advantage of deltas up to ``largest``, from words and coefficients.

    Every blend rounds to half a word: delta, k - 1 sums and the loop, of errors that decay; every
    coefficient to half its resolution, of a number that it multiplies.
    """
    decay, unit = gamma * trace, 2.0 ** -(BITS if config.code_width < 32 else 3)
    terms = sum(decay**n for n in range(slots))
    advantage = largest * terms
    coefficient = config.coefficient.resolution / 2
    each = (config.lookahead + 1) * (unit / 2 + coefficient * (largest + advantage))
    # A coefficient is up to ``coefficient`` above its own number, so that errors decay slower.
    return each * sum((decay + coefficient) ** n for n in range(slots))


@pytest.mark.parametrize("lookahead", [1, 2, 3])
@pytest.mark.parametrize("code_width", [8, 16, 32])
@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 1 << 32), gamma=st.floats(0, 1), trace=st.floats(0, 1))
def test_sum_over_the_future(lookahead, code_width, seed, gamma, trace):
    """HEPPO, equations 2 to 4: A_t = sum over l of (gamma * lambda)**l * delta_(t + l)."""
    config = GaeConfig(
        rows=5, depth=40, lookahead=lookahead, code_width=code_width, result_width=32
    )
    rng = np.random.default_rng(seed)
    kinds, rewards, values = legal_slots(config, rng, 41)
    rewards, values = rewards % 128 - 64, values % 128 - 64
    advantages, returns = estimated(config, kinds, rewards, values, gamma, trace)
    want = np.zeros(kinds.shape)
    for t, row in np.argwhere(np.isin(kinds, [STEP, TERMINAL])):
        for ahead in range(41 - t):
            now, kind = t + ahead, kinds[t + ahead, row]
            after = gamma * values[now + 1, row] if kind == STEP else 0
            delta = (rewards[now, row] + after - values[now, row]) / 8
            want[t, row] += (gamma * trace) ** ahead * delta
            if kind == TERMINAL or kinds[now + 1, row] == BOOTSTRAP:
                break
    limit = bound(config, gamma, trace, 41, largest=24)
    assert np.abs(advantages - want).max() <= limit
    active = np.isin(kinds, [STEP, TERMINAL])
    np.testing.assert_array_equal(returns, np.where(active, advantages + values / 8, 0))


@pytest.mark.long
@pytest.mark.parametrize("lookahead", [1, 2, 3])
def test_stable_baselines(lookahead):
    """RolloutBuffer.compute_returns_and_advantage, where the episodes terminate or go on."""
    import torch
    from gymnasium import spaces
    from stable_baselines3.common import buffers

    gamma, trace, steps, rows = 0.99, 0.95, 200, 8
    config = GaeConfig(rows=rows, depth=steps, lookahead=lookahead, code_width=16, result_width=32)
    rng = np.random.default_rng(3)
    rewards, values = rng.integers(-64, 64, (2, steps + 1, rows))
    ends = rng.random((steps, rows)) < 0.05
    kinds = np.where(ends, TERMINAL, STEP)
    kinds = np.vstack([kinds, np.where(ends[-1], NONE, BOOTSTRAP)])
    space = spaces.Box(-1, 1, (1,))
    buffer = buffers.RolloutBuffer(
        steps, space, space, device="cpu", gae_lambda=trace, gamma=gamma, n_envs=rows
    )
    starts = np.vstack([np.zeros((1, rows)), ends[:-1]])
    for t in range(steps):
        buffer.add(
            np.zeros((rows, 1)), np.zeros((rows, 1)), rewards[t] / 8, starts[t],
            torch.tensor(values[t] / 8), torch.zeros(rows),
        )  # fmt: skip
    buffer.compute_returns_and_advantage(torch.tensor(values[-1] / 8), ends[-1])
    advantages, returns = estimated(config, kinds, rewards, values, gamma, trace)
    limit = bound(config, gamma, trace, steps, largest=24) + 1e-4  # theirs are binary32
    assert np.abs(advantages[:-1] - buffer.advantages).max() <= limit < 0.25
    assert np.abs(returns[:-1] - buffer.returns).max() <= limit


def test_an_estimate_is_rounded_and_clipped():
    """Results of 8 bits: half up to 2**result_shift, then to +-127."""
    config = GaeConfig(rows=4, depth=2)
    half = 1 << config.result_shift >> 1
    twin = Twin(config)
    twin.push(*np.zeros((2, 1, 4), np.int64) + [[[TERMINAL]], [[0]]], np.zeros((1, 4), np.int64))
    wanted = {0: 0, half - 1: 0, half: 1, -half: 0, -half - 1: -1}
    for reward, result in wanted.items():
        twin.estimate(gamma=0, decay=0, decay_power=0, reward_mean=reward)
        assert (twin.pull(1)[0] == result).all() and not twin.saturated
        twin.rewind(0)
        twin.push([[TERMINAL] * 4], [[0] * 4], [[0] * 4])
    for sign in (1, -1):
        twin.clear()
        twin.push([[TERMINAL] * 4], [[0] * 4], [[0] * 4])
        twin.estimate(gamma=0, decay=0, decay_power=0, reward_mean=sign << 25)
        assert (twin.pull(1)[0] == sign * 127).all() and twin.saturated == 1

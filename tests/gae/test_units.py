"""Units of words and codes (host.advantages.standardization): every sum fits, and none is given
away."""

import numpy as np
import pytest
from gae.gae_programs import kernel_config
from gae.reference import rollout
from replay.kernels import opened

from host.advantages import estimator as gae
from host.advantages import standardization
from host.advantages.estimator import AdvantageEstimator
from host.advantages.standardization import Codes, Standardization, words
from hw.errors import Failure

WORDS = kernel_config(rows=8, depth=64, code_width=32, result_width=32).gae
CODES = kernel_config(rows=8, depth=64, code_width=8, result_width=32)


def worst(reward, value, gamma, gae_lambda, steps):
    """Largest advantage of such rewards and values; the return has a value more."""
    deltas = reward + (1 + gamma) * value
    return sum(deltas * (gamma * gae_lambda) ** k for k in range(steps)) + value


@pytest.mark.parametrize("gamma, gae_lambda", [(1, 1), (0.99, 0.95), (0.5, 1), (0.9, 0.0)])
@pytest.mark.parametrize("reward, value", [(1, 1), (0.01, 30), (1e-6, 5e-6), (7e5, 1)])
@pytest.mark.parametrize("steps", [1, 60])
def test_the_unit_is_the_finest_with_which_all_sums_fit(gamma, gae_lambda, reward, value, steps):
    """To a bit, or two where the horizon of ``decay`` is a little longer than the rollout's."""
    codes = (Codes(0, 0.0, 1.0, 1.0, 0.0, limit) for limit in (reward, value))
    options = dict(gamma=gamma, gae_lambda=gae_lambda, steps=steps, peak=None)
    unit, *_ = words(WORDS, *codes, **options)
    most = worst(reward, value, gamma, gae_lambda, steps) * 2.0**unit
    limit = min(WORDS.word.high, WORDS.result_limit << WORDS.result_shift)
    assert most <= limit
    fits = max(reward, value) * 2.0 ** (unit + 2) <= WORDS.code_limit
    assert not fits or 5 * most > limit


@pytest.mark.parametrize("code_width", [8, 16])
@pytest.mark.parametrize("result_width", [8, 16])
def test_results_of_few_bits_are_the_highest_but_eleven(code_width, result_width):
    """A sum over 1024 steps of the largest results, with a sign, fits a word: no bit is spare."""
    config = kernel_config(rows=8, depth=64, code_width=code_width, result_width=result_width).gae
    assert config.word.high + 1 == 2 * 1024 * (config.result_limit + 1) << config.result_shift


@pytest.mark.parametrize(
    "gain, found",
    [
        (1.0, (0.5, 1)),
        (0.75, (0.75, 0)),
        (1 - 2.0**-50, (0.5, 1)),  # rounded up to the next power of two
    ],
)
def test_factors_of_a_gain(gain, found):
    mantissa, exponent = found
    width = standardization.FACTOR_WIDTH
    factor, shift = standardization._fraction(gain)
    assert (factor, shift) == (int(mantissa * 2**width), width - exponent)
    assert factor < 1 << width


def test_a_gain_too_small_for_its_shift_loses_places():
    """``factor 2**-shift`` stays what it was, as far as a shift of its limit can say it."""
    gain = 0.75 * 2.0 ** -(standardization.SHIFT_LIMIT - standardization.FACTOR_WIDTH + 3)
    factor, shift = standardization._fraction(gain)
    assert shift == standardization.SHIFT_LIMIT and factor * 2.0**-shift == gain
    words = rf"^gain must be below 2\*\*{standardization.FACTOR_WIDTH - 1}, not "
    with pytest.raises(ValueError, match=words):
        standardization._fraction(2.0**standardization.FACTOR_WIDTH)


@pytest.mark.parametrize("value", [True, 0, -1.0, 1000, "4", None, float("nan")])
def test_deviations_are_positive(value):
    with pytest.raises(ValueError, match="^deviations must be positive and below 1000, not "):
        Standardization(deviations=value)
    assert Standardization(deviations=999.5).deviations == 999.5


@pytest.fixture
def kernel():
    with opened("model", CODES) as kernel:
        yield kernel


def test_codes_reach_as_far_as_asked(kernel):
    """Beyond 1 deviation more is clipped than beyond 4."""
    arguments, clipped = rollout(np.random.default_rng(0), 30, 8), []
    for deviations in (1, 4):
        ways = Standardization(rewards="block", values="restored", deviations=deviations)
        estimates = AdvantageEstimator(kernel, ways).estimate(*arguments)
        clipped.append(estimates.statistics["clipped"])
    assert clipped[0] > 100 and clipped[1] < 5


def test_an_overflow_is_an_error(monkeypatch):
    """A unit that is too fine by far: advantages would be wrong without a word."""
    monkeypatch.setattr(standardization, "_MARGIN", 2.0**-12)
    numbers, flags = np.ones((60, 8)), np.zeros((60, 8), bool)
    words = r"^words must hold every sum, not overflow in [1-9]\d* slots$"
    with opened("model", kernel_config(rows=8, depth=64, code_width=32, result_width=32)) as kernel:
        estimator = AdvantageEstimator(kernel)
        with pytest.raises(Failure, match=words):
            estimator.estimate(numbers, 0 * numbers, flags, flags, numbers, gamma=1, gae_lambda=1)


def test_the_unit_is_for_the_longest_part(kernel, monkeypatch):
    """Nine environments on eight rows: the last one, alone, is truncated twice."""
    rewards, values, terminated, truncated, bootstraps = rollout(
        np.random.default_rng(0), 10, 9, ends=0
    )
    truncated[[3, 6], 8] = True
    steps, own = [], gae.words

    def spy(*arguments, **options):
        steps.append(options["steps"])
        return own(*arguments, **options)

    monkeypatch.setattr(gae, "words", spy)
    AdvantageEstimator(kernel).estimate(rewards, values, terminated, truncated, bootstraps)
    assert steps == [13], "ten steps, two bootstraps between them and one behind them"


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (2, 3, 1)])
def test_a_rollout_has_steps_and_environments(kernel, shape):
    floats, flags = np.zeros(shape), np.zeros(shape, bool)
    words = r"^rewards must be of shape \[steps, environments\], not \["
    with pytest.raises(ValueError, match=words):
        AdvantageEstimator(kernel).estimate(floats, floats, flags, flags, floats)


def test_trajectories_have_steps(kernel):
    one, none = (np.ones(3), np.ones(3), None), (np.ones(0), np.ones(0), 1.0)
    with pytest.raises(ValueError, match="^trajectories must have at least one step each, not 0$"):
        AdvantageEstimator(kernel).estimate_trajectories([one, none])


def test_a_step_takes_no_bootstraps_slot(kernel):
    """65 steps on 64 slots, the last of which terminates."""
    arguments = rollout(np.random.default_rng(0), 65, 3, ends=0)
    arguments[2][-1] = True
    with pytest.raises(ValueError, match="^steps must fit the kernel's stack of 64 slots"):
        AdvantageEstimator(kernel).estimate(*arguments)

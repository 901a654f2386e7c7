"""The host's advantages against definition and library, on card ``model``; and what it refuses."""

import numpy as np
import pytest
from gae.gae_programs import kernel_config
from gae.reference import advantages, rollout
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from replay.kernels import opened

from host.advantages.estimator import AdvantageEstimator
from host.advantages.standardization import Standardization, codes_of, exponent_of

WORDS = kernel_config(rows=8, depth=64, code_width=32, result_width=32)
CODES = kernel_config(rows=8, depth=64, code_width=8, result_width=32)
BYTES = kernel_config(rows=8, depth=64, code_width=8, result_width=8)
WIDER = kernel_config(rows=8, depth=64, code_width=16, result_width=32)


@pytest.fixture
def estimator(request):
    config, ways = request.param
    with opened("model", config) as kernel:
        yield AdvantageEstimator(kernel, Standardization(**ways))


words = pytest.mark.parametrize("estimator", [(WORDS, {})], indirect=True)


@words
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    seed=st.integers(0, 2**32 - 1),
    steps=st.integers(1, 30),
    environments=st.integers(1, 19),
    gamma=st.sampled_from([0.0, 0.9, 0.99, 1.0]),
    gae_lambda=st.sampled_from([0.0, 0.5, 0.95, 1.0]),
    exponent=st.integers(-20, 20),
)
def test_words_equal_the_definition(
    estimator, seed, steps, environments, gamma, gae_lambda, exponent
):
    """To float tolerance, whatever the scale, the ends and the number of environments."""
    given_rollout = rollout(
        np.random.default_rng(seed), steps, environments, ends=0.2, scale=2.0**exponent
    )
    result = estimator.estimate(*given_rollout, gamma=gamma, gae_lambda=gae_lambda)
    wanted = advantages(*given_rollout, gamma=gamma, gae_lambda=gae_lambda)
    tolerance = 1e-5 * max(np.abs(wanted).max(), np.abs(given_rollout[1]).max())
    assert np.abs(result.advantages - wanted).max() <= tolerance
    assert np.abs(result.returns - (wanted + given_rollout[1])).max() <= tolerance
    assert result.statistics["clipped"] == result.statistics["saturated"] == 0


@pytest.mark.long  # the extra peers
@words
def test_words_equal_stable_baselines3(estimator):
    """Its rollout buffer folds the value of a truncated episode into the reward before."""
    import torch
    from gymnasium.spaces import Box
    from stable_baselines3.common.buffers import RolloutBuffer

    gamma, gae_lambda = 0.99, 0.95
    rewards, values, terminated, truncated, bootstraps = rollout(np.random.default_rng(3), 50, 8)
    space = Box(-1, 1, (1,), np.float32)
    buffer = RolloutBuffer(
        50, space, space, device="cpu", gae_lambda=gae_lambda, gamma=gamma, n_envs=8
    )
    follows = truncated & ~terminated
    buffer.rewards[:] = rewards + gamma * bootstraps * follows
    buffer.values[:] = values
    done = terminated | truncated
    buffer.episode_starts[1:] = done[:-1]
    buffer.compute_returns_and_advantage(torch.from_numpy(bootstraps[-1]), done[-1])
    result = estimator.estimate(
        rewards, values, terminated, truncated, bootstraps, gamma=gamma, gae_lambda=gae_lambda
    )
    np.testing.assert_allclose(result.advantages, buffer.advantages, rtol=0, atol=1e-5)
    np.testing.assert_allclose(result.returns, buffer.returns, rtol=0, atol=1e-5)


def _quantized(numbers, *, mean, deviation, deviations=4.0, limit=127, back=True):
    """What 8-bit codes make of ``numbers``, in float64 (HEPPO II-C)."""
    code = np.floor((numbers - mean) / (deviations * deviation) * limit + 0.5).clip(-limit, limit)
    scaled = code * deviations / limit
    return scaled * deviation + mean if back else scaled


@pytest.mark.parametrize(
    "estimator",
    [
        (config, dict(rewards=rewards, values="restored"))
        for config in (CODES, BYTES)
        for rewards in ("dynamic", "block", "restored")
    ]
    + [
        (WIDER, dict(rewards="block", values="restored", code_bits=bits))
        for bits in (3, 5, 8, 12, 16)
    ],
    indirect=True,
)
def test_codes_within_a_stated_bound(estimator):
    """Of the definition on quantized numbers: half a code of rewards and values, where rounding of
    mean and factor moves a number over an edge; and half a unit of results that are codes."""
    rng, ways = np.random.default_rng(5), estimator.standardization
    limit = estimator.config.gae.limit_of(ways.code_bits or 0)
    gamma, gae_lambda, seen = 0.97, 0.9, []
    for _ in range(3):
        rewards, values, terminated, truncated, bootstraps = rollout(rng, 40, 8, scale=3.0)
        result = estimator.estimate(
            rewards, values, terminated, truncated, bootstraps, gamma=gamma, gae_lambda=gae_lambda
        )
        seen.append(rewards)
        follows = truncated & ~terminated
        follows[-1] |= ~terminated[-1]
        population = np.concatenate([values.reshape(-1), bootstraps[follows]])
        mean, deviation = population.mean(), population.std()
        own = np.concatenate(seen) if ways.rewards == "dynamic" else rewards
        assert result.statistics["reward_mean"] == pytest.approx(own.mean(), rel=1e-4)
        assert result.statistics["reward_deviation"] == pytest.approx(own.std(), rel=1e-4)
        assert result.statistics["value_deviation"] == pytest.approx(deviation, rel=1e-4)
        back = ways.rewards == "restored"
        r = _quantized(rewards, mean=own.mean(), deviation=own.std(), limit=limit, back=back)
        v, b = (
            _quantized(x, mean=mean, deviation=deviation, limit=limit) for x in (values, bootstraps)
        )
        wanted = advantages(r, v, terminated, truncated, b, gamma=gamma, gae_lambda=gae_lambda)
        # A code off by one in reward, value and value after, all to the same side.
        step = 4 / limit * (own.std() if back else 1), 4 / limit * deviation
        bound = (step[0] + (1 + gamma) * step[1]) / (1 - gamma * gae_lambda) + step[1]
        error = np.abs(result.advantages - wanted)
        if estimator.config.gae.result_width == 32:
            assert error.max() <= bound
            assert np.median(error) <= 0.02 * bound  # and hardly ever
            assert np.abs(result.returns - (wanted + v)).max() <= bound
        elif not result.statistics["saturated"]:
            unit = np.diff(np.unique(result.advantages)).min()
            assert error.max() <= bound + unit
    assert result.statistics["clipped"] < 0.01 * rewards.size * 2
    if ways.rewards == "dynamic":
        assert estimator.running.count == 3 * rewards.size


@pytest.mark.parametrize(
    "estimator", [(BYTES, dict(rewards="dynamic", values="restored"))], indirect=True
)
def test_units_of_results_follow_what_was_seen(estimator):
    """Results of 8 bits begin in units that cannot clip, and become finer."""
    rng, sizes = np.random.default_rng(1), []
    for _ in range(4):
        result = estimator.estimate(*rollout(rng, 40, 8))
        sizes.append(np.diff(np.unique(result.advantages)).min())
    assert sizes[-1] <= sizes[0] / 4
    assert result.statistics["saturated"] == 0


@words
def test_trajectories_take_rows_in_turn(estimator):
    rng = np.random.default_rng(2)
    lengths = rng.integers(1, 25, 18)
    trajectories, wanted = [], []
    for k, length in enumerate(lengths):
        rewards, values = rng.normal(size=(2, length)).astype(np.float32)
        bootstrap = None if k % 3 else np.float32(rng.normal())
        ends = np.zeros((length, 1), bool)
        ends[-1] = bootstrap is None
        trajectories.append((rewards, values, bootstrap))
        wanted.append(
            advantages(
                rewards[:, None],
                values[:, None],
                ends,
                np.zeros_like(ends),
                np.full((length, 1), bootstrap or 0.0),
                gamma=0.99,
                gae_lambda=0.95,
            )[:, 0]
        )
    result = estimator.estimate_trajectories(trajectories)
    for own, expected in zip(result.advantages, wanted, strict=True):
        np.testing.assert_allclose(own, expected, atol=1e-4)
    for own, (_, values, _), expected in zip(result.returns, trajectories, wanted, strict=True):
        np.testing.assert_allclose(own, expected + values, atol=1e-4)
    # As many slots as the longest row: 18 trajectories on 8 rows.
    busy, fill = int(estimator.launcher.status["busy"]), int(estimator.launcher.status["fill"])
    assert busy == lengths.sum()
    assert fill < lengths.sum() / 8 + 25


@words
@pytest.mark.parametrize(
    "change, message",
    [
        (dict(rewards=np.full((4, 3), np.nan)), r"rewards must be finite, not nan at \[0, 0\]"),
        (dict(values=np.zeros((4, 2))), r"values must be of shape \[4, 3\], not \[4, 2\]"),
        (dict(bootstraps=np.full((4, 3), np.inf)), "bootstraps must be finite"),
        (dict(terminated=np.zeros((4, 3))), "terminated must be bool"),
        (dict(rewards=np.zeros(4)), "rewards must be of shape"),
        (dict(gamma=1.5), r"gamma must be in \[0, 1\], not 1.5"),
        (dict(gae_lambda=-0.1), r"gae_lambda must be in \[0, 1\]"),
        (dict(gamma=float("nan")), r"gamma must be in \[0, 1\]"),
    ],
)
def test_bad_input(estimator, change, message):
    names = ("rewards", "values", "terminated", "truncated", "bootstraps")
    arguments = dict(zip(names, rollout(np.random.default_rng(0), 4, 3), strict=True)) | change
    with pytest.raises(ValueError, match=message):
        estimator.estimate(**arguments)
    assert estimator.launcher.launches == 0


@words
def test_rollouts_that_do_not_fit(estimator):
    rng = np.random.default_rng(0)
    estimator.estimate(*rollout(rng, 64, 3, ends=0))
    with pytest.raises(ValueError, match="steps must fit the kernel's stack of 64 slots"):
        estimator.estimate(*rollout(rng, 65, 3, ends=0))
    arguments = rollout(rng, 64, 3, ends=0)
    arguments[3][10, 1] = True  # a bootstrap between
    with pytest.raises(ValueError, match="an episode that is truncated takes one more"):
        estimator.estimate(*arguments)
    with pytest.raises(ValueError, match="trajectories must be at least one"):
        estimator.estimate_trajectories([])


@pytest.mark.parametrize(
    "estimator", [(BYTES, dict(rewards="dynamic", values="restored"))], indirect=True
)
def test_state_is_all_that_the_next_rollout_depends_on(estimator):
    rng = np.random.default_rng(0)
    estimator.estimate(*rollout(rng, 20, 3))
    other = AdvantageEstimator(estimator.launcher.kernel, estimator.standardization)
    other.load_state_dict(estimator.state_dict())
    arguments = rollout(rng, 20, 3)
    for a, b in zip(
        estimator.estimate(*arguments)[:2], other.estimate(*arguments)[:2], strict=True
    ):
        np.testing.assert_array_equal(a, b)
    another = AdvantageEstimator(estimator.launcher.kernel, Standardization())
    with pytest.raises(ValueError, match="standardization must be the checkpoint's"):
        another.load_state_dict(estimator.state_dict())


@given(st.floats(1e-20, 1e20))
def test_exponents_use_the_width(largest):
    exponent = exponent_of(largest)
    assert 1 << 25 <= largest * 2.0**exponent <= 1 << 26


@pytest.mark.parametrize(
    "values, message",
    [
        (dict(rewards="static"), "rewards must be one of raw, dynamic, block, restored"),
        (dict(values="dynamic"), "values must be one of raw, restored"),
        (dict(deviations=0), "deviations must be positive"),
        (dict(code_bits=2), r"code_bits must be an integer in 3\.\.16, not 2"),
        (dict(code_bits=17), r"code_bits must be an integer in 3\.\.16, not 17"),
        (dict(code_bits=8.0), r"code_bits must be an integer in 3\.\.16, not 8.0"),
    ],
)
def test_standardization_checks(values, message):
    with pytest.raises(ValueError, match=message):
        Standardization(**values)


def test_raw_codes_reach_the_largest():
    codes = codes_of(CODES.gae, Standardization(), 5.0, exponent_of(5.0), moments=None, kept=False)
    assert codes.gain * 5.0 == pytest.approx(127) and codes.scale * 127 == pytest.approx(5.0)

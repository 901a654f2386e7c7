"""host.algorithms.normalizer: NumPy's moments of the whole stream, however it comes; gymnasium's
numbers."""

import numpy as np
import pytest
from gymnasium.wrappers.utils import RunningMeanStd

from host.algorithms.normalizer import Normalizer

RNG = np.random.default_rng(5)
#: components of unlike sizes, the last one far from 0 beside its deviation
STREAM = (RNG.normal(size=(1008, 4)) * [1, 1e-2, 1e5, 0.1] + [0, 7, -3e4, 1000]).astype(np.float32)


def counted(parts):
    normalizer = Normalizer(4)
    for part in parts:
        normalizer.update(part)
    return normalizer


@pytest.mark.parametrize(
    "cuts",
    [(), range(1, 1008), range(8, 1008, 8), (1, 2, 900), (1007,)],
    ids=["whole", "one by one", "eights", "unequal", "one at last"],
)
def test_moments_are_those_of_the_whole_stream(cuts):
    """Whichever vector steps it comes in; NumPy's, of the whole at once."""
    normalizer = counted(np.split(STREAM, list(cuts)))
    whole = STREAM.astype(np.float64)
    np.testing.assert_allclose(normalizer.mean, whole.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(normalizer.variance, whole.var(axis=0), rtol=1e-8)
    assert normalizer.count == 1008
    expected = (whole - whole.mean(axis=0)) / whole.std(axis=0)
    scaled = normalizer(STREAM)
    np.testing.assert_allclose(scaled, expected, atol=1e-3)
    assert scaled.dtype == np.float32


@pytest.mark.parametrize("envs", [1, 2, 16])
def test_gymnasium_has_the_same_at_every_step(envs):
    """Theirs begins with 1e-4 observations of mean 0 and variance 1; without them it is ours."""
    steps = STREAM.reshape(-1, envs, 4)[:40]
    mine, theirs = Normalizer(4), RunningMeanStd(epsilon=0, shape=(4,))
    for obs in steps:
        mine.update(obs)
        theirs.update(obs.astype(np.float64))
        np.testing.assert_allclose(mine.mean, theirs.mean, rtol=1e-9)
        np.testing.assert_allclose(mine.variance, theirs.var, rtol=1e-7, atol=1e-15)
        assert mine.count == theirs.count
        expected = np.clip((obs - theirs.mean) / np.sqrt(theirs.var + 1e-8), -10, 10)
        np.testing.assert_allclose(mine(obs), expected, rtol=1e-4, atol=1e-6)


def test_before_the_first_observation_nothing_changes_but_what_is_far():
    obs = np.float32([[0.5, -3, 11, -1e9]])
    assert Normalizer(4)(obs).tolist() == [[0.5, -3, 10, -10]]


def test_the_first_observation_is_zero():
    """Its variance is 0."""
    normalizer = counted([STREAM[:1]])
    assert normalizer(STREAM[:1]).tolist() == [[0] * 4] and normalizer.variance.tolist() == [0] * 4


def test_a_constant_component_is_zero():
    obs = np.tile(np.float32([0.1, 0, -1e8, 3]), (7, 1))
    obs[:, 3] += np.arange(7)
    normalizer = counted(obs.reshape(7, 1, 4))
    scaled = normalizer(obs)
    assert (scaled[:, :3] == 0).all() and scaled[:, 3].tolist() == pytest.approx(
        [-1.5, -1, -0.5, 0, 0.5, 1, 1.5]
    )
    moved = normalizer(np.float32([[0.1, 1e-5, 1e8, 3]]))
    assert moved[0].tolist() == pytest.approx([0, 0.1, 10, -1.5]), "a 10000th for a deviation"


@pytest.mark.parametrize("sign", [1, -1])
def test_far_is_ten_deviations(sign):
    normalizer = counted([np.float32([[-1] * 4, [1] * 4])])  # mean 0, deviation 1
    obs = sign * np.float32([[9.99, 10.0, 10.01, 3e38]])
    assert (sign * normalizer(obs)).tolist() == [pytest.approx([9.99, 10, 10, 10], rel=1e-6)]


def test_normalizing_counts_nothing():
    normalizer = counted([STREAM[:10]])
    before = {name: array.copy() for name, array in normalizer.arrays.items()}
    normalizer(STREAM[10:])
    for name, array in normalizer.arrays.items():
        np.testing.assert_array_equal(array, before[name])


def test_it_goes_on_from_its_arrays():
    """Bit for bit; and they are not shared."""
    whole, other = counted(STREAM[:600].reshape(-1, 2, 4)), Normalizer(4)
    arrays = whole.arrays
    assert set(arrays) == {"observation_mean", "observation_variance", "observation_count"}
    other.load_arrays(arrays | {"weight": np.ones(3)})
    for obs in STREAM[600:].reshape(-1, 2, 4):
        whole.update(obs)
        other.update(obs)
    for name in arrays:
        np.testing.assert_array_equal(whole.arrays[name], other.arrays[name])
    assert arrays["observation_count"] == 600, "what was saved stays as it was"


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_refuses_what_is_not_finite(value):
    normalizer = counted([STREAM[:10]])
    before = normalizer.arrays
    obs = STREAM[10:14].copy()
    obs[2, 3] = value
    words = rf"^observations must be finite to be normalized, not {value} \(component 3\)$"
    with pytest.raises(ValueError, match=words):
        normalizer.update(obs)
    for name, array in normalizer.arrays.items():
        np.testing.assert_array_equal(array, before[name])

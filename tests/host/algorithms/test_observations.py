"""host.algorithms.policy: which observations a policy takes."""

from dataclasses import replace

import numpy as np
import pytest

from host.algorithms.config import AgentConfig
from host.algorithms.policy import Policy
from host.environments.spec import Spec

IMAGE = Spec(shape=(12, 10, 3), dtype="uint8", discrete=True, action_count=4)
POLE = Spec(shape=(4,), dtype="float32", discrete=True, action_count=2)


class Empty(Policy):
    """Has no network."""

    def make_networks(self, rng):
        return {}


def flat(spec, obs):
    return Empty(AgentConfig(), spec).flat(obs)


def test_observations_as_they_are():
    for spec in (POLE, IMAGE):
        obs = np.ones((5, *spec.shape), spec.dtype)
        assert np.shares_memory(flat(spec, obs), obs) and flat(spec, obs).shape == (5, spec.size)
        obs[3].flat[2] = 7
        assert flat(spec, obs)[3, 2] == 7
        assert flat(spec, obs[:0]).shape == (0, spec.size)
    assert flat(POLE, [[1, 2, 3, 4]]).dtype == np.float32
    assert flat(POLE, np.float64([[0.1, 2, 3, 4]]))[0, 0] == np.float32(0.1)
    assert flat(IMAGE, np.full((1, *IMAGE.shape), 255)).dtype == np.uint8
    assert flat(replace(POLE, shape=()), np.zeros(3)).shape == (3, 1), "a number a row"


@pytest.mark.parametrize(
    "spec, shape, wanted",
    [
        (POLE, (4,), "[rows, 4]"),
        (POLE, (2, 3), "[rows, 4]"),
        (POLE, (2, 5), "[rows, 4]"),
        (POLE, (2, 4, 1), "[rows, 4]"),
        (POLE, (), "[rows, 4]"),
        (IMAGE, (12, 10, 3), "[rows, 12, 10, 3]"),
        (IMAGE, (2, 360), "[rows, 12, 10, 3]"),
        (IMAGE, (2, 10, 12, 3), "[rows, 12, 10, 3]"),
        (replace(POLE, shape=()), (), "[rows]"),
    ],
)
def test_observations_of_another_shape(spec, shape, wanted):
    with pytest.raises(ValueError) as caught:
        flat(spec, np.zeros(shape))
    assert str(caught.value) == f"obs must be {wanted}, not {list(shape)}"
